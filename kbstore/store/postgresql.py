"""PostgreSQL: any number of processes on one database, in step by the lock on a head's row."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import sha256
from itertools import count
from typing import Any, NoReturn
from uuid import UUID

import psycopg
import structlog
from eventsourcing.persistence import (
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    PersistenceError,
    ProgrammingError,
)
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8BinaryDumper
from sqlalchemy import MetaData
from sqlalchemy.dialects import postgresql

from kbstore.errors import DatabaseInUseError, StoreError
from kbstore.limits import DATABASE_BUSY_SECONDS_MAX, DATABASE_CONNECT_SECONDS_MAX
from kbstore.store.connection import Connection
from kbstore.store.database import SCHEMA_VERSION, Database, schema_ddl
from kbstore.store.statements import Bound, Row, Statement, Values

log = structlog.get_logger(__name__)
Raw = psycopg.Connection[tuple[Any, ...]]

_PREPARE_AFTER_EXECUTIONS = 2
_ANALYSED_BITS = range(9, 18)
"""From 256 events, of which no plan goes wrong by much, to 65,536."""
_STATEMENTS_PREPARED_MAX = 512
_ROWS_PER_FETCH = 1_000
# A plan that does not look at the values is made once, and cannot be misled by a value that the
# statistics do not know yet, such as a new generation.
_SETTINGS = f"""
    SELECT set_config('lock_timeout', '{DATABASE_BUSY_SECONDS_MAX}s', false),
        set_config('jit', 'off', false),
        set_config('plan_cache_mode', 'force_generic_plan', false),
        set_config('client_encoding', 'UTF8', false)
"""
# An answered COMMIT is on the disk, whatever the server does for others; what asks for more
# than that, such as remote_apply, is left as it is.
_DURABLE = """
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')
"""
_ENTER_VERSION = f"INSERT INTO kbstore_schema VALUES ({SCHEMA_VERSION})"  # noqa: S608
_VERSION_TABLE = "CREATE TABLE IF NOT EXISTS kbstore_schema (version BIGINT NOT NULL)"


class PostgresConnection(Connection):
    """A connection in autocommit mode, with statements that the server keeps prepared."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self._is_open = False
        self._pipeline: psycopg.Pipeline | None = None
        self._pipelining = ExitStack()
        self._has_failed = False
        self._was_ended = False
        self._cursors = count(1)

    @property
    def is_lost(self) -> bool:
        return self._was_ended or self.raw.closed or self.raw.broken

    def all(self, statement: Statement, values: Values) -> list[Row]:
        try:
            return self._execute(*statement.bind_postgresql(values)).fetchall()
        except psycopg.Error as error:
            self._fail(error)

    def one(self, statement: Statement, values: Values) -> Row | None:
        try:
            return self._execute(*statement.bind_postgresql(values)).fetchone()
        except psycopg.Error as error:
            self._fail(error)

    def each(self, statement: Statement, values: Values) -> Iterator[Row]:
        if self._pipeline is not None:
            # A pipeline has no cursors that stay on the server.
            yield from self.all(statement, values)
            return
        sql, parameters = statement.bind_postgresql(values)
        # Outside a transaction a cursor lives on only when it is told to.
        name = f"each_{next(self._cursors)}"
        cursor = psycopg.RawServerCursor(self.raw, name, withhold=not self._is_open)
        try:
            with cursor:
                cursor.execute(sql, parameters)
                while rows := cursor.fetchmany(_ROWS_PER_FETCH):
                    yield from rows
        except psycopg.Error as error:
            self._fail(error)

    def run(self, statement: Statement, values: Values) -> None:
        try:
            self._execute(*statement.bind_postgresql(values))
        except psycopg.Error as error:
            self._fail(error)

    def count(self, statement: Statement, values: Values) -> int:
        try:
            cursor = self._execute(*statement.bind_postgresql(values))
            if self._pipeline is not None:
                self._pipeline.sync()
            return cursor.rowcount
        except psycopg.Error as error:
            self._fail(error)

    def run_many(self, statement: Statement, values: Iterable[Values]) -> None:
        bound = [statement.bind_postgresql(each)[1] for each in values]
        try:
            if len(bound) == 1 or self._pipeline is not None:
                for parameters in bound:
                    self._execute(statement.postgresql, parameters)
            elif bound:
                with self.raw.cursor() as cursor:
                    cursor.executemany(statement.postgresql, bound)
        except psycopg.Error as error:
            self._fail(error)

    def command(self, sql: str) -> None:
        try:
            self._execute(sql, ())
        except psycopg.Error as error:
            self._fail(error)

    def notices(self, seconds: float) -> list[str]:
        try:
            return [each.payload for each in self.raw.notifies(timeout=seconds, stop_after=1)]
        except psycopg.Error as error:
            self._fail(error)

    def begin_write(self, *, is_pipelined: bool = False) -> None:
        if is_pipelined:
            self._pipelining = ExitStack()
            self._pipeline = self._pipelining.enter_context(self.raw.pipeline())
        # After it has waited for a lock, each statement sees what was committed meanwhile.
        self._begin("BEGIN ISOLATION LEVEL READ COMMITTED")

    def begin_read(self) -> None:
        self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def _begin(self, sql: str) -> None:
        self._is_open = True
        self._has_failed = False
        self.command(sql)

    def commit(self) -> None:
        try:
            cursor = self._execute("COMMIT", ())
            self._end_pipeline()
            status = cursor.statusmessage
        except psycopg.Error as error:
            self._fail(error)
        self._is_open = False
        # COMMIT of a failed transaction raises nothing: it answers that it rolled back.
        if status != "COMMIT":
            raise OperationalError(f"COMMIT was answered by {status}")

    def rollback(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        # In a pipeline the server passes over everything that follows an error; leaving it tells
        # of that error once more.
        with suppress(psycopg.Error):
            self._end_pipeline()
        if self.is_lost:
            return
        try:
            self._execute("ROLLBACK", ())
        except psycopg.Error as error:
            self._fail(error)

    @property
    def in_transaction(self) -> bool:
        return self._is_open and not self._has_failed and not self.is_lost

    def close(self) -> None:
        self.raw.close()
        # Left to the garbage collection, a pipeline would write to the standard error.
        with suppress(psycopg.Error):
            self._end_pipeline()

    def _end_pipeline(self) -> None:
        self._pipeline = None
        self._pipelining.close()

    def _execute(self, sql: str, parameters: Bound) -> psycopg.Cursor[tuple[Any, ...]]:
        return self.raw.execute(sql, parameters, binary=True)

    def _fail(self, error: psycopg.Error) -> NoReturn:
        # The server has ended the session; the driver finds that out when it next asks.
        self._was_ended = self._was_ended or error.diag.severity_nonlocalized == "FATAL"
        if self._pipeline is not None or self.is_lost:
            self._has_failed = True
        raise _translated(error) from error


_ERRORS: tuple[tuple[type[psycopg.Error], type[PersistenceError]], ...] = (
    (psycopg.IntegrityError, IntegrityError),
    (psycopg.OperationalError, OperationalError),
    (psycopg.DataError, DataError),
    (psycopg.ProgrammingError, ProgrammingError),
    (psycopg.InternalError, InternalError),
    (psycopg.NotSupportedError, NotSupportedError),
    (psycopg.InterfaceError, InterfaceError),
)


def _translated(error: psycopg.Error) -> PersistenceError:
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(str(error))
    return DatabaseError(str(error))


class PostgresDatabase(Database):
    """A database of a PostgreSQL server; `url` is a libpq connection URI."""

    is_file = False

    def __init__(self, url: str, schema: Sequence[MetaData]) -> None:
        super().__init__(url, schema)
        self._analysing: list[threading.Thread] = []
        try:
            parts = conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            # What libpq says of it quotes it, the password too.
            raise StoreError("The database's URL cannot be read.") from error
        parts.setdefault("connect_timeout", DATABASE_CONNECT_SECONDS_MAX)
        parts.setdefault("application_name", "kbstore")
        self._conninfo = make_conninfo(**{name: str(value) for name, value in parts.items()})
        self.name = f"PostgreSQL database {parts.get('dbname') or parts.get('user') or ''}".strip()

    def is_new(self) -> bool:
        return False

    def grown(self, before: int, now: int) -> None:
        """Has the planner look at the tables whenever their first thousands of events double.

        The server does so by itself once a minute at most. Until then it takes any index that
        begins with the knowledge base for as good as the right one.
        """
        if now.bit_length() > before.bit_length() and now.bit_length() in _ANALYSED_BITS:
            thread = threading.Thread(target=self._analyse, name="kbstore-analyse", daemon=True)
            self._analysing.append(thread)
            thread.start()

    def analyse(self) -> None:
        """Has the planner look at what lies in the tables now."""
        with closing(self.connect()) as connection:
            for metadata in self.schema:
                for table in metadata.sorted_tables:
                    connection.command(f"ANALYZE {table.name}")

    def _analyse(self) -> None:
        try:
            self.analyse()
        except PersistenceError as error:
            log.warning("analyse_failed", error=str(error))

    def close(self) -> None:
        for thread in self._analysing:
            thread.join()
        super().close()

    def create_missing(self) -> None:
        with closing(self.connect()) as connection:
            connection.begin_write()
            connection.command(f"SELECT pg_advisory_xact_lock({_lock_number('migrating')})")
            for statement in schema_ddl(self.schema, postgresql.dialect()):  # type: ignore[no-untyped-call]
                connection.command(statement)
            connection.command(_VERSION_TABLE)
            connection.command("DELETE FROM kbstore_schema")
            connection.command(_ENTER_VERSION)
            connection.commit()

    def schema_version(self) -> int:
        with closing(self.connect_reader()) as connection:
            row = connection.raw.execute("SELECT to_regclass('kbstore_schema')").fetchone()
            if row is None or row[0] is None:
                return 0
            row = connection.raw.execute("SELECT version FROM kbstore_schema").fetchone()
            if row is not None and not isinstance(row[0], int):
                raise StoreError(f"{self.name} has a table kbstore_schema that is not ours.")
            return 0 if row is None else row[0]

    def connect(self) -> PostgresConnection:
        return self._connect(_DURABLE)

    def connect_reader(self) -> PostgresConnection:
        return self._connect("SET default_transaction_read_only = on")

    def _connect(self, setting: str) -> PostgresConnection:
        try:
            raw = psycopg.connect(
                self._conninfo,
                autocommit=True,
                prepare_threshold=_PREPARE_AFTER_EXECUTIONS,
                cursor_factory=psycopg.RawCursor,
            )
        except psycopg.Error as error:
            raise _translated(error) from error
        try:
            raw.prepared_max = _STATEMENTS_PREPARED_MAX
            # One type for every integer, so that a statement is prepared once and not for each
            # size of number.
            raw.adapters.register_dumper(int, Int8BinaryDumper)
            raw.execute(_SETTINGS)
            raw.execute(setting)
        except psycopg.Error as error:
            raw.close()
            raise _translated(error) from error
        return PostgresConnection(raw)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Any number of servers may serve one database."""
        yield

    @contextmanager
    def alone(self, doing: str, kb_id: UUID | None = None) -> Iterator[None]:
        number = _lock_number(doing if kb_id is None else f"{doing} {kb_id}")
        with closing(self.connect_reader()) as connection:
            locking = f"SELECT pg_try_advisory_lock({number})"
            row = connection.raw.execute(locking).fetchone()
            if row is None or not row[0]:
                raise DatabaseInUseError(f"Another process is {doing} {self.name}.")
            try:
                yield
            finally:
                # The server ends a closed connection when it comes to it; the next process
                # need not wait for that.
                with suppress(psycopg.Error):
                    connection.raw.execute(f"SELECT pg_advisory_unlock({number})")


def _lock_number(doing: str) -> int:
    """What an advisory lock goes by: a number that no other program takes by chance."""
    return int.from_bytes(sha256(f"kbstore {doing}".encode()).digest()[:8], "big", signed=True)
