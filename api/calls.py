"""One request of a knowledge base: what came in, who asks, and the server that answers."""

from litestar.types import HTTPScope, Receive
from msgspec import Struct

from api.authentication import authenticate
from api.pool import ReadPool
from api.repeats import Key, Repeats
from api.running import RunningClaims
from api.settings import Settings
from api.wiring import Services
from kbstore.access import Caller
from kbstore.store.catalogue import KnowledgeBase


class Server:
    """What the requests of one process share."""

    def __init__(self, services: Services, settings: Settings) -> None:
        self.services = services
        self.settings = settings
        self.pool = ReadPool(settings.reader_threads, settings.waiting_reads_max)
        self.repeats = Repeats(services.database, settings.answer_cache_bytes)
        self.running = RunningClaims()

    def close(self) -> None:
        self.pool.close()


class Call(Struct, frozen=True):
    """A request whose caller is known. `path` holds the parameters of the address."""

    server: Server
    scope: HTTPScope
    receive: Receive
    path: dict[str, str]
    kb: KnowledgeBase
    caller: Caller

    @property
    def method(self) -> str:
        method: str = self.scope["method"]
        return method


def open_call(server: Server, scope: HTTPScope, receive: Receive, key: Key) -> Call:
    """The call behind a request; raises as `authenticate` does."""
    path: dict[str, str] = scope["path_params"]
    identity = server.repeats.identity(key, path["kb"])
    if identity is None:
        identity = authenticate(server.services.database.reader(), scope, path["kb"])
        server.repeats.keep_identity(key, path["kb"], identity)
    scope["state"]["logged"] = {
        "kb": identity.kb.slug,
        "principal": identity.caller.principal,
    }
    return Call(server, scope, receive, path, identity.kb, identity.caller)
