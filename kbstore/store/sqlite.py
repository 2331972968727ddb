"""SQLite: one file, served by one process; the command line may write to it meanwhile."""

import fcntl
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote
from uuid import UUID

from eventsourcing.persistence import (
    DatabaseError,
    DataError,
    IntegrityError,
    OperationalError,
    PersistenceError,
    ProgrammingError,
)
from sqlalchemy import MetaData
from sqlalchemy.dialects import sqlite

from kbstore.errors import DatabaseInUseError, StoreError
from kbstore.limits import DATABASE_BUSY_SECONDS_MAX
from kbstore.store.connection import Connection
from kbstore.store.database import SCHEMA_VERSION, Database, schema_ddl
from kbstore.store.planner_statistics import write_statistics
from kbstore.store.statements import Row, Statement, Values

_READER_CACHE_KIB = 16_384
_CHECKPOINT_PAGES = 4_096
"""A page that many commits changed is copied into the database once a checkpoint."""
_STATEMENTS_PREPARED_MAX = 512
_LOCK_POLL_SECONDS = 0.001
_SET_BUSY_TIMEOUT = f"PRAGMA busy_timeout = {round(DATABASE_BUSY_SECONDS_MAX * 1_000)}"
_PRIMARY_CODE = 0xFF


class SqliteConnection(Connection):
    """A connection in autocommit mode (`isolation_level=None`)."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def all(self, statement: Statement, values: Values) -> list[Row]:
        sql, parameters = statement.bind(values)
        try:
            return self.raw.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise _translated(error) from error

    def one(self, statement: Statement, values: Values) -> Row | None:
        sql, parameters = statement.bind(values)
        try:
            row: Row | None = self.raw.execute(sql, parameters).fetchone()
        except sqlite3.Error as error:
            raise _translated(error) from error
        return row

    def each(self, statement: Statement, values: Values) -> Iterator[Row]:
        sql, parameters = statement.bind(values)
        try:
            yield from self.raw.execute(sql, parameters)
        except sqlite3.Error as error:
            raise _translated(error) from error

    def run(self, statement: Statement, values: Values) -> None:
        sql, parameters = statement.bind(values)
        try:
            self.raw.execute(sql, parameters)
        except sqlite3.Error as error:
            raise _translated(error) from error

    def count(self, statement: Statement, values: Values) -> int:
        sql, parameters = statement.bind(values)
        try:
            return self.raw.execute(sql, parameters).rowcount
        except sqlite3.Error as error:
            raise _translated(error) from error

    def run_many(self, statement: Statement, values: Iterable[Values]) -> None:
        bound = [statement.bind(each)[1] for each in values]
        try:
            self.raw.executemany(statement.sqlite, bound)
        except sqlite3.Error as error:
            raise _translated(error) from error

    def command(self, sql: str) -> None:
        try:
            self.raw.execute(sql)
        except sqlite3.Error as error:
            raise _translated(error) from error

    def begin_write(self, *, is_pipelined: bool = False) -> None:
        # SQLite itself would look for the lock less and less often, a tenth of a second apart in
        # the end: who takes it many times for short would hardly let others in.
        end = time.monotonic() + DATABASE_BUSY_SECONDS_MAX
        self.command("PRAGMA busy_timeout = 0")
        try:
            while not self._locks():
                if time.monotonic() > end:
                    raise OperationalError("database is locked")
                time.sleep(_LOCK_POLL_SECONDS)
        finally:
            self.command(_SET_BUSY_TIMEOUT)

    def _locks(self) -> bool:
        """Begins with the lock, unless another connection has it now."""
        try:
            self.raw.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY:
                raise _translated(error) from error
            return False
        except sqlite3.Error as error:
            raise _translated(error) from error
        return True

    def begin_read(self) -> None:
        self.command("BEGIN")

    def commit(self) -> None:
        self.command("COMMIT")

    def rollback(self) -> None:
        if self.raw.in_transaction:
            self.command("ROLLBACK")

    def data_version(self) -> int:
        """A number that changes whenever another connection has committed."""
        row = self.raw.execute("PRAGMA data_version").fetchone()
        return int(row[0])

    @property
    def in_transaction(self) -> bool:
        # Some errors make SQLite roll back the whole transaction.
        return self.raw.in_transaction

    def close(self) -> None:
        self.raw.close()


_ERRORS: tuple[tuple[type[sqlite3.Error], type[PersistenceError]], ...] = (
    (sqlite3.IntegrityError, IntegrityError),
    (sqlite3.OperationalError, OperationalError),
    (sqlite3.DataError, DataError),
    (sqlite3.ProgrammingError, ProgrammingError),
)


def _translated(error: sqlite3.Error) -> PersistenceError:
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(str(error))
    return DatabaseError(str(error))


class SqliteDatabase(Database):
    """One file."""

    is_file = True

    def __init__(self, path: Path, schema: Sequence[MetaData]) -> None:
        super().__init__(f"sqlite:///{quote(str(path))}", schema)
        self.path = path
        self.name = str(path)

    @classmethod
    def locate(cls, path: Path, schema: Sequence[MetaData]) -> "SqliteDatabase":
        """Raises StoreError where no such file can be."""
        database = cls(path.absolute(), schema)
        if not database.path.parent.is_dir():
            raise StoreError(f"There is no folder {database.path.parent} for the database.")
        return database

    def is_new(self) -> bool:
        """Also while another process is just about to create something; the file need not
        exist."""
        if not self.path.exists():
            return True
        with self._examining() as connection:
            return connection.raw.execute("SELECT 1 FROM sqlite_schema").fetchone() is None

    def create_missing(self) -> None:
        with closing(self.connect()) as connection:
            connection.begin_write()
            for statement in schema_ddl(self.schema, sqlite.dialect()):
                connection.command(statement)
            write_statistics(connection.raw, self.schema)
            connection.command(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.commit()

    def schema_version(self) -> int:
        with self._examining() as connection:
            row = connection.raw.execute("PRAGMA user_version").fetchone()
            return int(row[0])

    @contextmanager
    def _examining(self) -> Iterator[SqliteConnection]:
        try:
            with closing(self.connect()) as connection:
                yield connection
        except (sqlite3.DatabaseError, DatabaseError) as error:
            raise StoreError(f"{self.path} is not a kbstore database: {error}.") from error

    def connect(self) -> SqliteConnection:
        raw = sqlite3.connect(
            self.path,
            timeout=DATABASE_BUSY_SECONDS_MAX,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS_PREPARED_MAX,
        )
        try:
            raw.execute("PRAGMA journal_mode = WAL")
            raw.execute("PRAGMA synchronous = FULL")
            # What a savepoint would restore; in a file it costs as much as a commit.
            raw.execute("PRAGMA temp_store = MEMORY")
            raw.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        except sqlite3.Error as error:
            raw.close()
            raise _translated(error) from error
        return SqliteConnection(raw)

    def connect_reader(self) -> SqliteConnection:
        try:
            raw = sqlite3.connect(
                f"{self.path.as_uri()}?mode=ro",
                uri=True,
                timeout=DATABASE_BUSY_SECONDS_MAX,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=_STATEMENTS_PREPARED_MAX,
            )
        except sqlite3.Error as error:
            raise _translated(error) from error
        raw.execute("PRAGMA query_only = ON")
        raw.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
        return SqliteConnection(raw)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Holds the file for one server; a second one gets DatabaseInUseError.

        The lock lies beside the database, so that the command line can go on writing to it.
        """
        with self.alone("serving"):
            yield

    @contextmanager
    def alone(self, doing: str, kb_id: UUID | None = None) -> Iterator[None]:
        with Path(f"{self.path}.{doing}").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise DatabaseInUseError(f"Another process is {doing} {self.path}.") from error
            yield

    def close(self) -> None:
        """Closes the readers, and leaves the file whole where nobody else has it open.

        The last connection to close empties the write-ahead log into the file, which a
        read-only one cannot do.
        """
        super().close()
        self.connect().close()
