"""A database: how to connect to it, its schema, and who may serve it.

`kbstore.store.backends` finds the one behind a URL.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from uuid import UUID

from sqlalchemy import MetaData, Table
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from kbstore.errors import DatabaseNotMigratedError
from kbstore.store.connection import Connection

SCHEMA_VERSION = 3
"""Raised with every change of a table, those of `projections` included. `migrate` creates what
is missing; it adds no column to a table that is there."""


class Database(ABC):
    """Safe to share between threads: each one gets its own connections."""

    name: str
    """What messages call it; holds no password."""
    is_file: bool
    """Whether it is a file that one server owns, and no server of its own."""

    def __init__(self, url: str, schema: Sequence[MetaData]) -> None:
        self.url = url
        self.schema = tuple(schema)
        self._local = threading.local()
        self._readers: list[Connection] = []
        self._readers_lock = threading.Lock()

    @abstractmethod
    def is_new(self) -> bool:
        """Whether nothing was ever created in it, and its first user may do so."""

    def migrate(self) -> None:
        """Creates what is missing; safe to run twice, and from several processes at once.

        Raises DatabaseNotMigratedError, with nothing changed, for a schema that a newer release
        has made.
        """
        if self.schema_version() > SCHEMA_VERSION:
            self.check_migrated()
        self.create_missing()

    @abstractmethod
    def create_missing(self) -> None:
        """What `migrate` does to a schema that is not newer."""

    @abstractmethod
    def schema_version(self) -> int:
        """0 where nothing was migrated. Raises StoreError where it is no database of ours."""

    def check_migrated(self) -> None:
        """Raises DatabaseNotMigratedError unless it has this version of the schema."""
        found = self.schema_version()
        if found != SCHEMA_VERSION:
            advice = "use that of a newer release" if found > SCHEMA_VERSION else "run migrate"
            raise DatabaseNotMigratedError(
                f"{self.name} has schema version {found}, this program needs {SCHEMA_VERSION}: "
                f"{advice}.",
                found=found,
                needed=SCHEMA_VERSION,
            )

    @abstractmethod
    def connect(self) -> Connection:
        """A connection that may write: an acknowledged COMMIT survives a loss of power."""

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """The same for the length of a block."""
        with closing(self.connect()) as connection:
            yield connection

    @abstractmethod
    def connect_reader(self) -> Connection:
        """A connection that only reads."""

    def reader(self) -> Connection:
        """This thread's read-only connection; it lives until the database is closed, or until
        it is lost."""
        existing: Connection | None = getattr(self._local, "reader", None)
        if existing is not None and not existing.is_lost:
            return existing
        reader = self.connect_reader()
        self._local.reader = reader
        with self._readers_lock:
            if existing in self._readers:
                self._readers.remove(existing)
            self._readers.append(reader)
        return reader

    def grown(self, before: int, now: int) -> None:  # noqa: B027 -- most have nothing to do
        """Told after a commit how many events a knowledge base had, and has. A back end whose
        planner needs to know of such growth learns it; nobody waits for that."""

    @abstractmethod
    def serving(self) -> AbstractContextManager[None]:
        """Held by a server while it runs. Raises DatabaseInUseError where there can be one."""

    @abstractmethod
    def alone(self, doing: str, kb_id: UUID | None = None) -> AbstractContextManager[None]:
        """Held while something is done ("rebuilding") that only one process may do at a time;
        a second one gets DatabaseInUseError. A process that dies holds nothing.

        On a server others may do it to other knowledge bases; in a file they would only wait
        for each other.
        """

    def close(self) -> None:
        """Closes the readers."""
        with self._readers_lock:
            for reader in self._readers:
                reader.close()
            self._readers.clear()
        self._local = threading.local()


def schema_ddl(schema: Sequence[MetaData], dialect: Dialect) -> Iterator[str]:
    """The statements that create the tables and indexes that are missing."""
    for metadata in schema:
        for table in metadata.sorted_tables:
            yield str(CreateTable(table, if_not_exists=True).compile(dialect=dialect))
            yield from _indexes(table, dialect)


def _indexes(table: Table, dialect: Dialect) -> Iterator[str]:
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        yield str(CreateIndex(index, if_not_exists=True).compile(dialect=dialect))
