"""C22: restoring a child whose parent was deleted showed nothing, or lost the page for good."""

import pytest

from tests.asking import Ask, Client, Page
from tests.field.doors import Door, both_doors
from tests.knowledge import SCOPE, TEAM, KnowledgeBase


@pytest.fixture
def chain(ana: Client) -> list[Page]:
    """a/b/c, all deleted at once."""
    pages = ana.chain("a", "b", "c")
    ana.edit(pages[1].id, 1, body="# B\n")
    assert ana.delete(pages[0].id, 1, subtree=True).status == 200
    return pages


@both_doors
@pytest.mark.parametrize("source", [{}, {"version": 1}])
def test_alone_it_is_refused_with_a_hint_and_not_lost(
    kb: KnowledgeBase, ana: Client, chain: list[Page], source: dict[str, object], door: Door
) -> None:
    a, b, c = chain
    for page, parent in ((b, a), (c, b)):
        with kb.nothing_written():
            refusal = door(ana, "restore", page.id, "*", source).refused(409, "PARENT_DELETED")
        assert refusal.details["parentId"] == parent.id
        assert refusal.details["hint"]
    assert {deletion.page_id for deletion in ana.deletions()} == {page.id for page in chain}


@both_doors
def test_going_back_is_for_owners(kb: KnowledgeBase, ana: Client, asking: Ask, door: Door) -> None:
    page = ana.made("a", body="one")
    ana.edit(page.id, 1, body="two")
    ben = asking("user:ben", "editor:acme")
    with kb.nothing_written():
        refusal = door(ben, "restore", page.id, 2, {"version": 1}).refused(403, "ROLE_TOO_WEAK")
    assert refusal.details["needed"] == "owner"
    assert door(ana, "restore", page.id, 2, {"version": 1}).status in (200, 201)


@both_doors
@pytest.mark.parametrize(
    ("place", "ref"),
    [
        ({"parent": None}, "org:acme#b"),
        ({"parent": None, "key": "new"}, "org:acme#new"),
        ({"parent": "x"}, "org:acme#x/b"),
        ({"parent": "t"}, "team:acme:support#t/b"),
        ({"parent": "x", "key": None}, None),
    ],
)
def test_under_a_named_parent_it_comes_back(
    kb: KnowledgeBase,
    ana: Client,
    chain: list[Page],
    place: dict[str, object],
    ref: str | None,
    door: Door,
) -> None:
    x, t = ana.made("x"), ana.made("t", scope=TEAM)
    ids = {"x": x.id, "t": t.id}
    sent = {name: ids.get(str(value), value) for name, value in place.items()}
    b = chain[1]
    assert door(ana, "restore", b.id, 3, sent).status in (200, 201)
    read = ana.page(b.id)
    assert (read.version, read.body) == (4, "# B\n")
    assert read.ref == (ref or b.id)
    # Its child can follow now, to where its parent came to stand.
    assert door(ana, "restore", chain[2].id, 2, {}).status in (200, 201)
    assert ana.page(chain[2].id).parent == b.id
    kb.check_tree()


@both_doors
def test_parents_first_brings_all_of_them_back(
    kb: KnowledgeBase, ana: Client, chain: list[Page], door: Door
) -> None:
    for page in chain:
        assert door(ana, "restore", page.id, "*", {}).status in (200, 201)
    assert [ana.page(page.id).path for page in chain] == ["a", "a/b", "a/b/c"]
    kb.check_tree()


def test_in_one_commit_in_either_order(kb: KnowledgeBase, ana: Client, chain: list[Page]) -> None:
    operations = [{"op": "restore", "page": page.id, "expectedVersion": "any"} for page in chain]
    with kb.nothing_written():
        ana.commit(*reversed(operations)).refused(409, "PARENT_DELETED")
    assert ana.commit(*operations).status == 201
    kb.check_tree()


def test_a_parent_that_was_merged_away(kb: KnowledgeBase, ana: Client) -> None:
    parent, child, into = ana.made("parent"), None, ana.made("into")
    child = ana.made("child", parent=parent.id)
    ana.delete(child.id, 1)
    ana.merge(parent.id, into.id, 1)
    with kb.nothing_written():
        refusal = ana.restore(child.id, 2).refused(404, "PARENT_NOT_FOUND")
    assert refusal.details["mergedInto"] == into.id
    assert ana.restore(child.id, 2, parent=into.id).page.path == "into/child"


def test_a_parent_that_moved_is_no_obstacle(kb: KnowledgeBase, ana: Client) -> None:
    """The page comes back to where its parent stands now, in that scope."""
    parent = ana.made("parent")
    child = ana.made("child", parent=parent.id)
    ana.delete(child.id, 1)
    ana.move(parent.id, 1, scope=TEAM, key="moved")
    assert ana.restore(child.id, 2).page.ref == f"{TEAM}#moved/child"
    kb.check_tree()


def test_its_key_was_taken_meanwhile(kb: KnowledgeBase, ana: Client) -> None:
    page = ana.made("faq", body="old\n")
    ana.delete(page.id, 1)
    ana.made("FAQ")
    with kb.nothing_written():
        ana.restore(page.id, 2).refused(409, "KEY_TAKEN")
    assert ana.restore(page.id, 2, key="faq-old").page.body == "old\n"
    kb.check_tree()


def test_what_was_never_deleted_or_never_there(kb: KnowledgeBase, ana: Client) -> None:
    page = ana.made("p")
    unknown = "01900000-0000-7000-8000-000000000000"
    with kb.nothing_written():
        ana.restore(unknown, "*").refused(404, "NOT_FOUND")
        ana.restore(page.id, 1).refused(422, "VALIDATION_ERROR")
        ana.restore(page.id, 1, deletion=kb.revision).refused(422, "VALIDATION_ERROR")
        ana.restore(page.id, 1, version=1, scope=SCOPE).refused(422, "VALIDATION_ERROR")
