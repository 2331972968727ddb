"""Rebuilding: the projections filled anew as another generation, which then takes over."""

from uuid import UUID

from msgspec import Struct
from sqlalchemy import BigInteger, Table, bindparam, delete, select, tuple_, update

from kbstore.errors import NotFoundError
from kbstore.store.commits import Head
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import lock_head, read_head
from kbstore.store.projecting import InlineProjections
from kbstore.store.statements import Statement
from kbstore.store.tables import heads
from projections.checksum import TABLES
from projections.progress import Progress, no_progress
from projections.replay import COMMITS_PER_BATCH, replay

_ROWS_PER_DELETE = 2_000
_PASSES_MAX = 20
"""Passes over what was written during the pass before; the rest is applied under the lock."""

_SET_GENERATION = Statement(
    update(heads)
    .where(heads.c.kb_id == bindparam("kb"))
    .values(generation=bindparam("to_generation"))
)


def _delete_beside(table: Table, *, older: bool) -> Statement:
    """Deletes some rows of the generations before, or after, the parameter `keep`."""
    keep = bindparam("keep", type_=BigInteger)
    beside = table.c.generation < keep if older else table.c.generation > keep
    key = list(table.primary_key.columns)
    some = select(*key).where(table.c.kb_id == bindparam("kb"), beside).limit(_ROWS_PER_DELETE)
    return Statement(delete(table).where(tuple_(*key).in_(some)))


_DELETES = [_delete_beside(table, older=older) for table in TABLES for older in (True, False)]


class Rebuilt(Struct, frozen=True):
    """The generation that is active now, complete up to `revision` when it took over."""

    generation: int
    revision: int


def rebuild(
    database: Database,
    kb_id: UUID,
    projections: InlineProjections,
    progress: Progress = no_progress,
) -> Rebuilt:
    """Fills a new generation from the log and repoints the head to it; then deletes the old.

    The log is replayed in batches, so that writes go on in between; only the rest of it is
    applied under the head's lock. Whatever a killed rebuild left behind is cleared first.
    Raises NotFoundError without such a knowledge base, DatabaseInUseError while another
    rebuild runs. `progress` hears of revisions.
    """
    connection = database.connect()
    try:
        with database.alone("rebuilding"):
            head = _head(read_head(connection, kb_id))
            _delete_others(connection, kb_id, head.generation)
            generation = head.generation + 1
            done = 0
            for _ in range(_PASSES_MAX):
                if head.revision - done <= (COMMITS_PER_BATCH if done else 0):
                    break
                replay(
                    connection,
                    kb_id,
                    connection,
                    generation,
                    projections,
                    done + 1,
                    head.revision,
                    progress,
                )
                done = head.revision
                head = _head(read_head(connection, kb_id))
            revision = _take_over(connection, kb_id, projections, generation, done)
            progress(revision, revision)
            _delete_others(connection, kb_id, generation)
    finally:
        connection.close()
    return Rebuilt(generation, revision)


def _take_over(
    connection: Connection,
    kb_id: UUID,
    projections: InlineProjections,
    generation: int,
    done: int,
) -> int:
    """Applies what was written since, under the head's lock; gives the revision reached."""
    connection.begin_write()
    try:
        head = _head(lock_head(connection, kb_id))
        replay(connection, kb_id, connection, generation, projections, done + 1, head.revision)
        connection.run(_SET_GENERATION, {"kb": kb_id.bytes, "to_generation": generation})
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    return head.revision


def _delete_others(connection: Connection, kb_id: UUID, keep: int) -> None:
    """Deletes the rows of every generation but one, some at a time."""
    for statement in _DELETES:
        while True:
            connection.begin_write()
            deleted = connection.count(statement, {"kb": kb_id.bytes, "keep": keep})
            connection.commit()
            if not deleted:
                break


def _head(head: Head | None) -> Head:
    if head is None:
        raise NotFoundError("Knowledge base not found.")
    return head
