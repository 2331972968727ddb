"""Deleting the rows of generations that no head names any more, some at a time."""

import time
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


def _deletes(rows: int) -> list[tuple[Statement, Statement]]:
    return [
        (_delete_beside(table, rows, older=True), _delete_beside(table, rows, older=False))
        for table in TABLES
    ]


_DELETES = _deletes(_ROWS)


def delete_other_generations(
    connection: Connection, kb_id: UUID, keep: int, pace: Pace, *, keep_to: int | None = None
) -> None:
    """Deletes the rows of every generation but `keep`, or those up to `keep_to`.

    Each transaction deletes about as many rows as `pace` has time for. Whoever still reads one
    of the generations in a transaction goes on seeing it whole.
    """
    for older, newer in _DELETES:
        _delete(connection, older, kb_id, keep, pace)
        _delete(connection, newer, kb_id, keep if keep_to is None else keep_to, pace)


def _delete(
    connection: Connection, statement: Statement, kb_id: UUID, keep: int, pace: Pace
) -> None:
    values: dict[str, Value] = {"kb": kb_id.bytes, "keep": keep}
    deleted = _ROWS
    while deleted == _ROWS:
        with connection.writing():
            ends = time.perf_counter() + pace.transaction_seconds
            deleted = connection.count(statement, values)
            while deleted == _ROWS and time.perf_counter() < ends:
                deleted = connection.count(statement, values)
        pace.pause()
