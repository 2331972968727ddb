"""What a connection has the database do, counted rather than timed."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec import Struct

from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.postgresql import PostgresConnection
from kbstore.store.sqlite import SqliteConnection
from tests.backends import query

_ROWS_READ = """
    SELECT
        (SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))
            FROM pg_stat_user_tables)
        + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
"""


class Work(Struct):
    """`steps` are those of SQLite's virtual machine, or the rows and the entries of indexes that
    PostgreSQL read."""

    steps: int = 0
    statements: int = 0


def settle(database: Database) -> None:
    """Has PostgreSQL do at once what it does by itself sooner or later: forget dead rows, and
    look at what lies in the tables."""
    if not database.is_file:
        with database.connected() as connection:
            connection.command("VACUUM (ANALYZE, INDEX_CLEANUP ON)")


@contextmanager
def counting(connection: Connection) -> Iterator[Work]:
    """Counts what a connection does; nothing else may use a PostgreSQL database meanwhile."""
    if isinstance(connection, SqliteConnection):
        with _counting_sqlite(connection) as work:
            yield work
    else:
        assert isinstance(connection, PostgresConnection)
        with _counting_postgresql(connection) as work:
            yield work


@contextmanager
def _counting_sqlite(connection: SqliteConnection) -> Iterator[Work]:
    work = Work()

    def step() -> int:
        work.steps += 1
        return 0

    def statement(sql: str) -> None:
        work.statements += 1

    connection.raw.set_progress_handler(step, 1)
    connection.raw.set_trace_callback(statement)
    try:
        yield work
    finally:
        connection.raw.set_progress_handler(None, 0)
        connection.raw.set_trace_callback(None)


@contextmanager
def _counting_postgresql(connection: PostgresConnection) -> Iterator[Work]:
    work = Work()
    execute = connection._execute

    def counted(sql: str, parameters: tuple[object, ...]) -> object:
        work.statements += 1
        return execute(sql, parameters)  # type: ignore[arg-type]

    before = _rows_read(connection)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_execute", counted)
        yield work
    work.steps = _rows_read(connection) - before


def _rows_read(connection: PostgresConnection) -> int:
    """What the server has counted up to now. It would gather for a second otherwise."""
    query(connection, "SELECT pg_stat_force_next_flush()")
    ((rows,),) = query(connection, _ROWS_READ)
    return int(str(rows))
