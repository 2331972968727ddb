"""One connection to the database, and what runs on it.

Transactions are SQL statements of ours: the driver's own transaction control stays off
(`isolation_level=None`), because it would commit at moments we did not choose.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from eventsourcing.persistence import IntegrityError

from kbstore.store.statements import Row, Statement, Values


class Queryable(Protocol):
    """What queries need of a connection: reading rows."""

    def all(self, statement: Statement, values: Values) -> list[Row]: ...

    def one(self, statement: Statement, values: Values) -> Row | None: ...


class Connection:
    """A SQLite connection of one thread. Rows are plain tuples in the statement's order."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def all(self, statement: Statement, values: Values) -> list[Row]:
        """Every row of a query."""
        sql, parameters = statement.bind(values)
        return self.raw.execute(sql, parameters).fetchall()

    def one(self, statement: Statement, values: Values) -> Row | None:
        """The first row of a query, or None."""
        sql, parameters = statement.bind(values)
        row: Row | None = self.raw.execute(sql, parameters).fetchone()
        return row

    def each(self, statement: Statement, values: Values) -> Iterator[Row]:
        """The rows of a query one by one; the result never stands in memory as a whole."""
        sql, parameters = statement.bind(values)
        yield from self.raw.execute(sql, parameters)

    def run(self, statement: Statement, values: Values) -> int:
        """Runs a statement that changes rows; gives how many it changed."""
        sql, parameters = statement.bind(values)
        return self.raw.execute(sql, parameters).rowcount

    def run_many(self, statement: Statement, values: Iterable[Values]) -> None:
        """Runs one statement, which has no lists, for each set of values."""
        self.raw.executemany(statement.sqlite, [statement.bind(each)[1] for each in values])

    def begin_write(self) -> None:
        """Takes the write lock before any read, so that nothing read can be stale."""
        self.raw.execute("BEGIN IMMEDIATE")

    def begin_read(self) -> None:
        self.raw.execute("BEGIN")

    def commit(self) -> None:
        self.raw.execute("COMMIT")

    def rollback(self) -> None:
        if self.raw.in_transaction:
            self.raw.execute("ROLLBACK")

    @property
    def in_transaction(self) -> bool:
        return self.raw.in_transaction

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undoes what the block wrote when it raises; the transaction around it goes on.

        Some errors make SQLite roll back the whole transaction; then there is no savepoint
        left to return to, and the caller finds `in_transaction` false.
        """
        self.raw.execute("SAVEPOINT command")
        try:
            yield
        except BaseException:
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK TO command")
                self.raw.execute("RELEASE command")
            raise
        self.raw.execute("RELEASE command")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One snapshot for all statements of the block."""
        self.begin_read()
        try:
            yield
        finally:
            self.rollback()

    def close(self) -> None:
        self.raw.close()


@contextmanager
def integrity_errors() -> Iterator[None]:
    """Raises a broken constraint as eventsourcing's IntegrityError: someone else won."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise IntegrityError(str(error)) from error
