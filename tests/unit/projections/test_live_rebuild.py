"""A rebuild beside writers and readers, killed anywhere and started again."""

from collections.abc import Callable
from contextlib import closing
from uuid import UUID

import pytest

from kbstore.access import Caller
from kbstore.errors import DatabaseInUseError, StoreError
from kbstore.store.heads import read_head
from projections import generation_progress
from projections import rebuild as module
from projections.checksum import table_checksums
from projections.generation_filling import Filler
from projections.generation_progress import (
    Filled,
    begin_filling,
    find_filled,
    keep_filled,
    lock_filled,
)
from projections.pace import Pace
from projections.projector import Projections
from projections.rebuild import Rebuilt, rebuild
from projections.snapshot import open_snapshot
from projections.verify import verify
from tests.backends import change, query
from tests.unit.projections.history import History, open_database
from tests.unit.projections.rows import all_rows
from tests.unit.projections.sample_history import write_sample

ONE_STRETCH_A_BATCH = Pace(0, 0)
AUDITOR = Caller(principal="user:ana", grants=frozenset({"auditor"}))


class Killed(BaseException):
    """What a test ends a rebuild with, at a moment of its choice."""


@pytest.fixture(autouse=True)
def short_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "pace_of", lambda database: ONE_STRETCH_A_BATCH)


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The positions that were projected into a generation being filled."""
    positions: list[int] = []
    apply = Filler._apply

    def noted(self: Filler, filled: Filled, part: object) -> Filled:
        reached = apply(self, filled, part)  # type: ignore[arg-type]
        positions.extend(range(filled.position + 1, reached.position + 1))
        return reached

    monkeypatch.setattr(Filler, "_apply", noted)
    return positions


def generation(history: History) -> int:
    head = read_head(history.connection, history.kb_id)
    assert head is not None
    return head.generation


def run(history: History) -> Rebuilt:
    return rebuild(history.database, history.kb_id, Projections())


def killed_at(revision: int) -> Callable[[int, int | None], None]:
    def progress(done: int, total: int | None) -> None:
        if done >= revision:
            raise Killed

    return progress


def run_until(history: History, revision: int) -> None:
    with pytest.raises(Killed):
        rebuild(history.database, history.kb_id, Projections(), killed_at(revision))


def check_sound(history: History) -> None:
    assert verify(history.database, history.kb_id, Projections()).failures == ()


def test_a_killed_rebuild_goes_on_where_it_was(history: History, applied: list[int]) -> None:
    write_sample(history)
    before = all_rows(history.connection, history.kb_id, 1)
    last = history.revision
    for revision in (3, 9, last - 1):
        run_until(history, revision)
        mark = find_filled(history.connection, history.kb_id)
        assert mark is not None
        assert (mark.generation, mark.revision) == (2, revision)
        assert generation(history) == 1
        assert all_rows(history.connection, history.kb_id, 1) == before
    built = run(history)
    assert (built.generation, built.revision, built.resumed_from) == (2, last, last - 1)
    # Nothing was projected twice.
    assert applied == list(range(1, applied[-1] + 1))
    assert all_rows(history.connection, history.kb_id, 2) == before
    assert not any(all_rows(history.connection, history.kb_id, 1).values())
    assert find_filled(history.connection, history.kb_id) is None
    check_sound(history)


def test_a_large_commit_is_spread_over_batches(history: History, applied: list[int]) -> None:
    history.found()
    with history.commit():
        top = history.create(name="Top")
        for number in range(200):
            history.create(parent=top, key=f"k{number}", name=f"Page {number}")
    history.create(scope="org:rival")
    before = all_rows(history.connection, history.kb_id, 1)
    places: list[tuple[int, int]] = []

    def progress(done: int, total: int | None) -> None:
        mark = find_filled(history.connection, history.kb_id)
        assert mark is not None
        places.append((mark.revision, mark.position))
        if len(places) == 4:
            raise Killed

    with pytest.raises(Killed):
        rebuild(history.database, history.kb_id, Projections(), progress)
    # Revision 2 holds most events: it is not whole, but a part of it is kept.
    assert places[-1][0] == 1
    assert 1 < places[-1][1] < 200
    assert run(history).resumed_from == 1
    assert applied == list(range(1, applied[-1] + 1))
    assert all_rows(history.connection, history.kb_id, 2) == before
    check_sound(history)


def test_another_program_begins_anew(
    history: History, applied: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(history)
    before = all_rows(history.connection, history.kb_id, 1)
    run_until(history, 9)
    applied.clear()
    monkeypatch.setattr(generation_progress, "program", lambda: "another")
    assert run(history).resumed_from is None
    assert applied[0] == 1
    assert all_rows(history.connection, history.kb_id, 2) == before


def test_a_rebuild_killed_while_it_clears_begins_anew(
    history: History, applied: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(history)
    run_until(history, 9)

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(generation_progress, "program", lambda: "another")
        patch.setattr(module, "delete_other_generations", killed)
        with pytest.raises(Killed):
            run(history)
    # The first program must not take the rows that are half gone for its own.
    applied.clear()
    assert run(history).resumed_from is None
    assert applied[0] == 1
    check_sound(history)


def test_a_rebuild_killed_as_it_takes_over_goes_on(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(history)
    before = all_rows(history.connection, history.kb_id, 1)
    keep, last = keep_filled, history.revision

    def killed(connection: object, filled: Filled) -> None:
        raise Killed

    monkeypatch.setattr(module, "keep_filled", killed)
    with pytest.raises(Killed):
        run(history)
    assert generation(history) == 1
    monkeypatch.setattr(module, "keep_filled", keep)
    built = run(history)
    assert (built.resumed_from, built.revision) == (last, last)
    assert all_rows(history.connection, history.kb_id, 2) == before


def test_a_rebuild_killed_while_it_deletes_goes_on_deleting(
    history: History, applied: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(history)
    before = all_rows(history.connection, history.kb_id, 1)
    calls = []

    def killed(*arguments: object, **named: object) -> None:
        calls.append(arguments)
        if len(calls) == 2:  # The first call clears before the rebuild begins.
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, "delete_other_generations", killed)
        with pytest.raises(Killed):
            run(history)
    assert generation(history) == 2
    history.create(scope="org:later")
    applied.clear()
    built = run(history)
    assert (built.generation, built.swap, built.resumed_from) == (2, None, None)
    assert applied == []
    assert not any(all_rows(history.connection, history.kb_id, 1).values())
    check_sound(history)
    assert run(history).generation == 3
    assert before.keys() == all_rows(history.connection, history.kb_id, 3).keys()


def test_commits_written_meanwhile_are_caught_up_with(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REBUILD_REST_EVENTS_MAX", 0)
    write_sample(history)
    written: list[UUID] = []

    def progress(done: int, total: int | None) -> None:
        if len(written) < 50:
            written.append(history.create(scope=f"org:late{len(written)}"))

    built = rebuild(history.database, history.kb_id, Projections(), progress)
    assert len(written) == 50
    assert (built.generation, built.revision) == (2, history.revision)
    assert built.swap is not None
    assert built.swap.events == 0
    check_sound(history)


def test_the_swap_takes_what_little_is_left(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(history)
    fill = Filler.fill
    left = [5, 2]

    def fill_and_write(*arguments: object) -> Filled:
        filled = fill(*arguments)  # type: ignore[arg-type]
        for _ in range(left.pop(0)):
            history.create(scope="org:late")
        return filled

    monkeypatch.setattr(Filler, "fill", fill_and_write)
    monkeypatch.setattr(module, "REBUILD_REST_EVENTS_MAX", 2)
    built = run(history)
    assert left == []
    assert built.swap is not None
    assert built.swap.events == 2
    assert built.swap.milliseconds > 0
    check_sound(history)


def test_writers_that_are_faster_are_told_of_and_lose_nothing(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(history)
    fill = Filler.fill

    def fill_and_write(*arguments: object) -> Filled:
        filled = fill(*arguments)  # type: ignore[arg-type]
        for _ in range(3):
            history.create(scope="org:late")
        return filled

    with monkeypatch.context() as patch:
        patch.setattr(Filler, "fill", fill_and_write)
        patch.setattr(module, "REBUILD_REST_EVENTS_MAX", 1)
        patch.setattr(module, "REBUILD_PASSES_MAX", 4)
        patch.setattr(module, "REBUILD_LAST_REST_EVENTS_MAX", 2)
        with pytest.raises(StoreError, match="Writers are faster"):
            run(history)
        assert generation(history) == 1
        filled = find_filled(history.connection, history.kb_id)
        assert filled is not None
        assert filled.revision == history.revision - 3
        # A larger rest is taken when nothing else helps, and told.
        patch.setattr(module, "REBUILD_LAST_REST_EVENTS_MAX", 3)
        built = run(history)
    assert built.resumed_from == filled.revision
    assert built.swap is not None
    assert built.swap.events == 3
    check_sound(history)


def test_nobody_fills_a_generation_beside_another(history: History) -> None:
    write_sample(history)
    mark = begin_filling(history.connection, history.kb_id, 2)
    with history.connection.writing():
        lock_filled(history.connection, mark)
        keep_filled(
            history.connection,
            Filled(kb_id=mark.kb_id, generation=2, revision=4, position=5, program=mark.program),
        )
    with pytest.raises(DatabaseInUseError), history.connection.writing():
        lock_filled(history.connection, mark)
    assert not history.connection.in_transaction


def test_another_knowledge_base_of_a_server_may_be_rebuilt_meanwhile(history: History) -> None:
    write_sample(history)
    neighbour = History(history.database, seed=5, connection=history.connection)
    write_sample(neighbour)
    with (
        closing(open_database(history.database.url)) as other,
        other.alone("rebuilding", neighbour.kb_id),
    ):
        if history.database.is_file:
            with pytest.raises(DatabaseInUseError):
                run(history)
        else:
            assert run(history).generation == 2


def test_who_reads_the_old_generation_goes_on_seeing_it(history: History) -> None:
    write_sample(history)
    before = all_rows(history.connection, history.kb_id, 1)
    with closing(history.database.connect_reader()) as reader, reader.reading():
        snapshot = open_snapshot(reader, history.kb_id, AUDITOR)
        assert run(history).generation == 2
        assert not any(all_rows(history.connection, history.kb_id, 1).values())
        assert snapshot.generation == 1
        assert all_rows(reader, history.kb_id, 1) == before
        assert open_snapshot(reader, history.kb_id, AUDITOR).generation == 1
    with closing(history.database.connect_reader()) as reader, reader.reading():
        assert open_snapshot(reader, history.kb_id, AUDITOR).generation == 2


def test_what_was_read_from_damaged_rows_is_not_kept(history: History) -> None:
    write_sample(history)
    sql = "DELETE FROM scopes WHERE kb_id = ? AND scope = ?"
    assert change(history.connection, sql, history.kb_id.bytes, "team:acme:support") == 1

    def scopes() -> frozenset[str]:
        with closing(history.database.connect_reader()) as reader, reader.reading():
            return open_snapshot(reader, history.kb_id, AUDITOR).scopes_written

    assert scopes() == {"org:acme"}
    run(history)
    assert scopes() == {"org:acme", "team:acme:support"}


def test_the_mark_is_no_part_of_the_checksum(history: History) -> None:
    write_sample(history)
    before = table_checksums(history.connection, history.kb_id, 1)
    run_until(history, 9)
    assert table_checksums(history.connection, history.kb_id, 1) == before
    check_sound(history)
    run(history)
    assert table_checksums(history.connection, history.kb_id, 2) == before


def test_a_gap_in_the_log_ends_the_rebuild(history: History) -> None:
    write_sample(history)
    sql = "DELETE FROM events WHERE kb_id = ? AND position = 7"
    assert change(history.connection, sql, history.kb_id.bytes) == 1
    with pytest.raises(StoreError, match="nothing at position 7"):
        run(history)
    assert generation(history) == 1
    sql = "SELECT count(*) FROM rebuilds WHERE kb_id = ?"
    assert query(history.connection, sql, history.kb_id.bytes) == [(1,)]
