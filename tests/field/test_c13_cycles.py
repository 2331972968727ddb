"""C13: a page became its own ancestor; lists lost it, or ran in circles until a time-out."""

from functools import partial

import pytest

from kbstore.limits import NESTING_LEVELS_MAX
from tests.asking import Answer, Client
from tests.field.doors import Door, both_doors
from tests.knowledge import SCOPE, TEAM, KnowledgeBase
from tests.together import racing

DEPTHS = [2, 3, NESTING_LEVELS_MAX]


@both_doors
@pytest.mark.parametrize("op", ["move", "merge"])
@pytest.mark.parametrize("depth", DEPTHS)
def test_under_itself_or_any_page_below(
    kb: KnowledgeBase, ana: Client, depth: int, op: str, door: Door
) -> None:
    chain = ana.chain(*[f"level{number}" for number in range(depth)])
    target = "parent" if op == "move" else "into"
    for top, page in enumerate(chain):
        for below in chain[top:]:
            with kb.nothing_written():
                answer = door(ana, op, page.id, 1, {target: below.id})
            answer.refused(409, "WOULD_CREATE_CYCLE")
    kb.check_tree()
    assert ana.page(chain[-1].id).path == "/".join(page.key or "" for page in chain)


@pytest.mark.parametrize("scope", [SCOPE, TEAM])
@both_doors
def test_a_scope_given_as_well_changes_nothing(
    kb: KnowledgeBase, ana: Client, scope: str, door: Door
) -> None:
    a = ana.made("a", scope=scope)
    b = ana.made("b", scope=scope, parent=a.id)
    with kb.nothing_written():
        fields = {"scope": scope, "parent": b.id, "key": "other"}
        door(ana, "move", a.id, 1, fields).refused(409, "WOULD_CREATE_CYCLE")


def test_step_by_step_within_one_commit(kb: KnowledgeBase, ana: Client) -> None:
    a, b, c = (ana.made(key) for key in "abc")
    ring = [
        {"op": "move", "page": page.id, "expectedVersion": 1, "parent": parent.id}
        for page, parent in ((a, b), (b, c), (c, a))
    ]
    with kb.nothing_written():
        ana.commit(*ring).refused(409, "WOULD_CREATE_CYCLE")
    assert ana.commit(*ring[:2]).status == 201
    assert ana.page(a.id).path == "c/b/a"
    kb.check_tree()


def test_a_page_of_the_same_commit(kb: KnowledgeBase, ana: Client) -> None:
    a = ana.made("a")
    with kb.nothing_written():
        ana.commit(
            {"op": "create", "scope": SCOPE, "name": "New", "parent": a.id},
            {"op": "move", "page": a.id, "expectedVersion": 1, "parent": "$0"},
        ).refused(409, "WOULD_CREATE_CYCLE")


def test_what_only_looks_like_a_cycle_is_allowed(kb: KnowledgeBase, ana: Client) -> None:
    """Parent and child change places, in one commit or in two steps."""
    a, b = ana.chain("a", "b")
    swap = [
        {"op": "move", "page": b.id, "expectedVersion": 1, "parent": None},
        {"op": "move", "page": a.id, "expectedVersion": 1, "parent": b.id},
    ]
    assert ana.commit(*swap).status == 201
    assert ana.page(a.id).path == "b/a"
    assert ana.move(a.id, 2, parent=None).status == 200
    assert ana.move(b.id, 2, parent=a.id).status == 200
    assert ana.page(b.id).path == "a/b"
    kb.check_tree()


def test_a_restored_page_under_one_that_once_stood_below_it(kb: KnowledgeBase, ana: Client) -> None:
    a, b, c = ana.chain("a", "b", "c")
    ana.move(b.id, 1, parent=None)
    ana.delete(a.id, 1)
    assert ana.restore(a.id, 2, parent=c.id).page.path == "b/c/a"
    kb.check_tree()


@pytest.mark.parametrize("length", [2, 3])
def test_racing_moves_of_a_ring(kb: KnowledgeBase, ana: Client, ben: Client, length: int) -> None:
    """Each move looks fine alone; one of them has to lose."""
    with racing(length) as together:
        for number in range(10):
            pages = [ana.made(f"p{number}-{place}") for place in range(length)]
            answers = together.run(
                [
                    partial(
                        (ana, ben)[place % 2].move,
                        page.id,
                        1,
                        parent=pages[(place + 1) % length].id,
                    )
                    for place, page in enumerate(pages)
                ]
            )
            refused = [a for a in answers if isinstance(a, Answer) and a.status != 200]
            assert [a.refusal.code for a in refused] == ["WOULD_CREATE_CYCLE"]
            kb.check_tree()
