"""C20: renaming a page hid its earlier history."""

from collections.abc import Callable

import pytest

from tests.asking import Answer, Client
from tests.field.doors import Door, both_doors
from tests.knowledge import SCOPE, TEAM, KnowledgeBase

Change = Callable[[Client, str, str], Answer]
"""client, page, another page."""

CHANGES: dict[str, tuple[Change, str, tuple[str, ...]]] = {
    "renamed key": (lambda c, p, o: c.move(p, "*", key="new"), "page.moved", ("key",)),
    "no key": (lambda c, p, o: c.move(p, "*", key=None), "page.moved", ("key",)),
    "another parent": (lambda c, p, o: c.move(p, "*", parent=o), "page.moved", ("parent",)),
    "another scope": (
        lambda c, p, o: c.move(p, "*", scope=TEAM),
        "page.moved",
        ("scope", "parent"),
    ),
    "another name": (lambda c, p, o: c.edit(p, "*", name="New"), "page.edited", ("name",)),
    "a merged page": (lambda c, p, o: c.merge(o, p, "*"), "page.absorbed", ("absorbed",)),
    "an earlier content": (lambda c, p, o: c.restore(p, "*", version=1), "page.edited", ("body",)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_history_goes_on_through_what_changes_the_address(
    kb: KnowledgeBase, ana: Client, name: str
) -> None:
    change, kind, changed = CHANGES[name]
    page, other = ana.made("p", body="1\n").id, ana.made("other").id
    for version in range(1, 5):
        ana.edit(page, version, body=f"{version + 1}\n")
    before = ana.history(page)
    assert [entry.version for entry in before] == [1, 2, 3, 4, 5]
    assert change(ana, page, other).status == 200
    after = ana.history(page)
    assert after[:5] == before
    assert [(e.version, e.type, e.changed) for e in after[5:]] == [(6, kind, changed)]
    # Each version can still be read and compared.
    for entry in before:
        assert ana.page(page, revision=entry.revision).body == f"{entry.version}\n"
    diff = ana.ask("GET", f"/pages/{page}/diff", query={"from": 1, "to": 6})
    assert diff.status == 200


def test_history_follows_the_id_when_another_page_takes_the_address(ana: Client) -> None:
    first = ana.made("p", body="1\n").id
    ana.edit(first, 1, body="2\n")
    ana.move(first, 2, key="q")
    second = ana.made("p").id
    assert [entry.version for entry in ana.history(first)] == [1, 2, 3]
    assert [entry.version for entry in ana.history(second)] == [1]


def test_deletion_and_return_are_part_of_it(ana: Client) -> None:
    page = ana.made("p").id
    ana.delete(page, 1)
    ana.restore(page, 2, key="q")
    ana.move(page, 3, key="r")
    kinds = [entry.type for entry in ana.history(page)]
    assert kinds == ["page.created", "page.deleted", "page.restored", "page.moved"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 200])
@pytest.mark.parametrize("newest_first", [True, False])
def test_walked_in_parts_it_is_the_same_history(
    ana: Client, limit: int, newest_first: bool
) -> None:
    """Also while the page goes on changing: what has happened does not change."""
    page = ana.made("p", body="1\n").id
    for version in range(1, 7):
        ana.edit(page, version, body=f"{version + 1}\n")
    whole = ana.history(page, newestFirst=newest_first)
    part = ana.part(f"/pages/{page}/history", limit=limit, newestFirst=newest_first)
    ana.move(page, 7, key="q")
    walked = len(part.items)
    while part.next_cursor is not None:
        part = ana.part(
            f"/pages/{page}/history",
            limit=limit,
            newestFirst=newest_first,
            cursor=part.next_cursor,
        )
        walked += len(part.items)
    # Going forward, the walk reaches what happened meanwhile if it was not at its end.
    assert walked in ((7, 8) if not newest_first else (7,))
    assert len(whole) == 7


@both_doors
def test_an_ancestors_move_is_no_event_of_the_page(ana: Client, door: Door) -> None:
    a, b = ana.chain("a", "b")
    assert door(ana, "move", a.id, 1, {"key": "z"}).status in (200, 201)
    assert [entry.type for entry in ana.history(b.id)] == ["page.created"]
    assert ana.page(b.id).path == "z/b"


def test_notes_and_pins_are_no_versions(ana: Client) -> None:
    page = ana.made("p").id
    ana.ask("POST", f"/pages/{page}/notes", {"text": "A fact.", "scope": [SCOPE]})
    ana.ask("PUT", f"/pages/{page}/pins/page", {"audience": [SCOPE]})
    assert len(ana.history(page)) == 1
    assert ana.page(page).version == 1
