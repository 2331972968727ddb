"""One request of a knowledge base: what came in, who asks, and the server that answers."""

from typing import TypeVar

from litestar.types import HTTPScope, Receive
from msgspec import Struct

from api.authentication import Identity, authenticate, token_of
from api.pool import ThreadPool
from api.reads import Reads, Work
from api.repeats import Key, Repeats
from api.running import RunningClaims
from api.settings import Settings
from api.streams import Streams
from api.watching import HeadWatch
from api.webhooks.worker import WebhookWorker
from api.wiring import Services
from kbstore.access import Caller
from kbstore.store.catalogue import KnowledgeBase, Standpoint, find_api_key
from kbstore.store.connection import Queryable

T = TypeVar("T")

KB_ROOT = "/openapi/v2/knowledge-bases/"


class Server:
    """What the requests of one process share."""

    def __init__(self, services: Services, settings: Settings) -> None:
        self.services = services
        self.settings = settings
        self.pool = ThreadPool(settings.reader_threads, settings.waiting_reads_max)
        # Of their own, so that no long read makes a short one wait.
        self._short_reads = ThreadPool(settings.short_reader_threads, settings.waiting_reads_max)
        self.reads = Reads(services.database, self.pool, self._short_reads, services.replica)
        self.heads = HeadWatch(services.database, self.reads, has_notices=settings.has_notices)
        self.repeats = Repeats(services.database, self.reads, settings.answer_cache_bytes)
        self.running = RunningClaims()
        self.streams = Streams(settings.streams_max)
        self.webhooks = WebhookWorker(
            services.database,
            self.reads,
            self.heads,
            services.commands.clock,
            settings.webhooks,
        )

    def start(self) -> None:
        """Begins what goes on beside the requests, in the running event loop."""
        self.webhooks.start()

    async def close(self) -> None:
        await self.webhooks.stop()
        await self.heads.close()
        self.pool.close()
        self._short_reads.close()


class Call(Struct, frozen=True):
    """A request whose caller is known. `path` holds the parameters of the address, `head` where
    the knowledge base stood when the request came, if that had to be asked."""

    server: Server
    scope: HTTPScope
    receive: Receive
    path: dict[str, str]
    kb: KnowledgeBase
    caller: Caller
    head: Standpoint | None

    @property
    def method(self) -> str:
        method: str = self.scope["method"]
        return method

    @property
    def kb_path(self) -> str:
        """The path of the request down to the knowledge base, as this address of it reads."""
        before, root, below = str(self.scope["path"]).partition(KB_ROOT)
        return before + root + below.partition("/")[0]

    @property
    def path_below_kb(self) -> str:
        """The rest of the path, the same at every address of the knowledge base."""
        return str(self.scope["path"]).removeprefix(self.kb_path)

    async def read(self, work: Work[T], *, is_long: bool = False) -> T:
        """What `work` finds with a connection to read from; as `Reads.run`."""
        return await self.server.reads.run(work, is_long=is_long)

    async def read_anywhere(
        self, work: Work[T], *, min_revision: int | None = None, is_long: bool = False
    ) -> T:
        """The same for an answer that a replica may give, once it has all that was there when
        the request came, and `min_revision`."""
        if self.head is None:
            return await self.read(work, is_long=is_long)
        reads, kb_id = self.server.reads, self.kb.kb_id
        return await reads.run_anywhere(
            kb_id, self.head, work, min_revision=min_revision or 0, is_long=is_long
        )


async def open_call(server: Server, scope: HTTPScope, receive: Receive, key: Key) -> Call:
    """The call behind a request, on the knowledge base of its address or, where that names none,
    of its key; raises as `authenticate` does."""
    path: dict[str, str] = scope["path_params"]
    identity = server.repeats.identity(key)
    if identity is None:
        identity = await server.reads.run(
            lambda connection: _identify(connection, scope, path.get("kb"))
        )
        server.repeats.keep_identity(key, identity)
    scope["state"]["logged"] = {
        "kb": identity.kb.slug,
        "principal": identity.caller.principal,
    }
    return Call(server, scope, receive, path, identity.kb, identity.caller, key.head)


def _identify(connection: Queryable, scope: HTTPScope, kb_address: str | None) -> Identity:
    if kb_address is None:
        found = find_api_key(connection, token_of(scope))
        kb_address = "" if found is None else str(found.kb_id)
    return authenticate(connection, scope, kb_address)
