"""Replaying in batches, in stretches, and inside a transaction that is open already."""

from uuid import UUID

import pytest

from projections import replay as module
from projections.projector import Projections
from projections.replay import replay
from tests.unit.projections.history import History
from tests.unit.projections.rows import all_rows
from tests.unit.projections.sample_history import write_sample


def replay_into(history: History, generation: int, first: int, last: int) -> list[tuple[int, int]]:
    heard: list[tuple[int, int]] = []
    replay(
        history.connection,
        history.kb_id,
        history.connection,
        generation,
        Projections(),
        first,
        last,
        lambda done, total: heard.append((done, total or 0)),
    )
    return heard


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_the_size_of_batches_makes_no_difference(
    history: History, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    write_sample(history)
    monkeypatch.setattr(module, "COMMITS_PER_BATCH", size)
    last = history.revision
    heard = replay_into(history, 2, 1, last)
    assert heard == [(min(n, last), last) for n in range(size, last + size, size)]
    live = all_rows(history.connection, history.kb_id, 1)
    assert all(live.values()), "the sample reaches every table"
    assert all_rows(history.connection, history.kb_id, 2) == live


def test_a_stretch_goes_on_where_the_last_one_ended(history: History) -> None:
    write_sample(history)
    for revision in range(1, history.revision + 1):
        replay_into(history, 2, revision, revision)
    live = all_rows(history.connection, history.kb_id, 1)
    assert all_rows(history.connection, history.kb_id, 2) == live


def test_an_open_transaction_is_left_open(history: History) -> None:
    write_sample(history)
    history.connection.begin_write()
    replay_into(history, 2, 1, history.revision)
    assert history.connection.in_transaction
    history.connection.rollback()
    assert not any(all_rows(history.connection, history.kb_id, 2).values())


def test_a_batch_that_fails_leaves_nothing(history: History) -> None:
    write_sample(history)
    replay_into(history, 2, 1, 3)
    before = all_rows(history.connection, history.kb_id, 2)
    with pytest.raises(AssertionError, match="does not continue"):
        replay_into(history, 2, 7, history.revision)
    assert not history.connection.in_transaction
    assert all_rows(history.connection, history.kb_id, 2) == before


def test_nothing_to_replay_is_nothing_done(history: History) -> None:
    assert replay_into(history, 2, 1, 0) == []
    assert not any(all_rows(history.connection, UUID(int=0), 2).values())
