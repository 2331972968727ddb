"""Deleting the rows of generations that no head names any more, some at a time."""

import time
from uuid import UUID

from sqlalchemy import BigInteger, Table, bindparam, delete, select, tuple_

from kbstore.store.connection import Connection
from kbstore.store.statements import Statement, Value
from projections.checksum import TABLES
from projections.pace import Pace

_ROWS_FIRST = 100
_ROWS_MAX = 5_000


def _delete_beside(table: Table, *, older: bool) -> Statement:
    """Deletes some rows of the generations before, or after, the parameter `keep`."""
    keep = bindparam("keep", type_=BigInteger)
    beside = table.c.generation < keep if older else table.c.generation > keep
    key = list(table.primary_key.columns)
    some = select(*key).where(table.c.kb_id == bindparam("kb"), beside).limit(bindparam("rows"))
    return Statement(delete(table).where(tuple_(*key).in_(some)))


_DELETES = [
    (_delete_beside(table, older=True), _delete_beside(table, older=False)) for table in TABLES
]


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
    rows = _ROWS_FIRST
    while True:
        with connection.writing():
            started = time.perf_counter()
            values: dict[str, Value] = {"kb": kb_id.bytes, "keep": keep, "rows": rows}
            deleted = connection.count(statement, values)
        if deleted < rows:
            return
        taken = time.perf_counter() - started
        rows = max(1, min(_ROWS_MAX, int(rows * min(2, pace.transaction_seconds / taken))))
        pace.pause()
