"""Verification: a sound store passes, and one changed byte anywhere does not."""

from uuid import uuid4

import pytest
from msgspec.structs import replace

from api.wiring import SCHEMA
from kbstore.errors import NotFoundError
from kbstore.store import tables as store_tables
from kbstore.store.connection import Connection
from kbstore.store.sqlite import SqliteConnection
from projections.checksum import TABLES, content_columns, table_checksums
from projections.content_checksum import content_checksum
from projections.projector import Projections
from projections.verify import Report, verify
from projections.verify_report import FAILURES_KEPT_MAX
from tests.backends import change, on_sqlite, query
from tests.unit.projections.history import History, Ticking
from tests.unit.projections.rows import change_last
from tests.unit.projections.sample_history import write_sample


@pytest.fixture
def sample(history: History) -> History:
    write_sample(history)
    return history


def checked(history: History) -> Report:
    return verify(history.database, history.kb_id, Projections())


def failures(history: History) -> list[tuple[str, str]]:
    return [(failure.what, failure.where) for failure in checked(history).failures]


def damage(history: History, sql: str, *values: object) -> None:
    assert change(history.connection, sql, *values) > 0


def everything(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    """All there is, in no order."""
    tables = [table.name for metadata in SCHEMA for table in metadata.sorted_tables]
    return {name: sorted(query(connection, f"SELECT * FROM {name}"), key=repr) for name in tables}


# --- a sound store --------------------------------------------------------------------------


def test_a_sound_store_passes_and_is_left_as_it_was(sample: History) -> None:
    before = everything(sample.connection)
    report = checked(sample)
    assert report.failures == ()
    assert report.failed == 0
    assert report.revision == sample.revision
    assert query(sample.connection, "SELECT position FROM heads") == [(report.events,)]
    assert report.checksum == table_checksums(sample.connection, sample.kb_id, 1).checksum
    assert report.content_checksum == content_checksum(sample.connection, sample.kb_id, 1)
    assert everything(sample.connection) == before


def test_an_empty_knowledge_base_passes(history: History) -> None:
    report = checked(history)
    assert (report.failed, report.revision, report.events) == (0, 0, 0)


def test_a_neighbour_in_the_same_file_plays_no_part(sample: History) -> None:
    neighbour = History(sample.database, seed=5, connection=sample.connection)
    write_sample(neighbour)
    sql = "UPDATE events SET payload = ? WHERE kb_id = ?"
    damage(sample, sql, b"\x80", neighbour.kb_id.bytes)
    assert failures(sample) == []
    assert failures(neighbour) != []


def test_an_unknown_knowledge_base_is_not_found(history: History) -> None:
    with pytest.raises(NotFoundError):
        verify(history.database, uuid4(), Projections())


def test_progress_hears_of_every_revision(sample: History) -> None:
    heard: list[tuple[int, int | None]] = []
    verify(
        sample.database,
        sample.kb_id,
        Projections(),
        lambda done, total: heard.append((done, total)),
    )
    assert heard[-1] == (sample.revision, sample.revision)


# --- one changed byte ------------------------------------------------------------------------

LOG_COLUMNS = [
    (name, column.name)
    for name in ("commits", "events", "texts", "heads")
    for column in store_tables.metadata.tables[name].c
    if column.name != "kb_id"
]
ROW_COLUMNS = [(str(t.name), str(c.name)) for t in TABLES for c in content_columns(t)]


@pytest.mark.parametrize(("table", "column"), [*LOG_COLUMNS, *ROW_COLUMNS])
def test_a_changed_byte_of_any_column_is_found(sample: History, table: str, column: str) -> None:
    table_of = {**store_tables.metadata.tables, **{str(t.name): t for t in TABLES}}
    change_last(sample, table_of[table], column)
    assert failures(sample) != []


@on_sqlite
@pytest.mark.parametrize("bit", range(8))
def test_any_bit_of_any_byte_of_the_log_counts(sample: History, bit: int) -> None:
    """Byte by byte through one commit, its events and their texts."""
    for table, column in (("events", "payload"), ("texts", "data"), ("commits", "digest")):
        select = f"SELECT {column} FROM {table} ORDER BY length({column}) LIMIT 1"
        update = f"UPDATE {table} SET {column} = ? WHERE {column} = ?"
        ((whole,),) = query(sample.connection, select)
        assert isinstance(whole, bytes)
        for index in range(0, len(whole), 3):
            changed = bytearray(whole)
            changed[index] ^= 1 << bit
            damage(sample, update, bytes(changed), whole)
            assert checked(sample).failed > 0, (table, column, index)
            damage(sample, update, whole, bytes(changed))
    assert failures(sample) == []


# --- what is wrong, and where ----------------------------------------------------------------


def test_a_changed_event_is_found_in_its_commit(sample: History) -> None:
    damage(sample, "UPDATE events SET originator_version = 9 WHERE position = 5")
    found = failures(sample)
    assert found == [
        (
            "the digest does not match the commit and its events",
            "revision 5, positions 5 to 5",
        )
    ]


def test_an_event_that_cannot_be_read_is_named(sample: History) -> None:
    damage(sample, "UPDATE events SET payload = ? WHERE position = 5", b"\x80")
    damage(sample, "UPDATE events SET topic = 'page.imagined' WHERE position = 6")
    named = {where: what for what, where in failures(sample) if where.startswith("position ")}
    assert "cannot be read" in named["position 5"]
    assert "page.imagined" in named["position 6"]


@on_sqlite
def test_a_text_column_that_is_no_utf8_is_reported_and_not_raised(sample: History) -> None:
    damage(sample, "UPDATE commits SET actor = CAST(x'ff' AS TEXT) WHERE revision = 4")
    assert [where for _, where in failures(sample)] == ["revision 4, positions 4 to 4"]
    reader = sample.database.reader()
    assert isinstance(reader, SqliteConnection)
    assert reader.raw.text_factory is str


def test_a_missing_event_is_named(sample: History) -> None:
    damage(sample, "DELETE FROM events WHERE position = 5")
    assert ("no event stands there", "positions 5 to 5") in failures(sample)


def test_an_event_outside_any_commit_is_named(sample: History) -> None:
    damage(
        sample,
        "INSERT INTO events SELECT kb_id, 1000, originator_id, 1000, topic, payload"
        " FROM events WHERE position = 3",
    )
    assert ("no commit holds this event", "position 1000") in failures(sample)


def test_a_missing_commit_is_named(sample: History) -> None:
    damage(sample, "DELETE FROM commits WHERE revision = 4")
    found = failures(sample)
    assert ("revision 4 is missing before it", "revision 5") in found
    assert ("no commit holds this event", "position 4") in found


def test_a_last_commit_that_is_cut_off_contradicts_the_head(sample: History) -> None:
    last = sample.revision
    damage(sample, "DELETE FROM commits WHERE revision = ?", last)
    damage(sample, "DELETE FROM events WHERE position = (SELECT max(position) FROM events)")
    heads = [what for what, where in failures(sample) if where == "head"]
    assert f"revision is {last}, but the last commit leaves {last - 1}" in heads


def test_a_commit_that_claims_countless_events_is_told_in_one_failure(sample: History) -> None:
    damage(sample, "UPDATE commits SET event_count = ? WHERE revision = 3", 2**50)
    assert checked(sample).failed < 100


def test_a_missing_text_is_named_with_its_event(sample: History) -> None:
    name = next(iter(sample.states.pages.values())).name_ref
    assert name is not None
    damage(sample, "DELETE FROM texts WHERE text_id = ?", name.text_id.bytes)
    assert failures(sample) == [
        ("the text that position 3 names is missing", f"text {name.text_id}")
    ]


def test_a_text_that_no_event_names_is_named(sample: History) -> None:
    for number in (1, 255):
        stray = bytes([number] * 16)
        damage(
            sample,
            "INSERT INTO texts SELECT kb_id, ?, salt, deflated, data_crc32, data "
            "FROM texts LIMIT 1",
            stray,
        )
    found = failures(sample)
    assert [what for what, _ in found] == ["no event names this text"] * 2
    assert found[0][1] == "text 01010101-0101-0101-0101-010101010101"


def test_a_text_that_cannot_be_inflated_is_named(sample: History) -> None:
    texts = query(sample.connection, "SELECT text_id, data FROM texts WHERE deflated = ?", True)
    for text_id, data in texts:
        assert isinstance(data, bytes)
        damage(sample, "UPDATE texts SET data = ? WHERE text_id = ?", b"\0" + data, text_id)
    assert {what.split(" position")[0] for what, _ in failures(sample)} == {
        "the text is not the one"
    }


@on_sqlite
def test_a_text_is_deflated_or_not_and_nothing_else(sample: History) -> None:
    damage(sample, "UPDATE texts SET deflated = 3 WHERE deflated = 1")
    assert checked(sample).failed > 0


@pytest.mark.parametrize(
    ("tampered", "what"),
    [
        ("position = position + 5", "its events do not begin at position 3"),
        ("revision = revision + 1", "revision 3 is missing before it"),
        ("committed_at = 0", "the commit is older than the one before it"),
    ],
)
def test_a_gap_is_found_where_the_digests_cover_it(
    history: History, tampered: str, what: str
) -> None:
    """A commit written over a head that somebody had changed."""
    history.create()
    history.create(scope="team:acme:support")
    damage(history, f"UPDATE heads SET {tampered}")
    history.clock = Ticking(0)
    history.create(scope="org:rival")
    assert [found for found, _ in failures(history)] == [what]


def test_a_row_that_differs_is_named_with_its_columns(sample: History) -> None:
    page = next(p for p in sample.states.pages.values() if p.name == "EU")
    damage(
        sample,
        "UPDATE page_versions SET name = 'UK' WHERE page_id = ? AND version = 1",
        page.page_id.bytes,
    )
    found = failures(sample)
    assert all(what == "replaying gives another name" for what, _ in found)
    assert found[0][1].startswith(f"page_versions page_id={page.page_id} to_revision=")


def test_a_row_too_many_and_a_row_too_few_are_named(sample: History) -> None:
    damage(sample, "INSERT INTO scopes SELECT kb_id, 1, 'org:rival', 1 FROM heads")
    damage(sample, "DELETE FROM scopes WHERE scope = 'org:acme'")
    assert failures(sample) == [
        ("replaying gives no such row", "scopes scope=org:rival"),
        ("a row that replaying gives is missing", "scopes scope=org:acme"),
    ]


def test_a_torn_store_is_reported_up_to_a_limit(history: History) -> None:
    with history.commit():
        for number in range(FAILURES_KEPT_MAX + 20):
            history.create(scope=f"org:o{number}")
    damage(history, "DELETE FROM texts")
    report = checked(history)
    assert len(report.failures) == FAILURES_KEPT_MAX
    assert report.failed == FAILURES_KEPT_MAX + 20
    assert report.content_checksum is None


def test_a_log_no_projection_can_follow_is_a_failure(history: History) -> None:
    """Sound digests around an event that the rules would never have let in."""
    history.projections = _Blind()
    page = history.create()
    history.states.versions[page] = 4
    history.states.pages[page] = replace(history.page(page), version=4)
    history.edit(page, name="Impossible")
    found = failures(history)
    assert len(found) == 1
    assert found[0][1] == "replay"


class _Blind(Projections):
    """Projects nothing."""

    def apply(self, *arguments: object) -> None:
        return
