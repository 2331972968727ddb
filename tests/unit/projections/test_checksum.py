"""Checksums tell apart what differs, and the content's alone what differs in substance."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from projections.checksum import TABLES, RowSum, content_columns, table_checksums
from projections.content_checksum import content_checksum
from tests.backends import Databases
from tests.unit.projections.history import History, open_database
from tests.unit.projections.rows import change_last
from tests.unit.projections.sample_history import write_sample

COLUMNS = [(str(t.name), str(c.name)) for t in TABLES for c in content_columns(t)]
LEFT_OUT_OF_CONTENT = {"created_at", "updated_at", "ranked_at"}


@pytest.fixture
def sample(history: History) -> History:
    write_sample(history)
    return history


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_changed_value_changes_the_tables_checksum_alone(
    sample: History, table: str, column: str
) -> None:
    before = table_checksums(sample.connection, sample.kb_id, 1)
    content = content_checksum(sample.connection, sample.kb_id, 1)
    change_last(sample, next(t for t in TABLES if t.name == table), column)
    after = table_checksums(sample.connection, sample.kb_id, 1)
    assert {n for n in before.tables if before.tables[n] != after.tables[n]} == {table}
    assert before.checksum != after.checksum
    if not column.endswith(("_ref", "links")):
        changed = content_checksum(sample.connection, sample.kb_id, 1) != content
        assert changed == (column not in LEFT_OUT_OF_CONTENT)


SampleOf = Callable[[int, Callable[[History], None]], History]


@pytest.fixture
def sample_of(databases: Databases) -> Iterator[SampleOf]:
    """Makes a history of a seed in a database of its own."""
    with ExitStack() as opened:

        def make(seed: int, write: Callable[[History], None]) -> History:
            url = opened.enter_context(databases.lent())
            history = History(opened.enter_context(closing(open_database(url))), seed)
            opened.callback(history.connection.close)
            write(history)
            return history

        yield make


def test_the_same_history_under_other_ids_and_times_has_the_same_content(
    sample_of: SampleOf,
) -> None:
    one = sample_of(1, write_sample)
    two = sample_of(2, write_sample)
    assert one.kb_id != two.kb_id
    sums = [table_checksums(h.connection, h.kb_id, 1).checksum for h in (one, two)]
    assert sums[0] != sums[1]
    contents = [content_checksum(h.connection, h.kb_id, 1) for h in (one, two)]
    assert contents[0] == contents[1]


def test_another_body_is_another_content(sample_of: SampleOf) -> None:
    def write(body: str) -> Callable[[History], None]:
        return lambda history: history.edit(history.create(), body=body)

    one = sample_of(1, write("Thirty days."))
    two = sample_of(1, write("Forty days.."))
    contents = [content_checksum(h.connection, h.kb_id, 1) for h in (one, two)]
    assert contents[0] != contents[1]


def test_a_link_to_another_page_is_another_content(sample_of: SampleOf) -> None:
    def write(target: int) -> Callable[[History], None]:
        def written(history: History) -> None:
            pages = [history.create(), history.create(scope="team:acme:support")]
            history.edit(pages[0], body="x", links=[("wiki", "A", 1)], bound={0: pages[target]})

        return written

    one = sample_of(1, write(0))
    two = sample_of(1, write(1))
    contents = [content_checksum(h.connection, h.kb_id, 1) for h in (one, two)]
    assert contents[0] != contents[1]


def test_another_generation_has_rows_of_its_own(sample: History) -> None:
    empty = table_checksums(sample.connection, sample.kb_id, 2)
    assert set(empty.tables.values()) == {"0" * 64}


def test_rows_count_in_any_order_and_as_often_as_they_are_there() -> None:
    def summed(*rows: object) -> str:
        row_sum = RowSum()
        for row in rows:
            row_sum.add(row)
        return row_sum.hexdigest()

    assert summed((1, "a"), (2, None)) == summed((2, None), (1, "a"))
    assert summed((1, "a")) != summed((1, "a"), (1, "a"))
    assert summed(("1",)) != summed((1,)) != summed((b"1",))
