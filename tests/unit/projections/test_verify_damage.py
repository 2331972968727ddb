"""Damage that is no other value of the same kind: verification reports it and does not fall."""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import LargeBinary, Text

from api.wiring import SCHEMA, locate_database
from kbstore.errors import StoreError
from kbstore.store import tables as store_tables
from kbstore.store.heads import committed_digest, read_head
from projections.checksum import TABLES, content_columns
from projections.projector import Projections
from projections.verify import Report, verify
from projections.verify_report import FAILURES_KEPT_MAX
from tests.backends import change, on_sqlite, query
from tests.unit.projections.history import History, open_database
from tests.unit.projections.sample_history import write_sample

LOG = ("commits", "events", "texts", "heads")
COLUMNS = [
    (name, str(column.name))
    for name in LOG
    for column in store_tables.metadata.tables[name].c
    if column.name != "kb_id"
] + [(str(table.name), str(column.name)) for table in TABLES for column in content_columns(table)]
ALL = {table.name: table for metadata in SCHEMA for table in metadata.sorted_tables}
IDS_AND_DIGESTS = [
    (table, column)
    for table, column in COLUMNS
    if isinstance(kind := ALL[table].c[column].type, LargeBinary) and kind.length is not None
]
FLIPS = 25
PAGE_BYTES = 4_096
INTERIOR_PAGE = 5
"""How a page of a table that leads to others begins."""


@pytest.fixture
def sample(history: History) -> History:
    write_sample(history)
    return history


def checked(history: History) -> Report:
    return verify(history.database, history.kb_id, Projections())


@on_sqlite
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_value_of_another_storage_class_is_found(
    sample: History, table: str, column: str
) -> None:
    kind = ALL[table].c[column].type
    if isinstance(kind, LargeBinary):
        other = f'hex("{column}")'
    elif isinstance(kind, Text):
        other = f'CAST("{column}" AS BLOB)'
    else:
        other = f'"{column}" + 0.5'
    keys = ", ".join(f'"{key.name}"' for key in ALL[table].primary_key.columns)
    one = f'SELECT {keys} FROM {table} WHERE "{column}" IS NOT NULL LIMIT 1'
    sql = f'UPDATE {table} SET "{column}" = {other} WHERE ({keys}) = ({one})'
    assert change(sample.connection, sql) == 1
    report = checked(sample)
    assert [failure for failure in report.failures if column in failure.what]
    assert report.content_checksum is None


@pytest.mark.parametrize(("table", "column"), IDS_AND_DIGESTS)
def test_an_id_or_a_digest_of_another_length_is_found(
    sample: History, table: str, column: str
) -> None:
    (longest,) = query(
        sample.connection, f"SELECT max({column}) FROM {table} WHERE {column} IS NOT NULL"
    )[0]
    assert isinstance(longest, bytes)
    sql = f"UPDATE {table} SET {column} = ? WHERE {column} = ?"
    assert change(sample.connection, sql, longest[:-1], longest) > 0
    found = [failure.what for failure in checked(sample).failures]
    assert f"no such value can stand in {column}" in found


@on_sqlite
@pytest.mark.parametrize(("column", "value"), [("revision", 18.5), ("digest", "text")])
def test_a_head_that_says_no_such_thing_is_refused(
    sample: History, column: str, value: object
) -> None:
    change(sample.connection, f"UPDATE heads SET {column} = ?", value)
    with pytest.raises(StoreError, match="kbstore verify"):
        read_head(sample.connection, sample.kb_id)
    report = checked(sample)
    assert [failure.where for failure in report.failures] == ["heads"]
    assert (report.revision, report.events, report.checksum) == (0, 0, None)


@on_sqlite
def test_a_digest_that_is_none_is_refused(sample: History) -> None:
    change(sample.connection, "UPDATE commits SET digest = 'text' WHERE revision = 3")
    with pytest.raises(StoreError, match="kbstore verify"):
        committed_digest(sample.connection, sample.kb_id, 3)
    where = {failure.where for failure in checked(sample).failures}
    assert where == {"commits revision=3"}


@on_sqlite
def test_wrong_values_are_listed_up_to_a_limit(history: History) -> None:
    with history.commit():
        for number in range(FAILURES_KEPT_MAX + 20):
            history.create(scope=f"org:o{number}")
    change(history.connection, "UPDATE scopes SET scope = CAST(scope AS BLOB)")
    report = checked(history)
    assert len(report.failures) == FAILURES_KEPT_MAX
    assert report.failed == FAILURES_KEPT_MAX + 20


def test_values_of_a_neighbour_and_of_other_generations_play_no_part(sample: History) -> None:
    neighbour = History(sample.database, seed=5, connection=sample.connection)
    write_sample(neighbour)
    for sql in (
        "UPDATE commits SET digest = ? WHERE kb_id = ?",
        "UPDATE scopes SET generation = 2, scope = scope || ? WHERE kb_id = ?",
    ):
        value: object = b"\x01" if "digest" in sql else "x"
        assert change(sample.connection, sql, value, neighbour.kb_id.bytes) > 0
    assert checked(sample).failures == ()
    found = verify(sample.database, neighbour.kb_id, Projections()).failures
    assert {failure.where.split()[0] for failure in found} == {"commits"}


# --- the file ---------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> tuple[Path, History]:
    """A file that nobody has open, and whose history it holds."""
    with closing(open_database(f"sqlite:///{tmp_path / 'kb.db'}")) as database:
        history = History(database)
        write_sample(history)
        history.connection.close()
    return tmp_path / "kb.db", history


def verified(path: Path, history: History) -> Report:
    with closing(locate_database(f"sqlite:///{path}")) as database:
        return verify(database, history.kb_id, Projections())


def leaf_of_index(path: Path, name: str) -> tuple[int, int]:
    """Where the only page of a small index begins and ends in the file."""
    with closing(sqlite3.connect(path)) as raw:
        ((root,),) = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,))
        ((size,),) = raw.execute("PRAGMA page_size")
    return (root - 1) * size, root * size


def schema_pages(content: bytes) -> set[int]:
    """The pages of the schema, counted from 0: the first one, and those it leads to."""
    kind, cells = content[100], int.from_bytes(content[103:105], "big")
    assert kind == INTERIOR_PAGE, "the schema takes more than a page"
    places = [int.from_bytes(content[112 + 2 * n : 114 + 2 * n], "big") for n in range(cells)]
    numbers = [int.from_bytes(content[at : at + 4], "big") for at in (108, *places)]
    return {0, *(number - 1 for number in numbers)}


def test_a_bit_flipped_in_an_index_is_found(file: tuple[Path, History]) -> None:
    """Every row stands as it did; what goes by the index would miss one."""
    path, history = file
    assert verified(path, history).failures == ()
    begin, end = leaf_of_index(path, "page_versions_children")
    parent = next(p.parent_id for p in history.states.pages.values() if p.parent_id is not None)
    content = bytearray(path.read_bytes())
    at = content.index(parent.bytes, begin, end)
    content[at + 15] ^= 1
    path.write_bytes(content)
    report = verified(path, history)
    assert {failure.where for failure in report.failures} == {"file"}
    assert any("page_versions_children" in failure.what for failure in report.failures)
    # The rows were looked at all the same.
    assert report.events > 0
    assert report.checksum is not None
    assert report.content_checksum is None


def test_no_flipped_bit_is_raised(file: tuple[Path, History]) -> None:
    """Whatever page it is in, the schema apart, without which nothing can be opened."""
    path, history = file
    sound = path.read_bytes()
    begin, _ = leaf_of_index(path, "page_versions_children")
    chosen = Random(4)
    schema = schema_pages(sound)
    used = [at for at in range(begin, len(sound)) if sound[at] and at // PAGE_BYTES not in schema]
    found = 0
    for _ in range(FLIPS):
        content = bytearray(sound)
        content[chosen.choice(used)] ^= 1 << chosen.randrange(8)
        path.write_bytes(content)
        found += verified(path, history).failed > 0
    assert found > FLIPS // 2
