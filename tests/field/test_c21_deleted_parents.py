"""C21: deleting a parent left its children alive, where nobody could reach them."""

import pytest

from kbstore.limits import PAGES_PER_OPERATION_MAX
from tests.asking import Client
from tests.field.doors import Door, batched, both_doors, single
from tests.knowledge import SCOPE, TEAM, KnowledgeBase


@both_doors
@pytest.mark.parametrize("fields", [{}, {"subtree": False}])
@pytest.mark.parametrize("depth", [2, 3, 10])
def test_a_page_with_children_is_refused(
    kb: KnowledgeBase, ana: Client, depth: int, fields: dict[str, object], door: Door
) -> None:
    chain = ana.chain(*[f"k{number}" for number in range(depth)])
    for page in chain[:-1]:
        with kb.nothing_written():
            refusal = door(ana, "delete", page.id, 1, fields).refused(409, "PAGE_HAS_CHILDREN")
        assert refusal.details["pageId"] == page.id
    assert door(ana, "delete", chain[-1].id, 1, fields).status in (200, 201)
    kb.check_tree()


@both_doors
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_subtree_goes_as_a_whole_in_one_revision(
    kb: KnowledgeBase, ana: Client, place: int, door: Door
) -> None:
    chain = ana.chain("a", "b", "c", "d")
    sides = [ana.made("side", parent=page.id) for page in chain]
    keyless = ana.made(None, parent=chain[-1].id)
    before = kb.revision
    answer = door(ana, "delete", chain[place].id, 1, {"subtree": True})
    assert answer.json["revision"] == kb.revision == before + 1
    gone = [*chain[place:], *sides[place:], keyless]
    for page in gone:
        ana.ask("GET", f"/pages/{page.id}").refused(404, "NOT_FOUND")
        ana.at(page.ref).refused(404, "NOT_FOUND")
        assert ana.page(page.id, revision=before).version == 1
    for page in [*chain[:place], *sides[:place]]:
        assert ana.page(page.id).version == 1
    # Children end before their parents, so no event leaves a page under one that has gone.
    ended = [event.page for event in kb.log()[-len(gone) :]]
    assert set(ended) == {page.id for page in gone}
    for page in gone:
        if page.parent in ended:
            assert ended.index(page.id) < ended.index(page.parent)
    kb.check_tree()


def test_a_child_that_moved_away_before_stays(kb: KnowledgeBase, ana: Client) -> None:
    a, b, c = ana.chain("a", "b", "c")
    ana.move(c.id, 1, scope=TEAM)
    assert ana.delete(a.id, 1, subtree=True).status == 200
    assert ana.page(c.id).ref == f"{TEAM}#c"
    ana.ask("GET", f"/pages/{b.id}").refused(404, "NOT_FOUND")
    kb.check_tree()


def test_in_a_commit_the_parent_may_go_last(kb: KnowledgeBase, ana: Client) -> None:
    a, b, c = ana.chain("a", "b", "c")

    def delete(page: str) -> dict[str, object]:
        return {"op": "delete", "page": page, "expectedVersion": 1}

    with kb.nothing_written():
        ana.commit(delete(a.id), delete(b.id), delete(c.id)).refused(409, "PAGE_HAS_CHILDREN")
    with kb.nothing_written():
        ana.commit(
            delete(c.id),
            delete(b.id),
            {"op": "create", "scope": SCOPE, "name": "New", "parent": a.id},
            delete(a.id),
        ).refused(409, "PAGE_HAS_CHILDREN")
    assert ana.commit(delete(c.id), delete(b.id), delete(a.id)).status == 201
    kb.check_tree()


def test_a_child_created_after_the_page_went(kb: KnowledgeBase, ana: Client) -> None:
    a = ana.made("a")
    ana.delete(a.id, 1)
    with kb.nothing_written():
        ana.create("b", parent=a.id).refused(409, "PARENT_DELETED")
    with kb.nothing_written():
        ana.delete(a.id, 2, subtree=True).refused(404, "NOT_FOUND")


@pytest.mark.parametrize("door", [single, batched])
def test_more_than_one_operation_may_take_is_refused_as_a_whole(
    kb: KnowledgeBase, ana: Client, door: Door
) -> None:
    a = ana.made("a")
    children = [
        {"op": "create", "scope": SCOPE, "name": "Child", "parent": a.id}
        for _ in range(PAGES_PER_OPERATION_MAX)
    ]
    assert ana.commit(*children).status == 201
    with kb.nothing_written():
        door(ana, "delete", a.id, 1, {"subtree": True}).refused(422, "TOO_MANY_PAGES")
    assert ana.delete(ana.children(a.id)[0].id, 1).status == 200
    assert door(ana, "delete", a.id, 1, {"subtree": True}).status in (200, 201)
    kb.check_tree()
    assert len(kb.tree()) == 1
