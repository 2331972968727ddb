"""Old generations go some rows at a time."""

import pytest

from kbstore.store.postgresql import PostgresConnection
from projections import generation_deleting
from projections.checksum import TABLES
from projections.generation_deleting import delete_other_generations
from projections.generation_filling import Filler
from projections.generation_progress import Filled
from projections.pace import Pace
from projections.projector import Projections
from projections.verify import verify
from tests.backends import change, on_postgresql
from tests.unit.projections.history import History
from tests.unit.projections.rows import all_rows
from tests.unit.projections.sample_history import write_sample

ONE_STRETCH_A_BATCH = Pace(0, 0)


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_old_rows_go_some_at_a_time(
    history: History, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    write_sample(history)
    before = all_rows(history.connection, history.kb_id, 1)
    monkeypatch.setattr(generation_deleting, "_ROWS", rows)
    monkeypatch.setattr(generation_deleting, "_DELETES", generation_deleting._deletes(rows))
    neighbour = History(history.database, seed=5, connection=history.connection)
    write_sample(neighbour)
    for unwanted in (2, 3, 5):
        filler = Filler(history.connection, history.connection, Projections(), history.kb_id)
        filler.apply_rest(
            Filled(kb_id=history.kb_id, generation=unwanted, revision=0, position=0, program=""),
            history.revision,
        )
    delete_other_generations(history.connection, history.kb_id, 2, ONE_STRETCH_A_BATCH)
    assert all_rows(history.connection, history.kb_id, 2) == before
    for gone in (1, 3, 5):
        assert not any(all_rows(history.connection, history.kb_id, gone).values())
    assert verify(neighbour.database, neighbour.kb_id, Projections()).failures == ()


@on_postgresql
def test_deleting_some_rows_does_not_read_a_large_table(history: History) -> None:
    change(
        history.connection,
        "INSERT INTO scopes SELECT 'k'::bytea, 1 + n % 2, 'org:' || n, n"
        " FROM generate_series(1, 100000) AS n",
    )
    history.connection.command("ANALYZE scopes")
    index = [table.name for table in TABLES].index("scopes")
    for statement in generation_deleting._DELETES[index]:
        explain = f"EXPLAIN (GENERIC_PLAN) {statement.postgresql}"
        assert isinstance(history.connection, PostgresConnection)
        plan = [str(row[0]) for row in history.connection.raw.execute(explain.encode())]
        assert not any("Seq Scan" in step for step in plan), plan
