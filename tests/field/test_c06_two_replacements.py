"""C6: two replacements of one record at the same time left two records, both marked newest."""

from functools import partial

import pytest

from tests.asking import Answer, Client
from tests.knowledge import SCOPE, KnowledgeBase
from tests.together import racing


@pytest.mark.parametrize("version", [1, "*"])
def test_of_two_merges_sent_together_one_wins(
    kb: KnowledgeBase, ana: Client, ben: Client, version: int | str
) -> None:
    with racing(2) as together:
        for number in range(20):
            page, q, r = (ana.made(f"{letter}{number}") for letter in "pqr")
            child = ana.made("child", parent=page.id)
            answers = together.run(
                [
                    partial(client.merge, page.id, into.id, version)
                    for client, into in ((ana, q), (ben, r))
                ]
            )
            won = [a for a in answers if isinstance(a, Answer) and a.status == 200]
            lost = [a for a in answers if isinstance(a, Answer) and a.status == 404]
            assert (len(won), len(lost)) == (1, 1)
            remaining = won[0].page.id
            assert lost[0].refusal.details["mergedInto"] == remaining
            assert ana.page(child.id).parent == remaining
            assert len(kb.events_of(page.id)) == 2
            kb.check_tree()


def test_a_second_merge_says_where_the_page_went(kb: KnowledgeBase, ana: Client) -> None:
    page, q, r = (ana.made(letter).id for letter in "pqr")
    assert ana.merge(page, q).status == 200
    for into in (q, r):
        with kb.nothing_written():
            refusal = ana.merge(page, into, 1).refused(404, "NOT_FOUND")
        assert refusal.details["mergedInto"] == q
    assert ana.merge(q, r).status == 200
    assert ana.merge(page, r).refused(404, "NOT_FOUND").details["mergedInto"] == r


def test_two_merges_of_a_page_in_one_commit_are_none(kb: KnowledgeBase, ana: Client) -> None:
    page, q, r = (ana.made(letter).id for letter in "pqr")
    merges = [{"op": "merge", "page": page, "expectedVersion": 1, "into": into} for into in (q, r)]
    with kb.nothing_written():
        ana.commit(*merges).refused(404, "NOT_FOUND")
    assert ana.page(page).version == 1


def test_a_page_that_is_merged_takes_no_more_writes(kb: KnowledgeBase, ana: Client) -> None:
    page, q = ana.made("p").id, ana.made("q").id
    assert ana.merge(page, q).status == 200
    writes = [
        partial(ana.edit, page, "*", body="late"),
        partial(ana.move, page, "*", key="late"),
        partial(ana.delete, page, "*"),
        partial(ana.merge, q, page, "*"),
        partial(ana.restore, page, "*", version=1),
        partial(ana.ask, "POST", f"/pages/{page}/notes", {"text": "late", "scope": [SCOPE]}),
        partial(ana.ask, "PUT", f"/pages/{page}/pins/page", {"audience": [SCOPE]}),
    ]
    for write in writes:
        with kb.nothing_written():
            refusal = write().refused(404, "NOT_FOUND")
        assert refusal.details["mergedInto"] == q
    with kb.nothing_written():
        ana.create("child", parent=page).refused(404, "PARENT_NOT_FOUND")


def test_a_key_has_one_live_page_whatever_is_replaced(kb: KnowledgeBase, ana: Client) -> None:
    """A key that is given up is taken by another page, and the first one comes back."""
    first = ana.made("faq")
    assert ana.delete(first.id, 1).status == 200
    second = ana.made("faq")
    with kb.nothing_written():
        refusal = ana.restore(first.id, 2).refused(409, "KEY_TAKEN")
    assert refusal.details["pageId"] == second.id
    assert ana.move(second.id, 1, key="old-faq").status == 200
    assert ana.restore(first.id, 2).page.ref == "org:acme#faq"
    with kb.nothing_written():
        ana.move(second.id, 2, key="FAQ").refused(409, "KEY_TAKEN")
    assert ana.page_at("org:acme#faq").id == first.id
    kb.check_tree()
