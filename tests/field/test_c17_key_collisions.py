"""C17: moving or merging onto a name in use overwrote, skipped or renamed, by luck."""

import pytest
from msgspec import Struct, convert

from kbstore.limits import KEY_CODE_POINTS_MAX
from tests.asking import Client, Renamed
from tests.field.doors import Door, both_doors, single
from tests.knowledge import KnowledgeBase


class Collision(Struct, rename="camel"):
    key: str
    page_id: str
    taken_by: str


SAME_KEYS = [
    ("faq", "faq"),
    ("faq", "FAQ"),
    ("Straße", "STRASSE"),
    ("café", "cafe\u0301"),
    ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ("測試", "測試"),
    ("🤔", "🤔"),
]
"""Keys that are one key after normalisation and case folding."""


@both_doors
@pytest.mark.parametrize(("there", "coming"), SAME_KEYS)
def test_a_merge_fails_by_default_and_lists_all_collisions(
    kb: KnowledgeBase, ana: Client, there: str, coming: str, door: Door
) -> None:
    p, q = ana.made("p"), ana.made("q")
    taken = [ana.made(f"{there}{number}", parent=p.id) for number in range(3)]
    coming_in = [ana.made(f"{coming}{number}", parent=q.id) for number in range(3)]
    ana.made("free", parent=q.id)
    for policy in ({}, {"onKeyCollision": "fail"}):
        with kb.nothing_written():
            refusal = door(ana, "merge", q.id, 1, {"into": p.id, **policy})
        details = refusal.refused(409, "KEY_TAKEN").details
        listed = convert(details["collisions"], list[Collision])
        assert {(c.page_id, c.taken_by) for c in listed} == {
            (new.id, old.id) for new, old in zip(coming_in, taken, strict=True)
        }


@pytest.mark.parametrize(("there", "coming"), SAME_KEYS)
def test_rename_takes_the_next_free_key_and_reports_it(
    kb: KnowledgeBase, ana: Client, there: str, coming: str
) -> None:
    p, q = ana.made("p"), ana.made("q")
    ana.made(there, parent=p.id)
    ana.made(f"{there}-2", parent=p.id)
    coming_in, free = ana.made(coming, parent=q.id), ana.made("free", parent=q.id)
    below = ana.made("below", parent=coming_in.id)
    answer = ana.merge(q.id, p.id, 1, onKeyCollision="rename").written
    renamed = ana.page(coming_in.id)
    assert renamed.key is not None
    assert renamed.key.endswith("-3")
    before = coming_in.key
    assert before is not None
    assert answer.renamed == (Renamed(coming_in.id, before, renamed.key),)
    assert ana.page(free.id).path == "p/free"
    assert ana.page(below.id).path == f"p/{renamed.key}/below"
    kb.check_tree()


def test_renaming_in_a_commit(kb: KnowledgeBase, ana: Client) -> None:
    p, q = ana.made("p"), ana.made("q")
    ana.made("faq", parent=p.id)
    child = ana.made("faq", parent=q.id)
    merge = {
        "op": "merge",
        "page": q.id,
        "expectedVersion": 1,
        "into": p.id,
        "onKeyCollision": "rename",
    }
    with kb.nothing_written():
        assert ana.commit(merge, dryRun=True).status == 200
    assert ana.commit(merge).status == 201
    assert ana.page(child.id).path == "p/faq-2"


def test_a_dry_run_lists_the_collisions(kb: KnowledgeBase, ana: Client) -> None:
    p, q = ana.made("p"), ana.made("q")
    for parent in (p, q):
        ana.made("faq", parent=parent.id)
    merge = {"op": "merge", "page": q.id, "expectedVersion": 1, "into": p.id}
    with kb.nothing_written():
        refusal = ana.commit(merge, dryRun=True).refused(409, "KEY_TAKEN")
    assert len(convert(refusal.details["collisions"], list[Collision])) == 1


@both_doors
@pytest.mark.parametrize("policy", ["merge", "overwrite", "skip", "", None, True])
def test_no_other_policy_is_guessed(
    kb: KnowledgeBase, ana: Client, policy: object, door: Door
) -> None:
    p, q = ana.made("p"), ana.made("q")
    with kb.nothing_written():
        answer = door(ana, "merge", q.id, 1, {"into": p.id, "onKeyCollision": policy})
    field = answer.refused(422, "VALIDATION_ERROR").details["field"]
    assert str(field).endswith("onKeyCollision")


@pytest.mark.parametrize("length", [KEY_CODE_POINTS_MAX, KEY_CODE_POINTS_MAX - 1])
def test_a_renamed_key_keeps_within_its_limit(kb: KnowledgeBase, ana: Client, length: int) -> None:
    p, q = ana.made("p"), ana.made("q")
    ana.made("k" * length, parent=p.id)
    child = ana.made("k" * length, parent=q.id)
    assert ana.merge(q.id, p.id, 1, onKeyCollision="rename").status == 200
    key = ana.page(child.id).key
    assert key is not None
    assert len(key) <= KEY_CODE_POINTS_MAX
    assert key.endswith("-2")


def test_many_children_of_one_key_each_get_their_own(kb: KnowledgeBase, ana: Client) -> None:
    """The keys it makes do not meet each other, nor children that had them before."""
    p = ana.made("p")
    ana.made("faq", parent=p.id)
    for number in range(3):
        q = ana.made(f"q{number}")
        ana.made("faq", parent=q.id)
        ana.made("FAQ-2", parent=q.id)
        assert ana.merge(q.id, p.id, 1, onKeyCollision="rename").status == 200
        kb.check_tree()
    assert len(ana.children(p.id)) == 7


def test_a_child_takes_over_the_key_of_the_page_that_goes(kb: KnowledgeBase, ana: Client) -> None:
    """p/q/q: q goes into p, and its child q stands where it stood."""
    p, q, child = ana.chain("p", "q", "q")
    assert ana.merge(q.id, p.id, 1).status == 200
    assert ana.page_at("org:acme#p/q").id == child.id
    kb.check_tree()


@both_doors
@pytest.mark.parametrize(("there", "coming"), SAME_KEYS)
def test_moving_onto_a_taken_key_is_always_refused(
    kb: KnowledgeBase, ana: Client, there: str, coming: str, door: Door
) -> None:
    parent = ana.made("parent")
    holder = ana.made(there, parent=parent.id)
    sibling = ana.made("sibling", parent=parent.id)
    outside = ana.made(coming)
    for page, place in ((outside, {"parent": parent.id}), (sibling, {"key": coming})):
        with kb.nothing_written():
            refusal = door(ana, "move", page.id, 1, place).refused(409, "KEY_TAKEN")
        assert refusal.details["pageId"] == holder.id
    # A page may change the case of its own key.
    if there != coming and door is single:
        assert ana.move(holder.id, 1, key=coming).status == 200


def test_keyless_children_never_collide(kb: KnowledgeBase, ana: Client) -> None:
    p, q = ana.made("p"), ana.made("q")
    for parent in (p, q):
        ana.made(None, name="Same name", parent=parent.id)
    assert ana.merge(q.id, p.id, 1).status == 200
    assert len(ana.children(p.id)) == 2
