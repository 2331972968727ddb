"""Answers to reads, kept for as long as nothing is written that they follow from.

What a read answers follows from the state of the database and a few parts of the request: who
asks, the path and the query. A mark tells one state from another; while it is the same, the
same request has the same answer, access included, and nothing has to be read again.
"""

from collections.abc import Hashable
from typing import cast

from litestar.types import HTTPScope
from msgspec import Struct

from api.answers import Answer
from api.authentication import Identity, token_of
from api.reads import Reads
from kbstore.store.catalogue import Standpoint, key_mark
from kbstore.store.database import Database
from kbstore.store.sqlite import SqliteConnection
from projections.caching import LruCache

IDENTITIES_MAX = 4_096
_ASKING = (b"authorization", b"kb-scopes")
_OVERHEAD_BYTES = 1_024


class Key(Struct, frozen=True):
    """What an answer, and what a caller's identity is filed under."""

    answer: tuple[Hashable, ...]
    identity: tuple[Hashable, ...]
    head: Standpoint | None
    """Where the knowledge base of the caller's key stands, if that had to be asked."""


class Kept(Struct, frozen=True):
    """An answer, and what its log line says of who asked."""

    answer: Answer
    logged: dict[str, object]


class Repeats:
    """Bounded by the bytes of the answers; used from one event loop alone."""

    def __init__(self, database: Database, reads: Reads, bytes_max: int) -> None:
        self._database = database
        self._reads = reads
        self._answers: LruCache[tuple[Hashable, ...], Kept] = LruCache(bytes_max, _weigh)
        self._identities: LruCache[tuple[Hashable, ...], Identity] = LruCache(IDENTITIES_MAX)

    async def key(self, scope: HTTPScope) -> Key:
        """What an answer is filed under: take it before anything is read for that answer.

        A later commit makes a later key, so an answer that already shows one is never found.
        """
        asking = tuple(header for header in scope["headers"] if header[0] in _ASKING)
        of_answer, of_identity, head = await self._marks(scope)
        return Key(
            (of_answer, asking, scope["path"], scope["query_string"]),
            (of_identity, asking, scope["path_params"].get("kb")),
            head,
        )

    async def _marks(self, scope: HTTPScope) -> tuple[Hashable, Hashable, Standpoint | None]:
        """The mark of all that an answer follows from, that of the caller's identity, and the
        head."""
        if self._database.is_file:
            # SQLite tells at once whether anybody, in this process or another one, has
            # committed since a connection last looked.
            reader = cast(SqliteConnection, self._database.reader())
            version = reader.data_version()
            return version, version, None
        token = token_of(scope)
        mark = await self._reads.run(lambda connection: key_mark(connection, token))
        return (mark, mark.key, mark.head) if mark else (None, None, None)

    def answer(self, key: Key) -> Kept | None:
        return self._answers.get(key.answer)

    def keep(self, key: Key, kept: Kept) -> None:
        self._answers.put(key.answer, kept)

    def identity(self, key: Key) -> Identity | None:
        return self._identities.get(key.identity)

    def keep_identity(self, key: Key, identity: Identity) -> None:
        self._identities.put(key.identity, identity)


def _weigh(kept: Kept) -> int:
    return len(kept.answer.body) + _OVERHEAD_BYTES
