"""What projecting costs: statements by kind of event, and none of them scans."""

import re
from collections.abc import Callable

import pytest

from kbstore.store.connection import Connection
from kbstore.store.postgresql import PostgresConnection
from kbstore.store.statements import Statement
from projections import (
    apply_activity,
    apply_links,
    apply_notes,
    apply_pages,
    apply_pins,
    apply_subtree,
    apply_terms,
    apply_versions,
    transaction_lookup,
)
from projections.lexical import index
from projections.projector import Projections
from tests.backends import on_postgresql, on_sqlite, query
from tests.unit.projections.history import History

MODULES = (
    apply_activity,
    apply_links,
    apply_notes,
    apply_pages,
    apply_pins,
    apply_subtree,
    apply_terms,
    apply_versions,
    index,
    transaction_lookup,
)


class Counter:
    """Counts the statements that run on a connection."""

    def __init__(self, connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        for method in ("all", "one", "run", "count", "run_many"):
            monkeypatch.setattr(connection, method, self._counted(getattr(connection, method)))

    def _counted(self, run: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object) -> object:
            self.count += 1
            return run(*arguments)

        return counted


class CountingProjections(Projections):
    """Notes how many statements each event took."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.last = 0

    def apply(self, *arguments: object) -> None:
        before = self._counter.count
        super().apply(*arguments)  # type: ignore[arg-type]
        self.last = self._counter.count - before


def test_statements_by_event(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = CountingProjections(Counter(history.connection, monkeypatch))
    history.projections = counter
    counts: dict[str, int] = {}

    def took(name: str, *, at_most: int) -> None:
        counts[name] = counter.last
        assert counter.last <= at_most, counts

    top = history.create(body="x")
    took("scope page created", at_most=5)
    page = history.create(parent=top, key="a", body="x")
    took("page created", at_most=4)
    history.edit(page, body="y")
    took("page edited", at_most=6)
    history.edit(page, name="Other")
    took("page renamed", at_most=5)
    history.edit(page, body="z", links=[("wiki", "A", 1)])
    took("page edited, first links", at_most=8)
    history.edit(page, body="y", links=[("wiki", "A", 1)])
    took("page edited, same links", at_most=7)
    history.edit(page, body="y", links=[("wiki", "B", 1)], bound={0: top})
    took("page edited, other links, bound", at_most=10)
    history.move(page, top, "b")
    took("page moved", at_most=5)
    note = history.note(page)
    took("note added", at_most=5)
    history.restamp(note, "team:acme:support")
    took("note restamped", at_most=7)
    history.remove_note(note)
    took("note removed", at_most=8)
    pin = history.pin(page, "org:acme")
    took("pin set", at_most=3)
    history.pin(page, "org:acme", "team:acme:support")
    took("pin set again", at_most=5)
    history.unpin(pin)
    took("pin removed", at_most=4)
    history.delete(page)
    took("page deleted", at_most=8)
    history.restore(page, top)
    took("page restored", at_most=11)
    other = history.create(parent=top)
    history.merge_away(page, other)
    took("page merged away", at_most=11)
    history.absorb(other, page)
    took("page absorbed", at_most=5)
    history.configure()
    took("configured", at_most=4)


STATEMENTS = [
    pytest.param(statement, id=f"{module.__name__.split('.')[-1]}{name}")
    for module in MODULES
    for name, statement in vars(module).items()
    if isinstance(statement, Statement)
]


@on_sqlite
@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_statement_scans_a_knowledge_base(statement: Statement, history: History) -> None:
    """Each search is by more than the knowledge base and the generation."""
    lists = {name: [b"", b""] for name in statement.lists}
    sql, parameters = statement.bind({**dict.fromkeys(statement.parameters), **lists})
    plan = query(history.connection, f"EXPLAIN QUERY PLAN {sql}", *parameters)
    steps = [str(row[3]) for row in plan]
    assert not [step for step in steps if re.match(r"SCAN (?!CONSTANT|below)", step)], steps
    whole = [step for step in steps if step.endswith("(kb_id=? AND generation=?)")]
    assert whole == [step for step in whole if step.startswith("SEARCH scopes")], steps


@on_postgresql
@pytest.mark.parametrize("statement", STATEMENTS)
def test_each_statement_has_an_index_on_postgresql(statement: Statement, history: History) -> None:
    """The planner is told to do without scans: where it has to scan, no index fits."""
    assert isinstance(history.connection, PostgresConnection)
    history.connection.command("SET enable_seqscan = off")
    sql = f"EXPLAIN (GENERIC_PLAN) {statement.postgresql}"
    plan = history.connection.raw.execute(sql.encode()).fetchall()
    assert "Seq Scan" not in str(plan)
