"""C15: moving a page left its children behind, or under their old addresses."""

from collections.abc import Mapping

import pytest

from kbstore.limits import NESTING_LEVELS_MAX
from tests.asking import Client
from tests.field.doors import Door, both_doors
from tests.knowledge import SCOPE, TEAM, KnowledgeBase

MOVES: list[tuple[str, Mapping[str, object], str]] = [
    ("another parent", {"parent": "x"}, "org:acme#x/b"),
    ("another key", {"key": "y"}, "org:acme#a/y"),
    ("to the top", {"parent": None}, "org:acme#b"),
    ("both", {"parent": "x", "key": "y"}, "org:acme#x/y"),
    ("another scope", {"scope": TEAM}, "team:acme:support#b"),
    ("another scope and key", {"scope": TEAM, "key": "y"}, "team:acme:support#y"),
]


@both_doors
@pytest.mark.parametrize(("kind", "place", "ref"), MOVES)
def test_all_below_comes_along_in_the_same_revision(
    kb: KnowledgeBase,
    ana: Client,
    kind: str,
    place: Mapping[str, object],
    ref: str,
    door: Door,
) -> None:
    a, b, c, d = ana.chain("a", "b", "c", "d")
    side = ana.made("side", parent=b.id, body="# Side\n")
    x = ana.made("x")
    note = ana.ask("POST", f"/pages/{d.id}/notes", {"text": "A fact.", "scope": [SCOPE]})
    assert note.status == 201
    before = kb.revision
    sent = {name: x.id if value == "x" else value for name, value in place.items()}
    answer = door(ana, "move", b.id, 1, sent)
    assert answer.json["revision"] == kb.revision == before + 1
    refs = {b.id: ref, c.id: f"{ref}/c", d.id: f"{ref}/c/d", side.id: f"{ref}/side"}
    for page, expected in refs.items():
        read = ana.page(page)
        assert read.ref == expected
        assert ana.page_at(expected).id == page
        assert read.scope == expected.split("#", maxsplit=1)[0]
    # What came along has no events of its own: its version is the one it had.
    assert [ana.page(page).version for page in refs] == [2, 1, 1, 1]
    assert [event.page for event in kb.log()[-1:]] == [b.id]
    assert {child.id for child in ana.children(b.id)} == {c.id, side.id}
    assert [child.id for child in ana.children(c.id)] == [d.id]
    assert ana.part(f"/pages/{d.id}/notes").items
    # The old paths are dead at once, each saying where its page went.
    old = {"a/b": b.id, "a/b/c": c.id, "a/b/c/d": d.id, "a/b/side": side.id}
    for path, page in old.items():
        refusal = ana.at(f"org:acme#{path}").refused(404, "NOT_FOUND")
        assert refusal.details["movedTo"] == refs[page]
        # And alive in the past.
        assert ana.page_at(f"org:acme#{path}", revision=before).id == page
    stays = [b.id] if kind == "another key" else []
    assert [child.id for child in ana.children(a.id)] == stays
    kb.check_tree()


def test_a_subtree_as_deep_as_one_may_be(kb: KnowledgeBase, ana: Client) -> None:
    chain = ana.chain(*[f"level{number}" for number in range(1, NESTING_LEVELS_MAX)])
    x, team = ana.made("x"), ana.made("t", scope=TEAM)
    assert ana.move(chain[0].id, 1, parent=x.id).status == 200
    keys = [page.key for page in chain]
    assert ana.page(chain[-1].id).path == "/".join(["x", *(key or "" for key in keys)])
    # One level more would be too many, and nothing of it is moved.
    y = ana.made("y", parent=team.id, scope=TEAM)
    with kb.nothing_written():
        ana.move(chain[0].id, 2, scope=TEAM, parent=y.id).refused(422, "NESTING_TOO_DEEP")
    kb.check_tree()


@both_doors
def test_what_moves_twice_in_one_commit(kb: KnowledgeBase, ana: Client, door: Door) -> None:
    _, b, c = ana.chain("a", "b", "c")
    x, y = ana.made("x"), ana.made("y")
    assert (
        ana.commit(
            {"op": "move", "page": b.id, "expectedVersion": 1, "parent": x.id},
            {"op": "move", "page": b.id, "expectedVersion": 1, "parent": y.id, "key": "z"},
        ).status
        == 201
    )
    assert ana.page(c.id).path == "y/z/c"
    assert door(ana, "move", y.id, 1, {"key": "w"}).status in (200, 201)
    assert ana.page(c.id).path == "w/z/c"
    for path in ("a/b/c", "x/b/c", "y/z/c"):
        assert ana.at(f"org:acme#{path}").status == 404
    kb.check_tree()


def test_links_go_on_leading_to_the_page(ana: Client) -> None:
    _, b, c = ana.chain("a", "b", "c")
    source = ana.made("source", body="See [[org:acme#a/b/c]].\n")
    assert ana.move(b.id, 1, parent=None, key="moved").status == 200
    part = ana.part(f"/pages/{c.id}/backlinks")
    assert source.id in bytes(part.items[0]).decode()
