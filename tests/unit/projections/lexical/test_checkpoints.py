"""An index that begins with checkpoints answers as one that is made of rows, whatever is wrong
with them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kbstore.errors import ProjectionBehindError, SearchTimeoutError
from kbstore.store.commits import Head
from kbstore.store.connection import Connection, Queryable
from kbstore.store.statements import Row, Statement, Values
from projections import rebuild as rebuild_module
from projections.lexical import checkpointing, checkpoints
from projections.lexical import index as module
from projections.lexical.checkpoint_tables import search_checkpoint_pieces, search_checkpoints
from projections.lexical.checkpoints import Stretch, write_checkpoint
from projections.lexical.documents import DocumentsPart
from projections.lexical.index import Deadline, Index, View
from projections.lexical.kept import forget_indexes
from projections.lexical.stored import FORMAT, decode_stretch, encode_stretch
from projections.pace import Pace
from projections.projector import Projections
from projections.rebuild import rebuild
from tests.backends import change, on_sqlite, query
from tests.unit.projections.history import History
from tests.unit.projections.lexical.test_index import SECONDS, head_of, pages_with, write
from tests.unit.projections.lexical.test_parts import tail_of

PIECE_BYTES = 300
WORDS = ["one", "two", "one two", "three", "one", "two", "four", "one"]
TABLES = (search_checkpoints, search_checkpoint_pieces)
COLUMNS = [
    (str(table.name), str(column.name))
    for table in TABLES
    for column in table.c
    if column.name != "data"
]
OTHERS = ("{} + 1", "{} - 1", "{} + 9000000", "'x'", "x''", "CAST({} || x'00' AS BLOB)")
"""What is put in the place of a value."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "TAIL_DOCUMENTS_MAX", 2)
    monkeypatch.setattr(module, "MERGED_DOCUMENTS_MAX", 4)
    monkeypatch.setattr(rebuild_module, "PIECE_BYTES_IN_FILE", PIECE_BYTES)
    monkeypatch.setattr(rebuild_module, "PIECE_BYTES_ON_SERVER", PIECE_BYTES)
    forget_indexes()
    yield
    forget_indexes()


@contextmanager
def undone(history: History) -> Iterator[None]:
    history.connection.begin_write()
    try:
        yield
    finally:
        history.connection.rollback()


class Counting:
    """A connection that counts the rows of `search_documents` that were read over it."""

    def __init__(self, connection: Queryable) -> None:
        self._connection = connection
        self.one = connection.one
        self.rows = 0

    def all(self, statement: Statement, values: Values) -> list[Row]:
        rows = self._connection.all(statement, values)
        if statement is module._ROWS:
            self.rows += len(rows)
        return rows


def looked(history: History, head: Head | None = None) -> tuple[View, dict[str, set[UUID]], int]:
    """A new index, the pages it finds for each word, and how many rows it read."""
    head = head or head_of(history)
    counting = Counting(history.connection)
    view = Index().view(counting, head, Deadline(SECONDS))
    assert view is not None
    found = {word: pages_with(view, head, word) for word in ("one", "two", "three", "new")}
    return view, found, counting.rows


def kept(history: History) -> dict[str, set[UUID]]:
    """Checkpoints of nine documents in three stretches; what searches find."""
    write(history, WORDS)
    rebuild(history.database, history.kb_id, Projections())
    assert query(
        history.connection,
        "SELECT first_document, documents FROM search_checkpoints ORDER BY first_document",
    ) == [(0, 4), (4, 4), (8, 1)]
    view = Index(is_of_rows=True).view(history.connection, head_of(history), Deadline(SECONDS))
    assert view is not None
    head = head_of(history)
    found = {word: pages_with(view, head, word) for word in ("one", "two", "three", "new")}
    assert found["one"]
    assert found["two"]
    return found


def test_a_start_reads_the_last_row_alone(history: History) -> None:
    expected = kept(history)
    view, found, rows = looked(history)
    assert found == expected
    # The position it goes on from is read again: more rows may have followed there.
    assert rows == 1
    assert [part.count for part in view.parts] == [4, 4, 1, 0]


def test_documents_are_those_of_the_rows(history: History) -> None:
    kept(history)
    page = history.create(scope="org:a", template="")
    history.create(parent=page, scope="org:a", body="new")
    history.note(page, "a note")
    rebuild(history.database, history.kb_id, Projections())
    head = head_of(history)
    views = []
    for is_of_rows in (True, False):
        view = Index(is_of_rows=is_of_rows).view(history.connection, head, Deadline(SECONDS))
        assert view is not None
        views.append(view.documents)
    for name in views[0].__struct_fields__:
        one, other = (getattr(view, name) for view in views)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            one, other = one.tolist(), other.tolist()
        assert one == other, name


def test_rows_that_came_later_are_followed(history: History) -> None:
    expected = kept(history)
    new = write(history, ["new one", "new"])
    _, found, rows = looked(history)
    assert found == {**expected, "one": expected["one"] | {new[0]}, "new": set(new)}
    assert rows == 1 + 3
    # Another rebuild keeps checkpoints of its generation alone.
    rebuild(history.database, history.kb_id, Projections())
    for table in TABLES:
        generations = query(history.connection, f"SELECT DISTINCT generation FROM {table.name}")
        assert generations == [(3,)]
    assert looked(history)[1:] == (found, 1)


@on_sqlite
def test_a_changed_column_costs_time_alone(history: History) -> None:
    expected = kept(history)
    for table, column in COLUMNS:
        for value in OTHERS:
            about = (table, column, value)
            to = value.format(f'"{column}"')
            with undone(history):
                assert change(
                    history.connection,
                    f'UPDATE OR REPLACE {table} SET "{column}" = {to}'
                    " WHERE rowid = (SELECT min(rowid) FROM "
                    f"{table} WHERE first_document = 4)",
                ), about
                view, found, _ = looked(history)
            assert found == expected, about
            assert view.parts[0].count == 4, "what stands before it is taken"
            assert view.parts[1].count < 4, about


@on_sqlite
def test_a_manifest_that_cannot_be_read_costs_time_alone(history: History) -> None:
    """Text that is not UTF-8: the driver reads no row at all."""
    expected = kept(history)
    change(history.connection, "UPDATE search_checkpoints SET digest = CAST(x'ff' AS TEXT)")
    assert looked(history)[1:] == (expected, 9)


@pytest.mark.parametrize("first", [0, 4, 8])
def test_a_flipped_byte_is_noticed(history: History, first: int) -> None:
    expected = kept(history)
    where = f"WHERE first_document = {first} AND piece = 0"
    [(data,)] = query(history.connection, f"SELECT data FROM search_checkpoint_pieces {where}")
    assert isinstance(data, bytes)
    for place in range(0, len(data), 7):
        forged = bytearray(data)
        forged[place] ^= 1 << place % 8
        with undone(history):
            change(
                history.connection,
                f"UPDATE search_checkpoint_pieces SET data = ? {where}",
                bytes(forged),
            )
            _, found, rows = looked(history)
        assert found == expected
        assert rows > 9 - first - 1


def test_a_lost_piece_or_manifest_is_noticed(history: History) -> None:
    expected = kept(history)
    change(
        history.connection,
        "DELETE FROM search_checkpoint_pieces WHERE first_document = 4 AND piece = 1",
    )
    _, found, rows = looked(history)
    assert (found, rows) == (expected, 1 + 5)
    change(history.connection, "DELETE FROM search_checkpoints WHERE first_document = 0")
    _, found, rows = looked(history)
    assert (found, rows) == (expected, 9)


def test_another_format_is_passed_over(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = kept(history)
    monkeypatch.setattr(checkpoints, "FORMAT", FORMAT + 1)
    assert looked(history)[1:] == (expected, 9)


def test_another_history_is_passed_over(history: History) -> None:
    """As where the rows of another copy of the knowledge base were put into this one."""
    expected = kept(history)
    other = "x'00'" if history.database.is_file else "'\\x00'::bytea"
    change(history.connection, f"UPDATE search_checkpoints SET digest = {other}")
    assert looked(history)[1:] == (expected, 9)


def test_a_reader_of_an_older_state_passes_over_what_is_newer(history: History) -> None:
    write(history, WORDS[:5])
    old = head_of(history)
    history_pages = looked(history)[1]
    write(history, WORDS)
    rebuild(history.database, history.kb_id, Projections())
    view, found, rows = looked(history, replace(old, generation=2))
    assert found == history_pages
    assert (view.parts[0].count, rows) == (4, 1 + 2)


def test_a_rebuild_that_was_killed_keeps_them_later(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(history, WORDS)
    expected = looked(history)[1]
    written: list[int] = []

    def die(
        connection: Connection, kb_id: UUID, generation: int, stretch: Stretch, *rest: object
    ) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(stretch.segment.first)
        write_checkpoint(connection, kb_id, generation, stretch, Pace(1, 0), PIECE_BYTES)

    monkeypatch.setattr(checkpointing, "write_checkpoint", die)
    with pytest.raises(KeyboardInterrupt):
        rebuild(history.database, history.kb_id, Projections())
    assert looked(history)[1:] == (expected, 1 + 5), "the first of them is whole"
    monkeypatch.setattr(checkpointing, "write_checkpoint", write_checkpoint)
    resumed = rebuild(history.database, history.kb_id, Projections())
    assert (resumed.generation, resumed.swap) == (2, None)
    assert looked(history)[1:] == (expected, 1)


def test_a_neighbour_keeps_its_own(history: History) -> None:
    expected = kept(history)
    neighbour = History(history.database, seed=5, connection=history.connection)
    write(neighbour, WORDS)
    rebuild(neighbour.database, neighbour.kb_id, Projections())
    rebuild(neighbour.database, neighbour.kb_id, Projections())
    assert looked(history)[1:] == (expected, 1)


def test_an_index_that_was_never_filled_says_so(history: History) -> None:
    """As in a store that a release without this index has written, after `kbstore migrate`."""
    pages = write(history, ["one", "two"])
    change(history.connection, "DELETE FROM search_documents")
    for _ in range(2):
        with pytest.raises(ProjectionBehindError, match="kbstore rebuild") as refused:
            looked(history)
        assert (refused.value.http_status, refused.value.code) == (503, "PROJECTION_BEHIND")
        # What is written since does not make up for what is missing.
        pages += write(history, ["two"])
    rebuild(history.database, history.kb_id, Projections())
    assert looked(history)[1]["two"] == {pages[1], *pages[2:]}


@on_sqlite
def test_loading_goes_on_where_the_deadline_ended_it(history: History) -> None:
    expected = kept(history)
    index, head = Index(), head_of(history)
    tries = 0
    view = None
    while view is None and tries < 10:
        tries += 1
        try:
            view = index.view(history.connection, head, Deadline(0.0))
        except SearchTimeoutError:
            continue
    assert view is not None
    assert tries == 4, "one stretch each time, then the rows"
    assert [part.count for part in view.parts] == [4, 4, 1, 0]
    assert pages_with(view, head, "one") == expected["one"]


@on_sqlite
def test_a_writer_goes_on_between_pieces(history: History) -> None:
    """No transaction spans two pieces, so nobody waits for more than one."""
    write(history, WORDS)
    lengths = []
    with closing(history.database.connect()) as target:
        begin = target.begin_write

        def begin_write(*, is_pipelined: bool = False) -> None:
            found = "SELECT count(*) FROM search_checkpoint_pieces"
            lengths.append(query(history.connection, found))
            begin(is_pipelined=is_pipelined)

        target.begin_write = begin_write  # type: ignore[method-assign]
        source = history.connection
        checkpointing.keep_checkpoints(source, target, history.kb_id, 1, Pace(1, 0), PIECE_BYTES)
    counts = [int(str(row[0][0])) for row in lengths]
    assert counts[-1] > 3
    assert all(0 <= later - earlier <= 1 for earlier, later in pairwise(counts))


@given(st.lists(st.text("abø数 \t", max_size=12), max_size=12))
def test_a_segment_comes_back_as_it_was(written: list[str]) -> None:
    segment = tail_of(written, first=3).part().sealed()
    part = DocumentsPart(b"", b"", ["org:a"], [], ["name", None], [b"1"])
    again, documents = decode_stretch(encode_stretch(segment, part))
    assert documents == part
    assert (again.first, again.count) == (3, len(written))
    assert again.vocabulary.terms() == segment.vocabulary.terms()
    for one, other in (
        (again.vocabulary.starts, segment.vocabulary.starts),
        (again.starts, segment.starts),
        (again.postings, segment.postings),
    ):
        assert one.tolist() == other.tolist()
