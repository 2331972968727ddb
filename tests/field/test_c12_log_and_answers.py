"""C12: events were stored, yet the client was told that its write had been refused."""

from collections.abc import Callable, Mapping

import pytest

from tests.asking import Answer, Client, Page
from tests.knowledge import SCOPE, KnowledgeBase

UNKNOWN = "01900000-0000-7000-8000-000000000000"
Operation = Mapping[str, object]

FAILING: dict[str, Callable[[Page, Page], Operation]] = {
    "stale version": lambda p, q: {"op": "edit", "page": q.id, "expectedVersion": 9, "body": "x"},
    "unknown page": lambda p, q: {"op": "edit", "page": UNKNOWN, "expectedVersion": 1, "body": "x"},
    "key taken by an earlier operation": lambda p, q: {
        "op": "create",
        "scope": SCOPE,
        "name": "New",
        "key": "NEW",
    },
    "under what an earlier operation moved": lambda p, q: {
        "op": "move",
        "page": q.id,
        "expectedVersion": 1,
        "parent": p.id,
    },
    "deleted by an earlier operation": lambda p, q: {
        "op": "delete",
        "page": "$0",
        "expectedVersion": "any",
        "subtree": True,
        "extra": 1,
    },
    "a name that is too long": lambda p, q: {"op": "create", "scope": SCOPE, "name": "x" * 301},
    "a place that creates nothing": lambda p, q: {
        "op": "edit",
        "page": "$1",
        "expectedVersion": "any",
        "body": "x",
    },
    "a place further on": lambda p, q: {
        "op": "create",
        "scope": SCOPE,
        "name": "New",
        "parent": "$7",
    },
    "no operation": lambda p, q: {"op": "replace", "page": q.id},
    "a scope the caller cannot see": lambda p, q: {
        "op": "create",
        "scope": "vault:acme",
        "name": "New",
    },
    "nothing to restore": lambda p, q: {
        "op": "restore",
        "page": q.id,
        "expectedVersion": 1,
        "version": 77,
    },
    "a page that is not deleted": lambda p, q: {
        "op": "restore",
        "page": q.id,
        "expectedVersion": 1,
        "deletion": 1,
    },
    "an unknown note": lambda p, q: {"op": "removeNote", "note": UNKNOWN},
}


@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("name", FAILING)
def test_a_commit_with_one_refused_operation_leaves_nothing(
    kb: KnowledgeBase, ana: Client, name: str, place: int
) -> None:
    """All or nothing, wherever the refused operation stands."""
    p, q = ana.made("p"), ana.made("q")
    good: list[Operation] = [
        {"op": "create", "scope": SCOPE, "name": "New", "key": "new"},
        {"op": "move", "page": p.id, "expectedVersion": 1, "parent": q.id},
        {"op": "addNote", "page": p.id, "text": "A fact.", "scope": [SCOPE]},
    ]
    if name in ("key taken by an earlier operation", "under what an earlier operation moved"):
        # It takes the earlier operations to make these wrong.
        place = 3
    operations = [*good[:place], FAILING[name](p, q), *good[place:]]
    with kb.nothing_written():
        assert 400 <= ana.commit(*operations).status < 500
    assert ana.page(p.id) == p
    assert ana.at("org:acme#new").status == 404
    # And without it the rest goes through, as one commit.
    before = kb.revision
    assert ana.commit(*good).status == 201
    assert kb.revision == before + 1


def test_an_answer_and_the_log_say_the_same_after_each_write(
    kb: KnowledgeBase, ana: Client
) -> None:
    """Accepted: one commit, named by the answer. Refused or unchanged: none."""
    p, q = ana.made("p", body="one\n"), ana.made("q")
    writes: list[Callable[[], Answer]] = [
        lambda: ana.edit(p.id, 1, body="two\n"),
        lambda: ana.edit(p.id, 1, body="stale\n"),
        lambda: ana.edit(p.id, 1, body="two\n"),
        lambda: ana.move(q.id, 1, parent=p.id),
        lambda: ana.move(p.id, 2, parent=q.id),
        lambda: ana.delete(p.id, 2),
        lambda: ana.merge(q.id, p.id, 2),
        lambda: ana.merge(q.id, p.id, 2),
        lambda: ana.delete(p.id, 3),
        lambda: ana.restore(p.id, 3),
        lambda: ana.restore(p.id, 4),
        lambda: ana.create("p"),
        lambda: ana.create("r", name=""),
        lambda: ana.create("r"),
    ]
    statuses = []
    for write in writes:
        before, events = kb.revision, len(kb.log())
        answer = write()
        statuses.append(answer.status)
        if answer.status >= 400:
            assert (kb.revision, len(kb.log())) == (before, events)
        elif answer.json["changed"]:
            assert answer.json["revision"] == kb.revision == before + 1
            assert len(kb.log()) > events
        else:
            assert answer.json["revision"] == kb.revision == before
    assert statuses == [200, 409, 200, 200, 409, 409, 200, 404, 200, 409, 200, 409, 422, 201]
    versions = [event.version for event in kb.events_of(p.id)]
    assert versions == list(range(1, len(versions) + 1))


def test_a_dry_run_tells_what_it_would_write_and_writes_nothing(
    kb: KnowledgeBase, ana: Client
) -> None:
    page = ana.made("p")
    operations: list[Operation] = [
        {"op": "create", "scope": SCOPE, "name": "New", "key": "new", "parent": page.id},
        {"op": "edit", "page": page.id, "expectedVersion": 1, "body": "x\n"},
    ]
    with kb.nothing_written():
        planned = ana.commit(*operations, dryRun=True).json["events"]
    assert isinstance(planned, list)
    before = len(kb.log())
    assert ana.commit(*operations).status == 201
    assert [event.topic for event in kb.log()[before:]] == [event["type"] for event in planned]
