"""Rebuilding: another generation with the same rows, whatever a killed one left."""

from contextlib import closing
from uuid import uuid4

import pytest

from kbstore.errors import DatabaseInUseError, NotFoundError
from kbstore.store.heads import read_head
from projections.projector import Projections
from projections.rebuild import rebuild
from projections.verify import verify
from tests.backends import change
from tests.unit.projections.history import History, open_database
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
    assert change(history.connection, "DELETE FROM page_versions") > 0
    assert change(history.connection, "UPDATE notes SET text = 'forged'") > 0
    assert verify(history.database, history.kb_id, Projections()).failed > 0
    rebuild(history.database, history.kb_id, Projections())
    assert verify(history.database, history.kb_id, Projections()).failed == 0


def test_a_neighbour_keeps_its_rows(history: History) -> None:
    write_sample(history)
    neighbour = History(history.database, seed=5, connection=history.connection)
    write_sample(neighbour)
    rebuild(history.database, history.kb_id, Projections())
    assert generation(neighbour) == 1
    assert verify(history.database, neighbour.kb_id, Projections()).failures == ()


def test_a_second_rebuild_at_the_same_time_is_refused(history: History) -> None:
    write_sample(history)
    with (
        closing(open_database(history.database.url)) as other,
        other.alone("rebuilding", history.kb_id),
        pytest.raises(DatabaseInUseError),
    ):
        rebuild(history.database, history.kb_id, Projections())
    assert generation(history) == 1


def test_an_unknown_or_empty_knowledge_base(history: History) -> None:
    with pytest.raises(NotFoundError):
        rebuild(history.database, uuid4(), Projections())
    built = rebuild(history.database, history.kb_id, Projections())
    assert (built.generation, built.revision) == (2, 0)
