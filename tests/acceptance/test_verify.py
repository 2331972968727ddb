"""`kbstore verify` sees any change by hand, names the place, and `rebuild` mends projections."""

import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from sqlalchemy import Column, Table

from api.cli import main
from api.demo import SCOPE, SLUG, build_demo
from api.wiring import open_services
from kbstore.access import OPERATOR, Caller
from kbstore.domain.commands import (
    AddNote,
    Command,
    CreatePage,
    DeletePage,
    RemoveNote,
    RestorePage,
)
from kbstore.domain.preparing import prepare_body, prepare_note_text
from kbstore.service import CommandRequest
from kbstore.store import tables as store_tables
from kbstore.store.commits import Origin
from kbstore.store.statements import Value
from kbstore.texts import prepare_text
from projections.tables import metadata
from tests.acceptance.processes import Json, invoke, invoked, kbstore, url_of

PROJECTIONS = sorted(metadata.tables.values(), key=lambda table: table.name)
SEED = 7


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample handbook and what its history lacks: a row in every table there is."""
    database = tmp_path_factory.mktemp("sound") / "kb.db"
    with open_services(url_of(database)) as services:
        found = build_demo(services)
        ids = services.commands.ids
        caller = Caller(principal="user:a", grants=frozenset({OPERATOR}))

        def do(command: Command) -> UUID:
            request = CommandRequest(
                kb_id=found.kb_id,
                caller=caller,
                command=command,
                origin=Origin(actor="user:a", run="run 1", tool_call="call 1"),
            )
            return services.commands.execute(request).result().subjects[0].id

        body = prepare_body("See [[Refund policy]].\n" + "A line to deflate.\n" * 60, ids)
        page = do(CreatePage(scope=SCOPE, name=prepare_text("Short-lived", ids), body=body))
        note = do(AddNote(page=page, text=prepare_note_text("A fact.", ids), stamps=(SCOPE,)))
        do(RemoveNote(note=note))
        do(DeletePage(page=page, expected_version=1))
        do(RestorePage(page=page, expected_version=2, version=1))
    assert invoked(database, "verify", SLUG)["ok"]
    with rows_of(database) as rows:
        for table in PROJECTIONS:
            assert rows.count(table), table.name
    return database


@pytest.fixture
def database(sound: Path, tmp_path: Path) -> Path:
    copied = tmp_path / "kb.db"
    shutil.copyfile(sound, copied)
    return copied


class Rows:
    """The rows of a database file, to be changed by hand."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def count(self, table: Table) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0])

    @contextmanager
    def changed(
        self, column: Column[Any], change: Callable[[Value], Value], chosen: Random
    ) -> Iterator[Json]:
        """Changes a column of one row for the length of a block; gives the row as it was."""
        row, new = self.change(column, change, chosen)
        yield row
        assert self._update(column, {**row, column.name: new}, row[column.name])

    def change(
        self, column: Column[Any], change: Callable[[Value], Value], chosen: Random
    ) -> tuple[Json, Value]:
        """Changes a column of one row; gives the row as it was, and the column as it is."""
        table = column.table
        rows = self._connection.execute(f"SELECT * FROM {table.name}").fetchall()
        names = [other.name for other in table.c]
        chosen.shuffle(rows)
        for values in rows:
            row = dict(zip(names, values, strict=True))
            new = change(row[column.name])
            if new != row[column.name] and self._update(column, row, new):
                return row, new
        raise AssertionError(f"no row of {column} can be changed")

    def _update(self, column: Column[Any], row: Json, new: Value) -> bool:
        keys = [key.name for key in column.table.primary_key.columns]
        where = " AND ".join(f'"{name}" IS ?' for name in keys)
        statement = f'UPDATE {column.table.name} SET "{column.name}" = ? WHERE {where}'
        try:
            updated = self._connection.execute(statement, (new, *(row[name] for name in keys)))
        except sqlite3.IntegrityError:
            return False
        assert updated.rowcount == 1
        return True


@contextmanager
def rows_of(database: Path) -> Iterator[Rows]:
    connection = sqlite3.connect(database, isolation_level=None)
    try:
        yield Rows(connection)
    finally:
        connection.close()


def one_bit(value: Value) -> Value:
    """The value with one bit of one byte changed; something where there was nothing."""
    match value:
        case None:
            return 1
        case int():
            return value ^ 1
        case bytes():
            middle = len(value) // 2
            return value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :]
        case str():
            return value[:-1] + chr(ord(value[-1]) ^ 1) if value else "x"
        case _:
            raise AssertionError(f"SQLite holds no {value!r}")


def failures_of(database: Path) -> list[str]:
    """The places a verification names; it has to fail."""
    ended = invoke(database, "verify", SLUG)
    assert ended.code == 1, ended
    report = ended.json
    assert report["ok"] is False
    assert report["contentChecksum"] is None
    assert report["failures"]
    assert all(failure["what"] for failure in report["failures"])
    return [failure["where"] for failure in report["failures"]]


def names_of(column: Column[Any]) -> str:
    return f"{column.table.name}.{column.name}"


@pytest.mark.parametrize("table", PROJECTIONS, ids=lambda table: table.name)
def test_a_change_to_a_projection_row_is_found(database: Path, table: Table) -> None:
    chosen = Random(SEED)
    with rows_of(database) as rows:
        for column in table.c:
            with rows.changed(column, one_bit, chosen):
                places = failures_of(database)
            assert all(place.split()[0] == table.name for place in places), names_of(column)
    assert invoked(database, "verify", SLUG)["ok"]


@pytest.mark.parametrize(
    "column",
    [*store_tables.commits.c, *(c for c in store_tables.heads.c if not c.primary_key)],
    ids=names_of,
)
def test_a_change_to_a_commit_or_the_head_is_found(database: Path, column: Column[Any]) -> None:
    with rows_of(database) as rows, rows.changed(column, one_bit, Random(SEED)) as row:
        places = failures_of(database)
    if names_of(column) == "heads.generation":
        # No row stands in that generation.
        assert {place.split()[0] for place in places} == {table.name for table in PROJECTIONS}
    elif column.table is store_tables.heads:
        assert places == ["head"]
    elif column.primary_key:
        # The commit is no longer there; the one behind it tells.
        assert any(place.startswith("revision ") for place in places), places
    else:
        assert any(f"revision {row['revision']}" in place for place in places), places
    assert invoked(database, "verify", SLUG)["ok"]


def test_a_knowledge_base_without_a_head_is_refused(database: Path) -> None:
    with rows_of(database) as rows, rows.changed(store_tables.heads.c.kb_id, one_bit, Random(SEED)):
        assert invoke(database, "verify", SLUG).error["code"] == "NOT_FOUND"


@pytest.mark.parametrize("column", [*store_tables.events.c], ids=names_of)
def test_a_change_to_an_event_is_found(database: Path, column: Column[Any]) -> None:
    with rows_of(database) as rows, rows.changed(column, one_bit, Random(SEED)) as row:
        places = failures_of(database)
        assert any(says(place, row["position"]) for place in places), places


def says(place: str, position: int) -> bool:
    """Whether a failure names an event, or a run of positions around it."""
    numbers = [int(word.rstrip(",")) for word in place.split() if word.rstrip(",").isdigit()]
    return "position" in place and numbers[-2:][0] <= position <= numbers[-1]


@pytest.mark.parametrize("column", [*store_tables.texts.c], ids=names_of)
def test_a_change_to_a_text_is_found(database: Path, column: Column[Any]) -> None:
    with rows_of(database) as rows, rows.changed(column, one_bit, Random(SEED)) as row:
        places = failures_of(database)
    assert f"text {UUID(bytes=row['text_id'])}" in places
    assert invoked(database, "verify", SLUG)["ok"]


@pytest.mark.parametrize(
    "column", [store_tables.events.c.payload, store_tables.texts.c.data], ids=names_of
)
def test_any_byte_that_changes_is_found(database: Path, column: Column[Any]) -> None:
    chosen = Random(SEED)

    def one_byte(value: Value) -> Value:
        assert isinstance(value, bytes)
        at = chosen.randrange(len(value))
        other = value[:at] + bytes([value[at] ^ chosen.randrange(1, 256)]) + value[at + 1 :]
        # A deflated text can be written in several ways; then it is the same text still.
        return value if is_same_text(value, other) else other

    with rows_of(database) as rows:
        for _ in range(25):
            with rows.changed(column, one_byte, chosen):
                assert failures_of(database)


def is_same_text(one: bytes, other: bytes) -> bool:
    try:
        return zlib.decompress(one) == zlib.decompress(other)
    except zlib.error:
        return False


@pytest.mark.parametrize(
    "table",
    [store_tables.events, store_tables.commits, store_tables.texts, *PROJECTIONS],
    ids=lambda table: table.name,
)
@pytest.mark.parametrize("end", ["ASC", "DESC"])
def test_a_row_that_is_gone_is_missed(database: Path, table: Table, end: str) -> None:
    keys = ", ".join(f'"{key.name}"' for key in table.primary_key.columns)
    order = ", ".join(f'"{key.name}" {end}' for key in table.primary_key.columns)
    with sqlite3.connect(database) as connection:
        connection.execute(
            f"DELETE FROM {table.name} WHERE ({keys}) IN "
            f"(SELECT {keys} FROM {table.name} ORDER BY {order} LIMIT 1)"
        )
    connection.close()
    assert failures_of(database)


def test_a_text_that_nothing_names_is_found(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute(
            "INSERT INTO texts SELECT kb_id, zeroblob(16), salt, deflated, data_crc32, data "
            "FROM texts LIMIT 1"
        )
    connection.close()
    assert failures_of(database) == [f"text {UUID(int=0)}"]


def test_the_command_line_says_where_and_ends_with_1(database: Path) -> None:
    with (
        rows_of(database) as rows,
        rows.changed(store_tables.events.c.payload, one_bit, Random(SEED)),
    ):
        failed = kbstore(database, "verify", SLUG)
        told = CliRunner().invoke(main, ["verify", SLUG, "--database", url_of(database)])
    assert failed.code == 1
    assert failed.json["failures"]
    assert told.exit_code == 1
    assert "FAILED revision " in told.stdout
    assert "NOT verified" in told.stdout
    passed = kbstore(database, "verify", SLUG)
    assert passed.code == 0
    assert passed.json["ok"] is True


def test_a_rebuild_mends_every_projection(database: Path) -> None:
    before = invoked(database, "verify", SLUG)
    chosen = Random(SEED)
    with rows_of(database) as rows:
        for table in PROJECTIONS:
            rows.change(list(table.c)[-1], one_bit, chosen)
        assert {place.split()[0] for place in failures_of(database)} == {
            table.name for table in PROJECTIONS
        }
    rebuilt = invoked(database, "rebuild", SLUG)
    assert rebuilt["revision"] == before["revision"]
    after = invoked(database, "verify", SLUG)
    assert after == before
    with sqlite3.connect(database) as connection:
        for table in PROJECTIONS:
            generations = connection.execute(f"SELECT DISTINCT generation FROM {table.name}")
            assert generations.fetchall() == [(rebuilt["generation"],)]
    connection.close()


def test_a_rebuild_does_not_hide_a_changed_log(database: Path) -> None:
    with rows_of(database) as rows, rows.changed(store_tables.texts.c.data, one_bit, Random(SEED)):
        invoke(database, "rebuild", SLUG)
        assert failures_of(database)
