"""One request of a knowledge base: what came in, who asks, and the server that answers."""

from litestar.types import HTTPScope, Receive
from msgspec import Struct

from api.answers import Answer
from api.authentication import Identity, authenticate
from api.pool import ReadPool
from api.running import RunningClaims
from api.settings import Settings
from api.wiring import Services
from kbstore.access import Caller
from kbstore.store.catalogue import KnowledgeBase
from projections.caching import LruCache

PageCache = LruCache[tuple[object, ...], Answer]


class Server:
    """What the requests of one process share."""

    def __init__(self, services: Services, settings: Settings) -> None:
        self.services = services
        self.settings = settings
        self.pool = ReadPool(settings.reader_threads, settings.waiting_reads_max)
        self.pages: PageCache = LruCache(settings.page_cache_bytes, lambda a: len(a.body) + 1_024)
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


def open_call(server: Server, scope: HTTPScope, receive: Receive) -> Call:
    """The call behind a request; raises as `authenticate` does."""
    path: dict[str, str] = scope["path_params"]
    identity: Identity = authenticate(server.services.database.reader(), scope, path["kb"])
    scope["state"]["logged"] = {
        "kb": identity.kb.slug,
        "principal": identity.caller.principal,
    }
    return Call(server, scope, receive, path, identity.kb, identity.caller)
