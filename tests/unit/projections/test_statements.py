"""What projecting costs: statements by kind of event, and none of them scans."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from kbstore.store.connection import Connection
from kbstore.store.statements import Row, Statement, Values
from projections import (
    apply_activity,
    apply_links,
    apply_notes,
    apply_pages,
    apply_pins,
    apply_subtree,
    apply_versions,
    transaction_lookup,
)
from projections.projector import Projections
from tests.unit.projections.history import History, open_database

MODULES = (
    apply_activity,
    apply_links,
    apply_notes,
    apply_pages,
    apply_pins,
    apply_subtree,
    apply_versions,
    transaction_lookup,
)


class Counting(Connection):
    """Counts what runs while `on`."""

    count = 0
    on = False

    def all(self, statement: Statement, values: Values) -> list[Row]:
        self.count += self.on
        return super().all(statement, values)

    def run(self, statement: Statement, values: Values) -> int:
        self.count += self.on
        return super().run(statement, values)

    def run_many(self, statement: Statement, values: Iterable[Values]) -> None:
        self.count += self.on
        super().run_many(statement, values)


class CountingProjections(Projections):
    """Notes how many statements each event took."""

    def __init__(self, connection: Counting) -> None:
        self._connection = connection
        self.last = 0

    def apply(self, *arguments: object) -> None:
        self._connection.count, self._connection.on = 0, True
        super().apply(*arguments)  # type: ignore[arg-type]
        self._connection.on = False
        self.last = self._connection.count


def test_statements_by_event(tmp_path: Path) -> None:
    database = open_database(tmp_path)
    connection = Counting(database.connect().raw)
    history = History(database, connection=connection)
    counter = history.projections = CountingProjections(connection)
    counts: dict[str, int] = {}

    def took(name: str, *, at_most: int) -> None:
        counts[name] = counter.last
        assert counter.last <= at_most, counts

    top = history.create(body="x")
    took("scope page created", at_most=4)
    page = history.create(parent=top, key="a", body="x")
    took("page created", at_most=3)
    history.edit(page, body="y")
    took("page edited", at_most=4)
    history.edit(page, name="Other")
    took("page renamed", at_most=4)
    history.edit(page, body="z", links=[("wiki", "A", 1)])
    took("page edited, first links", at_most=6)
    history.edit(page, body="y", links=[("wiki", "A", 1)])
    took("page edited, same links", at_most=5)
    history.edit(page, body="y", links=[("wiki", "B", 1)], bound={0: top})
    took("page edited, other links, bound", at_most=8)
    history.move(page, top, "b")
    took("page moved", at_most=4)
    note = history.note(page)
    took("note added", at_most=4)
    history.restamp(note, "team:acme:support")
    took("note restamped", at_most=6)
    history.remove_note(note)
    took("note removed", at_most=7)
    pin = history.pin(page, "org:acme")
    took("pin set", at_most=3)
    history.pin(page, "org:acme", "team:acme:support")
    took("pin set again", at_most=5)
    history.unpin(pin)
    took("pin removed", at_most=4)
    history.delete(page)
    took("page deleted", at_most=7)
    history.restore(page, top)
    took("page restored", at_most=8)
    other = history.create(parent=top)
    history.merge_away(page, other)
    took("page merged away", at_most=10)
    history.absorb(other, page)
    took("page absorbed", at_most=4)
    history.configure()
    took("configured", at_most=4)
    connection.close()
    database.close()


STATEMENTS = [
    pytest.param(statement, id=f"{module.__name__.split('.')[-1]}{name}")
    for module in MODULES
    for name, statement in vars(module).items()
    if isinstance(statement, Statement)
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_statement_scans_a_knowledge_base(statement: Statement, history: History) -> None:
    """Each search is by more than the knowledge base and the generation."""
    lists = {name: [b"", b""] for name in statement.lists}
    sql, parameters = statement.bind({**dict.fromkeys(statement.parameters), **lists})
    plan = history.connection.raw.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)
    steps = [row[3] for row in plan]
    assert not [step for step in steps if re.match(r"SCAN (?!CONSTANT|below)", step)], steps
    whole = [step for step in steps if step.endswith("(kb_id=? AND generation=?)")]
    assert whole == [step for step in whole if step.startswith("SEARCH scopes")], steps
