"""C26: pages of a list skipped or repeated rows when rows came or went between two calls."""

from collections.abc import Callable

import msgspec
import pytest

from tests.asking import Ask, Client, Event, Part, Summary
from tests.knowledge import SCOPE, KnowledgeBase


def ids(part: Part) -> list[str]:
    return [msgspec.json.decode(item, type=Summary).id for item in part.items]


@pytest.fixture
def listed(ana: Client) -> str:
    """A page with 25 children, in one commit."""
    parent = ana.made("list").id
    created = ana.commit(
        *[
            {"op": "create", "scope": SCOPE, "parent": parent, "name": f"Page {number:02}"}
            for number in range(25)
        ]
    )
    assert created.status == 201
    return parent


Meanwhile = Callable[[Client, str, list[str]], object]
"""client, the page whose children are listed, their ids in order."""

MEANWHILE: dict[str, Meanwhile] = {
    "rows already seen go": lambda c, p, rows: [c.delete(row, 1) for row in rows[:5]],
    "rows still to come go": lambda c, p, rows: [c.delete(row, 1) for row in rows[12:17]],
    "rows come": lambda c, p, rows: [c.made(f"new{n}", parent=p) for n in range(3)],
    "a row moves to the front": lambda c, p, rows: c.edit(rows[20], 1, name="Aaa"),
    "a row moves to the end": lambda c, p, rows: c.edit(rows[2], 1, name="Zzz"),
    "a row moves away": lambda c, p, rows: c.move(rows[15], 1, parent=None),
    "the page itself moves": lambda c, p, rows: c.move(p, 1, key="moved"),
    "the page itself goes": lambda c, p, rows: c.delete(p, 1, subtree=True),
    "something else happens": lambda c, p, rows: c.made("unrelated"),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_a_walk_that_was_overtaken_is_told_so_and_can_go_on(
    ana: Client, ben: Client, listed: str, name: str
) -> None:
    path = f"/pages/{listed}/children"
    whole = ids(ana.part(path, limit=200))
    first = ana.part(path, limit=10)
    MEANWHILE[name](ben, listed, whole)
    refusal = ana.ask("GET", path, cursor=first.next_cursor).refused(409, "STALE_CURSOR")
    details = refusal.details
    assert details["field"] == "cursor"
    assert details["restart"] is True
    assert details["cursorRevision"] == first.revision
    active = details["activeContentRevision"]
    assert isinstance(active, int)
    assert active > first.revision
    # The same cursor with the revision said out loud goes on in the old state, to the end.
    found, cursor = ids(first), first.next_cursor
    while cursor is not None:
        part = ana.part(path, cursor=cursor, revision=first.revision)
        assert part.revision == first.revision
        found += ids(part)
        cursor = part.next_cursor
    assert found == whole


@pytest.mark.parametrize("limit", [1, 7, 10, 24, 25, 26])
def test_a_walk_that_began_with_a_revision_never_goes_stale(
    kb: KnowledgeBase, ana: Client, ben: Client, listed: str, limit: int
) -> None:
    path, revision = f"/pages/{listed}/children", kb.revision
    whole = ids(ana.part(path, limit=200))
    part = ana.part(path, limit=limit, revision=revision)
    found = ids(part)
    for number in range(100):
        if part.next_cursor is None:
            break
        if number < 5:
            ben.delete(whole[number * 5], 1)
        part = ana.part(path, cursor=part.next_cursor)
        found += ids(part)
    assert part.next_cursor is None
    assert found == whole
    assert part.revision == revision


def test_an_undisturbed_walk_sees_each_row_once(ana: Client, listed: str) -> None:
    path = f"/pages/{listed}/children"
    whole = ids(ana.part(path, limit=200))
    assert len(set(whole)) == 25
    for limit in (1, 2, 5, 24, 25):
        assert [row.id for row in ana.children(listed, limit=limit)] == whole


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_a_feed_goes_on_where_it_was_and_sees_what_came(
    kb: KnowledgeBase, ana: Client, ben: Client, limit: int
) -> None:
    """Feeds page by position: what has happened does not change."""
    first = ana.part("/events", after=0, limit=limit)
    positions: list[int] = []
    part, made = first, 0
    for _ in range(200):
        positions += [msgspec.json.decode(item, type=Event).position for item in part.items]
        if part.next_cursor is None:
            break
        if made < 5:
            ben.made(f"p{made}")
            made += 1
        part = ana.part("/events", after=0, cursor=part.next_cursor)
    assert positions == sorted(set(positions))
    ana.made("last")
    after = positions[-1] if positions else 0
    positions += [event.position for event in ana.events(after=after)]
    pages = [event.position for event in kb.log() if event.topic.startswith("page.")]
    assert positions == pages


def test_a_cursor_is_bound_to_its_list_its_caller_and_its_bytes(
    ana: Client, asking: Ask, listed: str
) -> None:
    other = ana.made("other").id
    path = f"/pages/{listed}/children"
    cursor = ana.part(path, limit=10).next_cursor
    assert cursor is not None

    def reason(client: Client, path: str, cursor: str, **query: object) -> object:
        answer = client.ask("GET", path, cursor=cursor, query=query)
        details = answer.refused(422, "VALIDATION_ERROR").details
        assert details["field"] == "cursor"
        return details["reason"]

    assert reason(ana, f"/pages/{other}/children", cursor) == "mismatch"
    assert reason(ana, f"/pages/{listed}/notes", cursor) == "mismatch"
    assert reason(asking("user:ben"), path, cursor) == "mismatch"
    assert reason(asking("user:ana", SCOPE, "team:acme:x"), path, cursor) == "mismatch"
    assert reason(ana, path, cursor, revision=1) == "mismatch"
    for altered in (cursor[:-1], cursor + "A", "x" + cursor[1:], cursor.swapcase(), "", "?"):
        assert reason(ana, path, altered) == "malformed"
    flipped = cursor[:40] + ("A" if cursor[40] != "A" else "B") + cursor[41:]
    assert reason(ana, path, flipped) == "malformed"
    assert ids(ana.part(path, cursor=cursor, limit=3)) == ids(ana.part(path, cursor=cursor))[:3]


def test_cursors_are_of_one_width(ana: Client, listed: str) -> None:
    parts = [ana.part(f"/pages/{listed}/children", limit=limit) for limit in (1, 5, 24)] + [
        ana.part("/events", limit=1),
        ana.part("/commits", limit=1),
    ]
    assert len({len(part.next_cursor or "") for part in parts}) == 1
