"""Deleting the rows of generations that no head names any more, some at a time."""

import time
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Table,
    bindparam,
    delete,
    literal_column,
    select,
    tuple_,
)

from kbstore.store.connection import Connection
from kbstore.store.statements import Statement, Value
from projections.checksum import TABLES
from projections.lexical.checkpoint_tables import search_checkpoint_pieces, search_checkpoints
from projections.pace import Pace

_ROWS = 100
"""How many rows one statement deletes."""


def _delete_beside(table: Table, rows: int, *, older: bool) -> Statement:
    """Deletes some rows of the generations before, or after, the parameter `keep`."""
    keep = bindparam("keep", type_=BigInteger)
    beside = table.c.generation < keep if older else table.c.generation > keep
    key = list(table.primary_key.columns)
    # In the order of the key, and so many as the statement itself says: otherwise PostgreSQL
    # expects a tenth of the table, and reads all of it.
    some = (
        select(*key)
        .where(table.c.kb_id == bindparam("kb"), beside)
        .order_by(*key)
        .limit(literal_column(str(rows)))
    )
    return Statement(delete(table).where(tuple_(*key).in_(some)))


def _deletes(rows: int, tables: Sequence[Table] = TABLES) -> list[tuple[Statement, Statement]]:
    return [
        (_delete_beside(table, rows, older=True), _delete_beside(table, rows, older=False))
        for table in tables
    ]


_DELETES = _deletes(_ROWS)
# A piece of a checkpoint is as long as many rows; what says that it is there goes before it.
_CACHE_DELETES = _deletes(1, (search_checkpoints, search_checkpoint_pieces))


def delete_other_generations(
    connection: Connection, kb_id: UUID, keep: int, pace: Pace, *, keep_to: int | None = None
) -> None:
    """Deletes the rows of every generation but `keep`, or those up to `keep_to`.

    Each transaction deletes about as many rows as `pace` has time for. Whoever still reads one
    of the generations in a transaction goes on seeing it whole.
    """
    # What was made of rows goes before them.
    for deletes, rows in ((_CACHE_DELETES, 1), (_DELETES, _ROWS)):
        for older, newer in deletes:
            _delete(connection, older, kb_id, keep, pace, rows)
            _delete(connection, newer, kb_id, keep if keep_to is None else keep_to, pace, rows)


def _delete(
    connection: Connection, statement: Statement, kb_id: UUID, keep: int, pace: Pace, rows: int
) -> None:
    values: dict[str, Value] = {"kb": kb_id.bytes, "keep": keep}
    deleted = rows
    while deleted == rows:
        with connection.writing():
            ends = time.perf_counter() + pace.transaction_seconds
            deleted = connection.count(statement, values)
            while deleted == rows and time.perf_counter() < ends:
                deleted = connection.count(statement, values)
        pace.pause()
