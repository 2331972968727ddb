"""The head of a knowledge base: the one row that every commit locks, and writes last."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import bindparam, func, insert, select, update

from kbstore.errors import StoreError
from kbstore.store import tables
from kbstore.store.commits import GENESIS_DIGEST, Head
from kbstore.store.connection import Connection, Queryable
from kbstore.store.statements import Row, Statement

_HEAD_COLUMNS = (
    tables.heads.c.kb_id,
    tables.heads.c.revision,
    tables.heads.c.position,
    tables.heads.c.committed_at,
    tables.heads.c.digest,
    tables.heads.c.generation,
    tables.heads.c.configured_at,
)
_SELECT = select(*_HEAD_COLUMNS).where(tables.heads.c.kb_id == bindparam("kb_id"))
SELECT_HEAD = Statement(_SELECT)
LOCK_HEAD = Statement(_SELECT.with_for_update())
SELECT_REVISIONS = Statement(
    select(tables.heads.c.kb_id, tables.heads.c.revision).where(
        tables.heads.c.kb_id.in_(bindparam("kb_ids", expanding=True))
    )
)
SELECT_LAST_VERSION = Statement(
    select(func.max(tables.events.c.originator_version)).where(
        tables.events.c.kb_id == bindparam("kb_id"),
        tables.events.c.originator_id == bindparam("originator_id"),
    )
)
SELECT_DIGEST = Statement(
    select(tables.commits.c.digest).where(
        tables.commits.c.kb_id == bindparam("kb_id"),
        tables.commits.c.revision == bindparam("revision"),
    )
)
INSERT_HEAD = Statement(insert(tables.heads))
UPDATE_HEAD = Statement(
    update(tables.heads)
    .where(tables.heads.c.kb_id == bindparam("kb"))
    .values(
        revision=bindparam("revision"),
        position=bindparam("position"),
        committed_at=bindparam("committed_at"),
        digest=bindparam("digest"),
        configured_at=bindparam("configured_at"),
    )
)


def read_head(connection: Queryable, kb_id: UUID) -> Head | None:
    """The head as this connection's snapshot sees it. Raises StoreError for a damaged one."""
    row = connection.one(SELECT_HEAD, {"kb_id": kb_id.bytes})
    return _head(row) if row else None


def revisions_of(connection: Queryable, kb_ids: Collection[UUID]) -> dict[UUID, int]:
    """The newest revision of each of these knowledge bases."""
    rows = connection.all(SELECT_REVISIONS, {"kb_ids": [kb_id.bytes for kb_id in kb_ids]})
    found = {}
    for kb_id, revision in rows:
        assert isinstance(kb_id, bytes)
        found[UUID(bytes=kb_id)] = int(revision or 0)
    return found


def lock_head(connection: Connection, kb_id: UUID) -> Head | None:
    """The head, locked against every other writer until the transaction ends."""
    row = connection.one(LOCK_HEAD, {"kb_id": kb_id.bytes})
    return _head(row) if row else None


def committed_digest(connection: Queryable, kb_id: UUID, revision: int) -> bytes | None:
    """The digest of the commit of a revision; None where there is none. Raises StoreError for
    what is no digest."""
    row = connection.one(SELECT_DIGEST, {"kb_id": kb_id.bytes, "revision": revision})
    if row is None:
        return None
    (digest,) = row
    if not isinstance(digest, bytes):
        raise StoreError(
            f"The digest of revision {revision} is damaged; `kbstore verify` tells more."
        )
    return digest


def insert_head(connection: Connection, kb_id: UUID) -> Head:
    """The head of a knowledge base that has no commit yet."""
    head = Head(
        kb_id=kb_id,
        revision=0,
        position=0,
        committed_at=0,
        digest=GENESIS_DIGEST,
        generation=1,
        configured_at=0,
    )
    connection.run(
        INSERT_HEAD,
        {
            "kb_id": kb_id.bytes,
            "revision": 0,
            "position": 0,
            "committed_at": 0,
            "digest": GENESIS_DIGEST,
            "generation": 1,
            "configured_at": 0,
        },
    )
    return head


def update_head(connection: Connection, head: Head) -> None:
    connection.run(
        UPDATE_HEAD,
        {
            "kb": head.kb_id.bytes,
            "revision": head.revision,
            "position": head.position,
            "committed_at": head.committed_at,
            "digest": head.digest,
            "configured_at": head.configured_at,
        },
    )


def last_version(connection: Queryable, kb_id: UUID, originator_id: UUID) -> int:
    """How many events an aggregate has; 0 when it has none."""
    values = {"kb_id": kb_id.bytes, "originator_id": originator_id.bytes}
    row = connection.one(SELECT_LAST_VERSION, values)
    return int(row[0]) if row is not None and row[0] is not None else 0


def _head(row: Row) -> Head:
    """Raises StoreError for what no head can say: SQLite keeps any value in any column."""
    kb_id, revision, position, committed_at, digest, generation, configured_at = row
    if not (
        isinstance(kb_id, bytes)
        and isinstance(revision, int)
        and isinstance(position, int)
        and isinstance(committed_at, int)
        and isinstance(digest, bytes)
        and isinstance(generation, int)
        and isinstance(configured_at, int)
    ):
        raise StoreError("The head of the knowledge base is damaged; `kbstore verify` tells more.")
    return Head(
        kb_id=UUID(bytes=kb_id),
        revision=revision,
        position=position,
        committed_at=committed_at,
        digest=digest,
        generation=generation,
        configured_at=configured_at,
    )
