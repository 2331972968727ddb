"""What holds of a database and its connections, whichever back end it has."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import IntegrityError, PersistenceError
from sqlalchemy import bindparam, insert, select, update

from kbstore.errors import DatabaseInUseError, DatabaseNotMigratedError, StoreError
from kbstore.store.backends import locate_database, open_database
from kbstore.store.connection import Connection
from kbstore.store.database import SCHEMA_VERSION, Database
from kbstore.store.postgresql import PostgresDatabase
from kbstore.store.statements import Statement
from kbstore.store.tables import events, metadata
from tests.backends import PostgresServer, on_postgresql, query

INSERT = Statement(insert(events))
POSITIONS = Statement(
    select(events.c.position)
    .where(events.c.kb_id == bindparam("kb_id"))
    .order_by(events.c.position)
)
RENAME = Statement(
    update(events).where(events.c.position > bindparam("after")).values(topic=bindparam("topic"))
)
MANY = 2_500
"""More rows than a driver is asked for at once."""


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    with database.connected() as opened:
        yield opened


def row(kb_id: UUID, position: int) -> dict[str, bytes | int | str]:
    return {
        "kb_id": kb_id.bytes,
        "position": position,
        "originator_id": uuid4().bytes,
        "originator_version": 1,
        "topic": "page.created",
        "payload": b"\x80\x00\xff",
    }


def positions(connection: Connection, kb_id: UUID) -> list[object]:
    return [found for (found,) in connection.all(POSITIONS, {"kb_id": kb_id.bytes})]


def write(connection: Connection, kb_id: UUID, *numbers: int) -> None:
    connection.begin_write()
    connection.run_many(INSERT, [row(kb_id, number) for number in numbers])
    connection.commit()


# --- rows -----------------------------------------------------------------------------------


def test_values_come_back_as_they_were(connection: Connection, kb_id: UUID) -> None:
    given = {**row(kb_id, 2**63 - 1), "topic": "ä\u2028'\"\\\U0001f600", "payload": bytes(256)}
    connection.run(INSERT, given)
    assert connection.one(Statement(select(events)), {}) == tuple(given.values())
    connection.run(INSERT, {**row(kb_id, -(2**63)), "topic": "", "payload": b""})
    assert positions(connection, kb_id) == [-(2**63), 2**63 - 1]


def test_rows_come_one_by_one_in_a_transaction_and_outside(
    connection: Connection, kb_id: UUID
) -> None:
    write(connection, kb_id, *range(MANY))
    values = {"kb_id": kb_id.bytes}
    assert [found for (found,) in connection.each(POSITIONS, values)] == list(range(MANY))
    with connection.reading():
        assert [found for (found,) in connection.each(POSITIONS, values)] == list(range(MANY))
        left = connection.each(POSITIONS, values)
        assert next(left) == (0,)
        del left
        assert connection.one(POSITIONS, values) == (0,)


def test_two_walks_go_on_side_by_side(connection: Connection, kb_id: UUID) -> None:
    write(connection, kb_id, *range(MANY))
    values = {"kb_id": kb_id.bytes}
    with connection.reading():
        walks = connection.each(POSITIONS, values), connection.each(POSITIONS, values)
        assert list(zip(*walks, strict=True)) == [((n,), (n,)) for n in range(MANY)]


def test_a_change_counts_its_rows(connection: Connection, kb_id: UUID) -> None:
    write(connection, kb_id, 1, 2, 3)
    assert connection.count(RENAME, {"after": 1, "topic": "x"}) == 2
    assert connection.count(RENAME, {"after": 9, "topic": "x"}) == 0


def test_no_rows_are_nothing(connection: Connection, kb_id: UUID) -> None:
    connection.run_many(INSERT, [])
    assert connection.one(POSITIONS, {"kb_id": kb_id.bytes}) is None
    assert list(connection.each(POSITIONS, {"kb_id": kb_id.bytes})) == []


# --- transactions ---------------------------------------------------------------------------


def test_what_is_rolled_back_was_never_there(connection: Connection, kb_id: UUID) -> None:
    connection.rollback()
    for is_pipelined in (False, True):
        connection.begin_write(is_pipelined=is_pipelined)
        connection.run(INSERT, row(kb_id, 1))
        assert connection.in_transaction
        connection.rollback()
        assert not connection.in_transaction
    assert positions(connection, kb_id) == []


@pytest.mark.parametrize("is_pipelined", [False, True])
def test_a_savepoint_undoes_its_block_alone(
    connection: Connection, kb_id: UUID, is_pipelined: bool
) -> None:
    connection.begin_write(is_pipelined=is_pipelined)
    connection.run(INSERT, row(kb_id, 1))
    with suppress(ZeroDivisionError), connection.savepoint():
        connection.run(INSERT, row(kb_id, 2))
        raise ZeroDivisionError
    with connection.savepoint():
        connection.run(INSERT, row(kb_id, 3))
    connection.commit()
    assert positions(connection, kb_id) == [1, 3]


def test_a_broken_constraint_ends_its_savepoint_alone(connection: Connection, kb_id: UUID) -> None:
    connection.begin_write()
    connection.run(INSERT, row(kb_id, 1))
    with pytest.raises(IntegrityError), connection.savepoint():
        connection.run(INSERT, row(kb_id, 1))
    assert connection.in_transaction
    connection.run(INSERT, row(kb_id, 2))
    connection.commit()
    assert positions(connection, kb_id) == [1, 2]


def test_a_broken_constraint_in_a_pipeline_comes_up_before_the_commit(
    connection: Connection, kb_id: UUID
) -> None:
    def write_twice() -> None:
        connection.begin_write(is_pipelined=True)
        connection.run(INSERT, row(kb_id, 1))
        connection.run(INSERT, row(kb_id, 1))
        connection.commit()

    with pytest.raises(IntegrityError):
        write_twice()
    connection.rollback()
    write(connection, kb_id, 7)
    assert positions(connection, kb_id) == [7]


def test_a_reader_sees_one_state_for_the_length_of_a_block(
    database: Database, connection: Connection, kb_id: UUID
) -> None:
    reader = database.reader()
    with reader.reading():
        assert positions(reader, kb_id) == []
        write(connection, kb_id, 1)
        assert positions(reader, kb_id) == []
    assert positions(reader, kb_id) == [1]


def test_a_reader_writes_nothing(database: Database, kb_id: UUID) -> None:
    reader = database.reader()
    with pytest.raises(PersistenceError):
        reader.run(INSERT, row(kb_id, 1))
    with pytest.raises(PersistenceError), reader.reading():
        reader.run(INSERT, row(kb_id, 1))
    assert positions(reader, kb_id) == []


def test_wrong_sql_is_an_error_of_persistence(connection: Connection) -> None:
    with pytest.raises(PersistenceError):
        connection.command("SELECT nothing FROM nowhere")
    connection.command("SELECT 1")


# --- a database -----------------------------------------------------------------------------


def test_each_thread_has_a_reader_of_its_own(database: Database) -> None:
    own = database.reader()
    assert database.reader() is own
    found: list[Connection] = []
    other = threading.Thread(target=lambda: found.append(database.reader()))
    other.start()
    other.join()
    assert found[0] is not own


def test_migrating_again_leaves_everything_as_it_was(database: Database, kb_id: UUID) -> None:
    before = query(database.reader(), "SELECT kb_id, slug FROM knowledge_bases")
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(database.migrate) for _ in range(4)]:
            done.result()
    assert query(database.reader(), "SELECT kb_id, slug FROM knowledge_bases") == before
    assert database.schema_version() == SCHEMA_VERSION


def test_a_database_of_a_server_is_migrated_before_it_is_used(postgres: PostgresServer) -> None:
    url = postgres.new_database(is_migrated=False)
    with closing(locate_database(url, [metadata])) as database:
        assert (database.is_new(), database.schema_version()) == (False, 0)
        with pytest.raises(DatabaseNotMigratedError) as refused:
            open_database(url, [metadata])
        assert refused.value.details == {"found": 0, "needed": SCHEMA_VERSION}
        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(database.migrate) for _ in range(4)]:
                done.result()
        assert database.schema_version() == SCHEMA_VERSION
        assert query(database.reader(), "SELECT count(*) FROM kbstore_schema") == [(1,)]


@pytest.mark.parametrize("other", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_another_version_of_the_schema_is_not_served(database: Database, other: int) -> None:
    set_version(database, other)
    try:
        with pytest.raises(DatabaseNotMigratedError) as refused:
            open_database(database.url, [metadata])
        assert refused.value.details == {"found": other, "needed": SCHEMA_VERSION}
        if other > SCHEMA_VERSION:
            with pytest.raises(DatabaseNotMigratedError):
                database.migrate()
            assert database.schema_version() == other, "what a newer release made stays"
        else:
            database.migrate()
            open_database(database.url, [metadata]).close()
    finally:
        set_version(database, SCHEMA_VERSION)


def set_version(database: Database, version: int) -> None:
    with database.connected() as connection:
        connection.command(
            f"PRAGMA user_version = {version}"
            if database.is_file
            else f"UPDATE kbstore_schema SET version = {version}"
        )


@on_postgresql
def test_texts_are_compared_by_code_point_whatever_the_database_was_told(
    database: Database,
) -> None:
    """The server of the tests is built without other collations: the columns tell."""
    collations = query(
        database.reader(),
        "SELECT DISTINCT collation_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND data_type = 'text'",
    )
    assert collations == [("C",)]


def test_one_process_at_a_time_is_alone(database: Database) -> None:
    other = open_database(database.url, [metadata])
    with closing(other):
        with database.alone("rebuilding"):
            with pytest.raises(DatabaseInUseError), other.alone("rebuilding"):
                pass
            with other.alone("counting"):
                pass
        with other.alone("rebuilding"):
            pass


def test_a_url_finds_its_database_again(database: Database, kb_id: UUID) -> None:
    with closing(open_database(database.url, [metadata])) as again:
        assert (again.name, again.is_file) == (database.name, database.is_file)
        assert query(again.reader(), "SELECT kb_id FROM knowledge_bases") == [(kb_id.bytes,)]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sqlite:///",
        "sqlite://x.db",
        "mysql://ana:hidden@a/b",
        "postgresql+psycopg://ana:hidden@a/b",
        "postgresql://ana:hid%zzden@a/b",
        "postgresql://ana:hidden@[::1/b",
        "x.db",
    ],
)
def test_other_urls_are_refused_and_not_shown(url: str) -> None:
    with pytest.raises(StoreError) as refused:
        locate_database(url, [metadata])
    assert "hid" not in refused.value.message


def test_a_file_is_made_in_a_folder_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        locate_database(f"sqlite:///{tmp_path}/nothing/x.db", [metadata])
    odd = tmp_path / "50% of ümläuts?#.db"
    open_database(f"sqlite:///{tmp_path}/50%25 of ümläuts%3F%23.db", [metadata]).close()
    assert odd.exists()


def test_the_name_of_a_database_holds_no_password() -> None:
    database = PostgresDatabase("postgresql://ana:hidden@localhost/handbook", [])
    assert database.name == "PostgreSQL database handbook"


def test_a_url_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(StoreError) as refused:
        locate_database("postgresql://ana:hidden@localhost/handbook?nonsense=1", [])
    assert "hidden" not in str(refused.value)


def test_where_no_server_is_nothing_is_waited_for(tmp_path: Path) -> None:
    database = locate_database(f"postgresql:///handbook?host={tmp_path}", [metadata])
    for ask in (database.connect, database.reader, database.schema_version, database.migrate):
        with pytest.raises(PersistenceError):
            ask()
