"""No query is answered by a plan that some releases of SQLite answer wrongly.

With statistics, SQLite looks for a list of values in the middle of a key by scanning between
them (the opcode SeekScan). Up to 3.40.1 at least it then forgets a condition on the column that
follows: `scope IN (...) AND from_revision <= 25` gives a row of revision 58. A note's stamps of
today then count for its past, and a reader sees what was never for him. Whether the plan is
taken depends on how long the list is.
"""

import gc
import importlib
import pkgutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from sqlalchemy import bindparam, select

from api.wiring import open_database, open_services
from kbstore.access import Caller
from kbstore.domain.commands import AddNote, CreatePage, RestampNote
from kbstore.store.sqlite import SqliteConnection
from kbstore.store.statements import Statement, Value
from projections.intervals import of_kb
from projections.read.activity import list_commits
from projections.read.filters import at_revision
from projections.read.notes import notes_of_page
from projections.snapshot import open_snapshot
from projections.tables import note_stamps
from tests.backends import Databases
from tests.knowledge import SCOPE, VAULT, KnowledgeBase

LIST_LENGTHS = (0, 1, 2, 3, 5, 9, 17, 33, 65, 129, 200)
WRONG_UP_TO = (3, 40, 1)


def statements() -> list[Statement]:
    """Every statement of the packages."""
    for name in ("kbstore", "projections", "api"):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    return [found for found in gc.get_objects() if isinstance(found, Statement)]


def scans_between(raw: sqlite3.Connection, statement: Statement) -> Iterator[int]:
    """The lengths of lists for which the statement is answered by a SeekScan."""
    for length in LIST_LENGTHS if statement.lists else (0,):
        values: dict[str, Value | list[Value]] = {
            name: [b"x"] * length if name in statement.lists else 1 for name in statement.parameters
        }
        sql, parameters = statement.bind(values)
        program = raw.execute(f"EXPLAIN {sql}", parameters).fetchall()
        if any(step[1] == "SeekScan" for step in program):
            yield length


@pytest.fixture
def raw(databases_of: Callable[[str], Databases]) -> Iterator[sqlite3.Connection]:
    with (
        databases_of("sqlite").lent() as url,
        closing(open_database(url)) as database,
        database.connected() as connection,
    ):
        assert isinstance(connection, SqliteConnection)
        yield connection.raw


def test_no_statement_scans_between_the_values_of_a_list(raw: sqlite3.Connection) -> None:
    looked_at = 0
    for statement in statements():
        if "named_texts" in statement.sqlite or not statement.lists:
            continue
        assert not [*scans_between(raw, statement)], statement.sqlite
        looked_at += 1
    assert looked_at > 10


@pytest.mark.skipif(
    sqlite3.sqlite_version_info > WRONG_UP_TO, reason="this SQLite may plan otherwise"
)
def test_such_a_plan_would_be_noticed(raw: sqlite3.Connection) -> None:
    trap = Statement(
        select(note_stamps.c.scope).where(
            of_kb(note_stamps),
            note_stamps.c.note_id == bindparam("note_id"),
            note_stamps.c.scope.in_(bindparam("stamps", expanding=True)),
            at_revision(note_stamps),
        )
    )
    assert [*scans_between(raw, trap)]


@pytest.fixture
def kb(database_url: str) -> Iterator[KnowledgeBase]:
    with open_services(database_url) as services:
        yield KnowledgeBase(services)


@pytest.mark.parametrize("teams", [1, 2, 4, 5, 8, 16, 40])
def test_a_stamp_of_today_does_not_open_the_past(kb: KnowledgeBase, teams: int) -> None:
    """The note was for the vault alone until it was stamped for a team as well."""
    owner = Caller(principal="user:ana", held=frozenset({SCOPE, VAULT}))
    ben = Caller(principal="user:ben", held=frozenset({SCOPE}))
    stamps = tuple(f"team:acme:t{n:02}" for n in range(teams))
    page = kb.run(CreatePage(scope=SCOPE, name=kb.text("Page")), owner).subjects[0].id
    kb.run(AddNote(page=page, text=kb.text("For all"), stamps=stamps), owner)
    added = kb.run(AddNote(page=page, text=kb.text("Secret"), stamps=(VAULT,)), owner)
    note = added.subjects[0].id
    last = kb.run(RestampNote(note=note, stamps=(VAULT, stamps[-1])), owner)
    reader = kb.services.database.reader()
    with reader.reading():
        then = open_snapshot(reader, kb.id, ben, added.revision)
        assert [n.text for n in notes_of_page(then, page, None, 9).items] == ["For all"]
        now = open_snapshot(reader, kb.id, ben)
        assert len(notes_of_page(now, page, None, 9).items) == 2
        shown = [commit.revision for commit in list_commits(now, 0, 99).items]
    assert added.revision not in shown
    assert last.revision in shown
