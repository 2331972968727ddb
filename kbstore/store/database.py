"""A database: where it lies, how to connect to it, its schema, and who may serve it."""

import fcntl
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy import MetaData, Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from kbstore.errors import DatabaseInUseError, DatabaseNotMigratedError, StoreError
from kbstore.limits import DATABASE_BUSY_SECONDS_MAX
from kbstore.store.connection import Connection
from kbstore.store.planner_statistics import write_statistics

SCHEMA_VERSION = 1
"""Raised with every change of a table, those of `projections` included. `migrate` creates what
is missing; it adds no column to a table that is there."""
SQLITE_PREFIX = "sqlite:///"
_READER_CACHE_KIB = 16_384
_CHECKPOINT_PAGES = 4_096
"""A page that many commits changed is copied into the database once a checkpoint."""


class Database:
    """One SQLite file. Safe to share between threads: each one gets its own connections."""

    def __init__(self, path: Path, schema: Sequence[MetaData]) -> None:
        self.path = path
        self.schema = tuple(schema)
        self._local = threading.local()
        self._readers: list[Connection] = []
        self._readers_lock = threading.Lock()

    @classmethod
    def open(cls, url: str, schema: Sequence[MetaData]) -> "Database":
        """The database behind `sqlite:///PATH`; a new file is created and migrated."""
        database = cls.locate(url, schema)
        if database.is_new():
            database.migrate()
        database.check_migrated()
        return database

    @classmethod
    def locate(cls, url: str, schema: Sequence[MetaData]) -> "Database":
        """The same, whatever schema the file has, and before there is one: for `migrate`."""
        if not url.startswith(SQLITE_PREFIX) or len(url) == len(SQLITE_PREFIX):
            raise StoreError(f"A database is named as sqlite:///PATH, not {url!r}.")
        database = cls(Path(unquote(url.removeprefix(SQLITE_PREFIX))).absolute(), schema)
        if not database.path.parent.is_dir():
            raise StoreError(f"There is no folder {database.path.parent} for the database.")
        return database

    def is_new(self) -> bool:
        """Whether nothing was ever created in the file, which may not even exist; also while
        another process is just about to."""
        if not self.path.exists():
            return True
        with self._examining() as connection:
            return connection.raw.execute("SELECT 1 FROM sqlite_schema").fetchone() is None

    def migrate(self) -> None:
        """Creates what is missing; safe to run twice, and from several processes at once."""
        connection = self.connect()
        try:
            connection.begin_write()
            for statement in _ddl(self.schema):
                connection.raw.execute(statement)
            write_statistics(connection, self.schema)
            connection.raw.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.commit()
        finally:
            connection.close()

    def check_migrated(self) -> None:
        """Raises DatabaseNotMigratedError unless the file has this version of the schema."""
        found = self.schema_version()
        if found != SCHEMA_VERSION:
            raise DatabaseNotMigratedError(
                f"{self.path} has schema version {found}, this program needs {SCHEMA_VERSION}.",
                found=found,
                needed=SCHEMA_VERSION,
            )

    def schema_version(self) -> int:
        """0 for a file that was never migrated. Raises StoreError where it is no database."""
        with self._examining() as connection:
            row = connection.raw.execute("PRAGMA user_version").fetchone()
            return int(row[0])

    @contextmanager
    def _examining(self) -> Iterator[Connection]:
        try:
            with closing(self.connect()) as connection:
                yield connection
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path} is not a kbstore database: {error}.") from error

    def connect(self) -> Connection:
        """A connection that may write: an acknowledged COMMIT survives a loss of power."""
        raw = sqlite3.connect(
            self.path,
            timeout=DATABASE_BUSY_SECONDS_MAX,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=512,
        )
        try:
            raw.execute("PRAGMA journal_mode = WAL")
            raw.execute("PRAGMA synchronous = FULL")
            # What a savepoint would restore; in a file it costs as much as a commit.
            raw.execute("PRAGMA temp_store = MEMORY")
            raw.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        except sqlite3.Error:
            raw.close()
            raise
        return Connection(raw)

    def reader(self) -> Connection:
        """This thread's read-only connection; it lives until the database is closed."""
        existing: Connection | None = getattr(self._local, "reader", None)
        if existing is not None:
            return existing
        raw = sqlite3.connect(
            f"{self.path.as_uri()}?mode=ro",
            uri=True,
            timeout=DATABASE_BUSY_SECONDS_MAX,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=512,
        )
        raw.execute("PRAGMA query_only = ON")
        raw.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
        reader = Connection(raw)
        self._local.reader = reader
        with self._readers_lock:
            self._readers.append(reader)
        return reader

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Holds the file for one server; a second one gets DatabaseInUseError.

        The lock lies beside the database, so that the command line can go on writing to it.
        """
        with Path(f"{self.path}.serving").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise DatabaseInUseError(f"{self.path} is served by another process.") from error
            yield

    def close(self) -> None:
        """Closes the readers, and leaves the file whole where nobody else has it open.

        The last connection to close empties the write-ahead log into the file, which a
        read-only one cannot do.
        """
        with self._readers_lock:
            for reader in self._readers:
                reader.close()
            self._readers.clear()
        self._local = threading.local()
        self.connect().close()


def _ddl(schema: Sequence[MetaData]) -> Iterator[str]:
    dialect = sqlite.dialect()
    for metadata in schema:
        for table in metadata.sorted_tables:
            yield str(CreateTable(table, if_not_exists=True).compile(dialect=dialect))
            yield from _indexes(table)


def _indexes(table: Table) -> Iterator[str]:
    dialect = sqlite.dialect()
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        yield str(CreateIndex(index, if_not_exists=True).compile(dialect=dialect))
