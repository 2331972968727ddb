"""Rebuilding: another generation with the same rows, whatever a killed one left."""

import fcntl
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from kbstore.errors import DatabaseInUseError, NotFoundError
from kbstore.store.heads import read_head
from projections import rebuild as module
from projections.checksum import TABLES
from projections.projector import Projections
from projections.rebuild import rebuild
from projections.replay import replay
from projections.verify import verify
from tests.unit.projections.history import History
from tests.unit.projections.rows import all_rows
from tests.unit.projections.sample_history import write_sample


def generation(history: History) -> int:
    head = read_head(history.connection, history.kb_id)
    assert head is not None
    return head.generation


def test_a_rebuild_takes_over_with_the_same_rows_and_leaves_no_others(history: History) -> None:
    write_sample(history)
    before = all_rows(history.connection, history.kb_id, 1)
    built = rebuild(history.database, history.kb_id, Projections())
    assert (built.generation, built.revision) == (2, history.revision)
    assert generation(history) == 2
    assert all_rows(history.connection, history.kb_id, 2) == before
    assert not any(all_rows(history.connection, history.kb_id, 1).values())
    assert verify(history.database, history.kb_id, Projections()).failures == ()


def test_writing_goes_on_in_the_new_generation(history: History) -> None:
    write_sample(history)
    rebuild(history.database, history.kb_id, Projections())
    history.create(scope="org:rival")
    assert verify(history.database, history.kb_id, Projections()).failures == ()
    assert rebuild(history.database, history.kb_id, Projections()).generation == 3


def test_damaged_rows_are_mended(history: History) -> None:
    write_sample(history)
    history.connection.raw.execute("DELETE FROM page_versions")
    history.connection.raw.execute("UPDATE notes SET text = 'forged'")
    assert verify(history.database, history.kb_id, Projections()).failed > 0
    rebuild(history.database, history.kb_id, Projections())
    assert verify(history.database, history.kb_id, Projections()).failed == 0


def test_what_a_killed_rebuild_left_is_cleared_first(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(history)
    before = all_rows(history.connection, history.kb_id, 1)

    def killed(*arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_take_over", killed)
    with pytest.raises(KeyboardInterrupt):
        rebuild(history.database, history.kb_id, Projections())
    assert generation(history) == 1
    assert all_rows(history.connection, history.kb_id, 1) == before
    assert any(all_rows(history.connection, history.kb_id, 2).values())
    monkeypatch.undo()
    rebuild(history.database, history.kb_id, Projections())
    assert all_rows(history.connection, history.kb_id, 2) == before


@pytest.mark.parametrize("rows", [1, 7])
def test_old_rows_go_in_batches(
    history: History, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(module, "_ROWS_PER_DELETE", rows)
    deletes = [
        module._delete_beside(table, older=older) for table in TABLES for older in (True, False)
    ]
    monkeypatch.setattr(module, "_DELETES", deletes)
    write_sample(history)
    rebuild(history.database, history.kb_id, Projections())
    assert not any(all_rows(history.connection, history.kb_id, 1).values())


def test_commits_written_meanwhile_are_caught_up_with(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(history)
    written: list[UUID] = []

    def replay_and_write(*arguments: object) -> None:
        replay(*arguments)  # type: ignore[arg-type]
        if len(written) < 2:
            written.append(history.create(scope=f"org:late{len(written)}"))

    monkeypatch.setattr(module, "replay", replay_and_write)
    monkeypatch.setattr(module, "COMMITS_PER_BATCH", 0)
    built = rebuild(history.database, history.kb_id, Projections())
    assert len(written) == 2
    assert built.revision == history.revision
    assert verify(history.database, history.kb_id, Projections()).failures == ()


def test_a_neighbour_keeps_its_rows(history: History) -> None:
    write_sample(history)
    neighbour = History(history.database, seed=5, connection=history.connection)
    write_sample(neighbour)
    rebuild(history.database, history.kb_id, Projections())
    assert generation(neighbour) == 1
    assert verify(history.database, neighbour.kb_id, Projections()).failures == ()


def test_a_second_rebuild_at_the_same_time_is_refused(history: History) -> None:
    write_sample(history)
    with Path(f"{history.database.path}.rebuilding").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DatabaseInUseError):
            rebuild(history.database, history.kb_id, Projections())
    assert generation(history) == 1


def test_an_unknown_or_empty_knowledge_base(history: History) -> None:
    with pytest.raises(NotFoundError):
        rebuild(history.database, uuid4(), Projections())
    built = rebuild(history.database, history.kb_id, Projections())
    assert (built.generation, built.revision) == (2, 0)
