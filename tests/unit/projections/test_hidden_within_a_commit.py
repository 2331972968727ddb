"""A note that was hidden for a while inside one commit: its events of that while do not show.

No state in between is ever read, so the rows of the revision alone do not tell.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from kbstore.access import Caller
from projections.read.activity import commit, events
from projections.snapshot import Snapshot, open_snapshot
from tests.unit.projections.history import History

ORG, VAULT = "org:acme", "vault:acme"
OWNER = [{"principal": "self", "role": "owner"}]
CONFIGURATION = json.dumps({"scopes": {"org:$o": {"access": OWNER}, "vault:$o": {"access": OWNER}}})
ANA = Caller(principal="user:ana", held=frozenset({ORG}))
BEA = Caller(principal="user:bea", held=frozenset({ORG, VAULT}))


@contextmanager
def reading(history: History, caller: Caller) -> Iterator[Snapshot]:
    reader = history.database.reader()
    with reader.reading():
        yield open_snapshot(reader, history.kb_id, caller)


def shown(history: History, caller: Caller) -> list[tuple[str, object]]:
    with reading(history, caller) as snapshot:
        found = events(snapshot, 0, 100).items
    return [(event.type, event.data.get("scope")) for event in found if event.note_id is not None]


def test_what_was_added_hidden_shows_from_its_first_stamp_on(history: History) -> None:
    history.configure(CONFIGURATION)
    page = history.create(scope=ORG)
    with history.commit() as revision:
        note = history.note(page, stamps=[VAULT])
        history.restamp(note, ORG)
    assert shown(history, ANA) == [("note.restamped", [ORG])]
    assert shown(history, BEA) == [("note.added", [VAULT]), ("note.restamped", [ORG])]
    with reading(history, ANA) as snapshot:
        view = commit(snapshot, revision)
    assert (view.event_count, view.complete, view.message) == (1, False, None)
    with reading(history, BEA) as snapshot:
        assert commit(snapshot, revision).complete is True


def test_what_was_moved_and_removed_while_hidden_does_not_show(history: History) -> None:
    history.configure(CONFIGURATION)
    page, into = history.create(scope=ORG), history.create(scope=VAULT)
    note, gone = (history.note(page, stamps=[ORG]) for _ in range(2))
    with history.commit():
        history.restamp(note, VAULT)
        history.move_note(note, into)
        history.move_note(note, page)
        history.restamp(note, ORG)
        history.restamp(gone, VAULT)
        history.remove_note(gone)
    assert shown(history, ANA) == [("note.added", [ORG]), ("note.restamped", [ORG])]
    kinds = [kind for kind, _ in shown(history, BEA)]
    assert kinds.count("note.moved") == 2
    assert kinds[-1] == "note.removed"


def test_an_order_of_stamps_alone_is_no_news(history: History) -> None:
    history.configure(CONFIGURATION)
    page = history.create(scope=ORG)
    note = history.note(page, stamps=[ORG, VAULT])
    history.restamp(note, VAULT, ORG)
    assert [kind for kind, _ in shown(history, BEA)] == ["note.added"]
