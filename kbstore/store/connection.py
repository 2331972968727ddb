"""One connection to the database, whatever back end it has, and what runs on it.

Transactions are SQL statements of ours: a driver's own transaction control would commit at
moments we did not choose. What a driver raises, a connection raises as the persistence errors
of eventsourcing, so that nobody above has to know the driver: IntegrityError for a broken
constraint (someone else won), others for a database that did not do as it was told.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from kbstore.store.statements import Row, Statement, Values


class Queryable(Protocol):
    """What queries need of a connection: reading rows."""

    def all(self, statement: Statement, values: Values) -> list[Row]: ...

    def one(self, statement: Statement, values: Values) -> Row | None: ...


class Connection(ABC):
    """A connection of one thread. Rows are plain tuples in the statement's order."""

    @abstractmethod
    def all(self, statement: Statement, values: Values) -> list[Row]:
        """Every row of a query."""

    @abstractmethod
    def one(self, statement: Statement, values: Values) -> Row | None:
        """The first row of a query, or None."""

    @abstractmethod
    def each(self, statement: Statement, values: Values) -> Iterator[Row]:
        """The rows of a query one by one; the result never stands in memory as a whole."""

    @abstractmethod
    def run(self, statement: Statement, values: Values) -> None:
        """Runs a statement that changes rows."""

    @abstractmethod
    def count(self, statement: Statement, values: Values) -> int:
        """The same; gives how many rows it changed."""

    @abstractmethod
    def run_many(self, statement: Statement, values: Iterable[Values]) -> None:
        """Runs one statement, which has no lists, for each set of values."""

    @abstractmethod
    def command(self, sql: str) -> None:
        """Runs SQL without parameters: of transactions, settings and the schema."""

    @abstractmethod
    def begin_write(self, *, is_pipelined: bool = False) -> None:
        """Begins a transaction that writes. SQLite locks the file now, before any read, so that
        nothing read can be stale; PostgreSQL locks the rows that the transaction asks for.

        With `is_pipelined` statements that change rows may not wait for the database's answer:
        an error then comes up at a later one, and ends the transaction.
        """

    @abstractmethod
    def begin_read(self) -> None:
        """Begins a transaction whose statements all see one state of the database."""

    @abstractmethod
    def commit(self) -> None:
        """Commits. Raises when COMMIT did not answer that it did."""

    @abstractmethod
    def rollback(self) -> None:
        """Ends the transaction without a trace; nothing happens where there is none."""

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether a transaction is open and can go on: false once an error has ended it."""

    def notices(self, seconds: float) -> list[str]:
        """What notices said that came within this time, as soon as there is one. Where a back
        end has none there are none."""
        return []

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be asked of it any more, and another one has to be made."""
        return False

    @abstractmethod
    def close(self) -> None: ...

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undoes what the block wrote when it raises; the transaction around it goes on.

        Some errors end the whole transaction; then there is no savepoint left to return to,
        and the caller finds `in_transaction` false.
        """
        self.command("SAVEPOINT command")
        try:
            yield
        except BaseException:
            self.undo_savepoint()
            raise
        self.command("RELEASE command")

    def undo_savepoint(self) -> None:
        """Goes back to the innermost savepoint, and leaves it, if the transaction still can."""
        if self.in_transaction:
            self.command("ROLLBACK TO command")
            self.command("RELEASE command")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One snapshot for all statements of the block."""
        self.begin_read()
        try:
            yield
        finally:
            self.rollback()

    @contextmanager
    def writing(self, *, is_pipelined: bool = False) -> Iterator[None]:
        """A transaction that is committed at the end of the block, undone when it raises."""
        self.begin_write(is_pipelined=is_pipelined)
        try:
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise
