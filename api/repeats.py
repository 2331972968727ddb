"""Answers to reads, kept for as long as nothing at all is written to the database.

What a read answers follows from the state of the database and a few parts of the request: who
asks, the path and the query. SQLite tells for a microsecond whether anybody, in this process
or another one, has committed since a connection last looked; until then the same request has
the same answer, access included, and neither key nor page has to be read again.
"""

from litestar.types import HTTPScope
from msgspec import Struct

from api.answers import Answer
from api.authentication import Identity
from kbstore.store.database import Database
from projections.caching import LruCache

Key = tuple[object, ...]

IDENTITIES_MAX = 4_096
_ASKING = (b"authorization", b"kb-scopes")
_OVERHEAD_BYTES = 1_024


class Kept(Struct, frozen=True):
    """An answer, and what its log line says of who asked."""

    answer: Answer
    logged: dict[str, object]


class Repeats:
    """Bounded by the bytes of the answers; used from one event loop alone."""

    def __init__(self, database: Database, bytes_max: int) -> None:
        self._database = database
        self._answers: LruCache[Key, Kept] = LruCache(bytes_max, _weigh)
        self._identities: LruCache[Key, Identity] = LruCache(IDENTITIES_MAX)

    def key(self, scope: HTTPScope) -> Key:
        """What an answer is filed under: take it before anything is read for that answer.

        A later commit makes a later key, so an answer that already shows one is never found.
        """
        row = self._database.reader().raw.execute("PRAGMA data_version").fetchone()
        asking = tuple(header for header in scope["headers"] if header[0] in _ASKING)
        return row[0], asking, scope["path"], scope["query_string"]

    def answer(self, key: Key) -> Kept | None:
        return self._answers.get(key)

    def keep(self, key: Key, kept: Kept) -> None:
        self._answers.put(key, kept)

    def identity(self, key: Key, kb_address: str) -> Identity | None:
        return self._identities.get((key[0], key[1], kb_address))

    def keep_identity(self, key: Key, kb_address: str, identity: Identity) -> None:
        self._identities.put((key[0], key[1], kb_address), identity)


def _weigh(kept: Kept) -> int:
    return len(kept.answer.body) + _OVERHEAD_BYTES
