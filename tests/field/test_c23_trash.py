"""C23: the trash listed the parent alone, so a program could not see what else had gone."""

import msgspec
import pytest

from kbstore.limits import PAGES_PER_OPERATION_MAX
from tests.asking import Ask, Client, Committed, Page
from tests.field.doors import Door, both_doors
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase


def grow(client: Client, scope: str = SCOPE) -> list[Page]:
    """a, a/b, a/b/c and a page without a key below a."""
    a = client.made("a", scope=scope, body="# A\n")
    b = client.made("b", scope=scope, parent=a.id, description="B")
    c = client.made("c", scope=scope, parent=b.id)
    keyless = client.made(None, scope=scope, parent=a.id)
    return [a, b, c, keyless]


@both_doors
@pytest.mark.parametrize("scope", [SCOPE, TEAM])
def test_each_page_is_listed_with_the_one_deletion(
    kb: KnowledgeBase, ana: Client, scope: str, door: Door
) -> None:
    pages = grow(ana, scope)
    ana.edit(pages[1].id, 1, body="# B\n")
    position = len(kb.log())
    answer = door(ana, "delete", pages[0].id, 1, {"subtree": True})
    revision = answer.json["revision"]
    listed = ana.deletions()
    assert {(d.page_id, d.ref, d.deletion) for d in listed} == {
        (page.id, page.ref, revision) for page in pages
    }
    assert {d.page_id: d.version for d in listed}[pages[1].id] == 3
    # A reader of the feed sees each of them as well, all in that commit.
    seen = ana.events(after=position)
    assert [(event.type, event.revision) for event in seen] == [("page.deleted", revision)] * 4
    assert {event.page_id for event in seen} == {page.id for page in pages}


@both_doors
@pytest.mark.parametrize("by", [0, 1, 2, 3])
def test_the_deletion_brings_all_of_them_back(
    kb: KnowledgeBase, ana: Client, by: int, door: Door
) -> None:
    """Whichever of the pages is named with it."""
    pages = grow(ana)
    deletion = ana.delete(pages[0].id, 1, subtree=True).revision
    before = kb.revision
    answer = door(ana, "restore", pages[by].id, 2, {"deletion": deletion})
    assert answer.status in (200, 201)
    assert kb.revision == before + 1
    for page in pages:
        back = ana.page(page.id)
        assert msgspec.structs.replace(back, version=1) == page
        assert back.version == 3
    assert ana.deletions() == []
    assert len(ana.deletions(revision=before)) == 4, "as it was before"
    kb.check_tree()


def test_notes_and_pins_come_back_with_their_page(ana: Client) -> None:
    page = ana.made("p").id
    note = {"text": "A fact.", "scope": [SCOPE]}
    assert ana.ask("POST", f"/pages/{page}/notes", note).status == 201
    assert ana.ask("PUT", f"/pages/{page}/pins/page", {"audience": [SCOPE]}).status == 201
    deletion = ana.delete(page, 1).revision
    ana.ask("GET", f"/pages/{page}/notes").refused(404, "NOT_FOUND")
    ana.restore(page, 2, deletion=deletion)
    assert len(ana.part(f"/pages/{page}/notes").items) == 1
    assert len(ana.part(f"/pages/{page}/pins").items) == 1


def test_two_deletions_are_told_apart(kb: KnowledgeBase, ana: Client) -> None:
    """A child that had gone before stays in the trash when its parent's deletion is undone."""
    pages = grow(ana)
    first = ana.delete(pages[2].id, 1).revision
    second = ana.delete(pages[0].id, 1, subtree=True).revision
    assert {d.page_id: d.deletion for d in ana.deletions()} == {
        pages[0].id: second,
        pages[1].id: second,
        pages[2].id: first,
        pages[3].id: second,
    }
    ana.restore(pages[0].id, 2, deletion=second)
    assert [d.page_id for d in ana.deletions()] == [pages[2].id]
    assert ana.restore(pages[2].id, 2, deletion=first).page.path == "a/b/c"
    kb.check_tree()


def test_a_deletion_that_is_not_the_pages_own(kb: KnowledgeBase, ana: Client) -> None:
    pages = grow(ana)
    other = ana.made("other")
    deletion = ana.delete(pages[0].id, 1, subtree=True).revision
    unrelated = ana.delete(other.id, 1).revision
    for wrong in (unrelated, deletion - 1, 1, 10**6):
        with kb.nothing_written():
            refusal = ana.restore(pages[0].id, 2, deletion=wrong).refused(422, "VALIDATION_ERROR")
        assert refusal.details["field"] == "deletion"


def test_a_commit_that_deletes_several_subtrees_is_one_deletion(
    kb: KnowledgeBase, ana: Client
) -> None:
    one, two = grow(ana), ana.made("two")
    child = ana.made("child", parent=two.id)
    answer = ana.commit(
        {"op": "delete", "page": one[0].id, "expectedVersion": 1, "subtree": True},
        {"op": "delete", "page": two.id, "expectedVersion": 1, "subtree": True},
    )
    deletion = answer.json["revision"]
    assert {d.deletion for d in ana.deletions()} == {deletion}
    assert len(ana.deletions()) == 6
    ana.restore(child.id, 2, deletion=deletion)
    assert ana.deletions() == []
    kb.check_tree()


def test_a_commit_deletes_no_more_than_its_deletion_brings_back(
    kb: KnowledgeBase, ana: Client
) -> None:
    tops = [ana.made(f"top{number}") for number in range(2)]
    most = PAGES_PER_OPERATION_MAX
    for top, below in zip(tops, (most // 2, most - most // 2 - 1), strict=True):
        create = {"op": "create", "scope": SCOPE, "name": "Child", "parent": top.id}
        assert ana.commit(*[create] * below).status == 201
    delete = [
        {"op": "delete", "page": top.id, "expectedVersion": "any", "subtree": True} for top in tops
    ]
    with kb.nothing_written():
        refusal = ana.commit(*delete).refused(422, "TOO_MANY_PAGES")
    assert refusal.details == {"maximum": most, "operation": 1}
    assert ana.delete(ana.children(tops[1].id)[0].id, 1).status == 200
    deletion = ana.commit(*delete).read(Committed).revision
    assert ana.restore(tops[0].id, deletion=deletion).status == 200
    kb.check_tree()


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 200])
def test_the_trash_is_walked_without_a_gap(ana: Client, limit: int) -> None:
    pages = grow(ana)
    others = [ana.made(f"o{number}").id for number in range(3)]
    ana.delete(pages[0].id, 1, subtree=True)
    for other in others:
        ana.delete(other, 1)
    listed = ana.deletions(limit=limit)
    assert len(listed) == len({d.page_id for d in listed}) == 7
    assert [d.deletion for d in listed] == sorted((d.deletion for d in listed), reverse=True)


def test_others_do_not_see_what_they_could_not_restore(asking: Ask, ana: Client) -> None:
    vault = asking("user:vic", VAULT)
    secret = vault.made("secret", scope=VAULT)
    page = ana.made("p")
    vault.delete(secret.id, 1)
    ana.delete(page.id, 1)
    assert [d.page_id for d in ana.deletions()] == [page.id]
    assert [d.page_id for d in vault.deletions()] == [secret.id]
    assert asking("user:ben", "viewer:acme").deletions() == []
