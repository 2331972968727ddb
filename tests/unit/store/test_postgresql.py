"""What only PostgreSQL does: connections that are lost, locks that are waited for, settings."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import OperationalError, PersistenceError, StoredEvent

from kbstore.clock import SystemClock
from kbstore.errors import DatabaseUnavailableError
from kbstore.limits import DATABASE_BUSY_SECONDS_MAX
from kbstore.store import postgresql
from kbstore.store.backends import open_database
from kbstore.store.catalogue import Catalogue
from kbstore.store.commits import Origin
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import lock_head, read_head
from kbstore.store.postgresql import PostgresConnection
from kbstore.store.tables import metadata
from kbstore.store.transaction import WriteTransaction
from kbstore.store.writer import Writer
from tests.backends import on_postgresql, query

pytestmark = on_postgresql
NOTICED_SECONDS = 0.2


def write_one(transaction: WriteTransaction) -> int:
    with transaction.savepoint():
        commit = transaction.begin_commit(Origin(actor="user:a"))
        commit.insert([StoredEvent(uuid4(), 1, "test.happened", b"\x80")])
        return commit.seal().revision


def end_connections(database: Database) -> None:
    """All but this one, as a restart of the server does."""
    with database.connected() as connection:
        query(
            connection,
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )


def events(database: Database) -> object:
    with database.connected() as connection:
        ((count,),) = query(connection, "SELECT count(*) FROM events")
    return count


def setting(connection: Connection, name: str) -> object:
    ((value,),) = query(connection, f"SHOW {name}")
    return value


@pytest.fixture
def second_writer(database: Database) -> Iterator[Writer]:
    """Of another process on the same database."""
    with closing(open_database(database.url, [metadata])) as again:
        writer = Writer(again, None, SystemClock())
        yield writer
        writer.close()


# --- connections that are lost --------------------------------------------------------------


def test_a_connection_lost_between_commits_is_replaced(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    for expected in (1, 2, 3):
        assert writer.submit(kb_id, write_one).result(5) == expected
        end_connections(database)


def test_a_command_whose_connection_was_lost_is_run_again(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    runs: list[bool] = []

    def cut_off(transaction: WriteTransaction) -> int:
        runs.append(True)
        revision = write_one(transaction)
        if len(runs) == 1:
            end_connections(database)
        return revision

    assert writer.submit(kb_id, cut_off).result(5) == 1
    assert (len(runs), events(database)) == (2, 1)


def test_a_commit_that_never_arrived_is_run_again(
    database: Database, writer: Writer, kb_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, lost = PostgresConnection.commit, iter([True])

    def commit_of_a_lost_one(self: PostgresConnection) -> None:
        if next(lost, False):
            end_connections(database)
        commit(self)

    monkeypatch.setattr(PostgresConnection, "commit", commit_of_a_lost_one)
    assert writer.submit(kb_id, write_one).result(5) == 1
    assert events(database) == 1


def test_a_lost_reader_is_replaced(database: Database, kb_id: UUID) -> None:
    reader = database.reader()
    end_connections(database)
    with pytest.raises(PersistenceError):
        read_head(reader, kb_id)
    assert reader.is_lost
    assert database.reader() is not reader
    assert read_head(database.reader(), kb_id) is not None


def test_a_reader_lost_in_the_middle_of_a_block_ends_the_block(
    database: Database, kb_id: UUID
) -> None:
    def read() -> None:
        with database.reader().reading():
            end_connections(database)
            read_head(database.reader(), kb_id)

    with pytest.raises(PersistenceError):
        read()
    assert read_head(database.reader(), kb_id) is not None


def test_a_transaction_that_failed_cannot_be_committed(database: Database, kb_id: UUID) -> None:
    with database.connected() as connection:
        connection.begin_write()
        with pytest.raises(PersistenceError):
            connection.command("SELECT nothing FROM nowhere")
        with pytest.raises(OperationalError, match="ROLLBACK"):
            connection.commit()
        connection.begin_write()
        assert lock_head(connection, kb_id) is not None
        connection.commit()


# --- locks ----------------------------------------------------------------------------------


def test_a_second_writer_waits_for_the_first_and_goes_on_from_there(
    writer: Writer, second_writer: Writer, kb_id: UUID
) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold(transaction: WriteTransaction) -> int:
        entered.set()
        assert leave.wait(5)
        return write_one(transaction)

    first = writer.submit(kb_id, hold)
    assert entered.wait(5)
    second = second_writer.submit(kb_id, write_one)
    time.sleep(NOTICED_SECONDS)
    assert not second.done()
    leave.set()
    assert (first.result(5), second.result(5)) == (1, 2)


def test_knowledge_bases_do_not_wait_for_each_other(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    other = uuid4()
    Catalogue(database, SystemClock()).register(other, "other")
    with database.connected() as connection:
        connection.begin_write()
        assert lock_head(connection, other) is not None
        assert writer.submit(kb_id, write_one).result(5) == 1
        connection.rollback()


def test_a_lock_that_is_never_free_is_given_up(
    database: Database, kb_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = f"{DATABASE_BUSY_SECONDS_MAX}s"
    monkeypatch.setattr(postgresql, "_SETTINGS", postgresql._SETTINGS.replace(seconds, "100ms"))
    writer = Writer(database, None, SystemClock())
    with database.connected() as connection:
        connection.begin_write()
        assert lock_head(connection, kb_id) is not None
        with pytest.raises(DatabaseUnavailableError):
            writer.submit(kb_id, write_one).result(5)
        connection.rollback()
    assert writer.submit(kb_id, write_one).result(5) == 1
    writer.close()


# --- settings -------------------------------------------------------------------------------


def test_connections_set_what_they_rely_on(database: Database) -> None:
    busy = f"{DATABASE_BUSY_SECONDS_MAX:.0f}s"
    with database.connected() as connection:
        for made in (connection, database.reader()):
            assert setting(made, "lock_timeout") == busy
            assert setting(made, "jit") == "off"
            assert setting(made, "client_encoding") == "UTF8"
            assert setting(made, "application_name") == "kbstore"
        assert setting(database.reader(), "default_transaction_read_only") == "on"


@pytest.mark.parametrize(
    ("ordered", "used"),
    [("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply", "remote_apply")],
)
def test_a_commit_is_durable_whatever_the_server_does_for_others(
    database: Database, ordered: str, used: str
) -> None:
    with database.connected() as connection:
        ((name,),) = query(connection, "SELECT current_database()")
        connection.command(f"ALTER DATABASE {name} SET synchronous_commit = {ordered}")
        try:
            with database.connected() as other:
                assert setting(other, "synchronous_commit") == used
        finally:
            connection.command(f"ALTER DATABASE {name} RESET synchronous_commit")


def test_the_lock_of_a_lone_process_is_free_before_its_connection_has_ended(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[PostgresConnection] = []
    close = PostgresConnection.close
    monkeypatch.setattr(PostgresConnection, "close", lambda self: opened.append(self))
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    with database.alone("rebuilding"):
        assert query(database.reader(), locks) == [(1,)]
    assert query(database.reader(), locks) == [(0,)]
    for connection in opened:
        close(connection)
