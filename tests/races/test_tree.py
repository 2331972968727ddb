"""Races for places in the tree: whoever loses is told why, and the tree stays a tree."""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

import pytest

from kbstore.domain.commands import (
    Batch,
    Command,
    CreatePage,
    DeletePage,
    MergePage,
    MovePage,
    PageOperation,
    RestorePage,
)
from tests.asking import Answer, Client
from tests.knowledge import SCOPE, KnowledgeBase
from tests.together import codes, racing, winners

ROUNDS = 40
HTTP_ROUNDS = 10

Send = Callable[[PageOperation], Command]


def create(kb: KnowledgeBase, key: str, parent: UUID | None = None) -> UUID:
    command = CreatePage(scope=SCOPE, parent=parent, key=key, name=kb.text(key))
    return kb.run(command).subjects[0].id


def alone(operation: PageOperation) -> Command:
    return operation


def in_commit(operation: PageOperation) -> Command:
    return Batch(operations=(operation,))


# --- moves ----------------------------------------------------------------------------------


@pytest.mark.parametrize("send", [alone, in_commit])
@pytest.mark.parametrize("length", [2, 3, 5])
def test_racing_moves_never_make_a_cycle(kb: KnowledgeBase, length: int, send: Send) -> None:
    """Each of the moves a under b, b under c, c under a is fine alone; together they are a ring."""
    pages = [create(kb, f"p{number}") for number in range(length)]
    # Below each page stands another one, and the moves go there: under a descendant.
    below = [create(kb, "below", page) for page in pages]
    with racing(length) as together:
        for _ in range(ROUNDS):
            ring = [
                send(MovePage(page=page, parent=below[(number + 1) % length]))
                for number, page in enumerate(pages)
            ]
            outcomes = together.run([partial(kb.run, command) for command in ring])
            assert codes(outcomes) == ["WOULD_CREATE_CYCLE"]
            kb.check_tree()
            for page in pages:
                kb.run(MovePage(page=page, parent=None))


def test_a_move_races_a_merge_into_what_it_moves(kb: KnowledgeBase) -> None:
    """p goes under q while q is merged into p: one of them comes too late."""
    with racing(2) as together:
        for number in range(ROUNDS):
            p, q = create(kb, f"p{number}"), create(kb, f"q{number}")
            outcomes = together.run(
                [
                    partial(kb.run, MovePage(page=p, parent=q)),
                    partial(kb.run, MergePage(page=q, into=p)),
                ]
            )
            assert len(winners(outcomes)) == 1
            assert codes(outcomes)[0] in ("WOULD_CREATE_CYCLE", "PARENT_NOT_FOUND")
            kb.check_tree()


def test_moves_over_http(kb: KnowledgeBase, ana: Client) -> None:
    a, b = ana.made("a"), ana.made("b")
    with racing(2) as together:
        for _ in range(HTTP_ROUNDS):
            answers = together.run(
                [
                    partial(ana.move, a.id, ana.page(a.id).version, parent=b.id),
                    partial(ana.move, b.id, ana.page(b.id).version, parent=a.id),
                ]
            )
            assert sorted(_codes(answers)) == ["", "WOULD_CREATE_CYCLE"]
            kb.check_tree()
            for page in (a, b):
                assert ana.move(page.id, parent=None).status == 200


# --- keys -----------------------------------------------------------------------------------

SPELLINGS = ("café", "cafe\u0301", "CAFÉ", "Cafe\u0301", "café", "CAFE\u0301")
"""One key, as four keyboards send it."""


def test_racing_creates_of_one_key(kb: KnowledgeBase) -> None:
    with racing(len(SPELLINGS)) as together:
        for number in range(ROUNDS):
            commands = [
                CreatePage(scope=SCOPE, key=f"{spelling}{number}", name=kb.text("Café"))
                for spelling in SPELLINGS
            ]
            outcomes = together.run([partial(kb.run, command) for command in commands])
            assert len(winners(outcomes)) == 1
            assert codes(outcomes) == ["KEY_TAKEN"] * (len(SPELLINGS) - 1)
    assert sum(event.topic == "page.created" for event in kb.log()) == ROUNDS + 1
    kb.check_tree()


def test_a_create_a_move_a_restore_and_a_merge_race_for_one_key(kb: KnowledgeBase) -> None:
    top = create(kb, "top")
    with racing(4) as together:
        for number in range(ROUNDS):
            key = f"k{number}"
            moving = create(kb, f"m{number}")
            gone = create(kb, key, top)
            kb.run(DeletePage(page=gone))
            merging = create(kb, f"g{number}")
            child = create(kb, key.upper(), merging)
            outcomes = together.run(
                [
                    partial(
                        kb.run, CreatePage(scope=SCOPE, parent=top, key=key, name=kb.text("New"))
                    ),
                    partial(kb.run, MovePage(page=moving, parent=top, key=key)),
                    partial(kb.run, RestorePage(page=gone)),
                    partial(kb.run, MergePage(page=merging, into=top)),
                ]
            )
            assert len(winners(outcomes)) == 1
            assert codes(outcomes) == ["KEY_TAKEN"] * 3
            assert kb.tree()[str(child)].key_fold == key
            kb.check_tree()


def test_creates_over_http(kb: KnowledgeBase, ana: Client) -> None:
    with racing(len(SPELLINGS)) as together:
        for number in range(HTTP_ROUNDS):
            answers = together.run(
                [partial(ana.create, f"{spelling}{number}") for spelling in SPELLINGS]
            )
            assert sorted(_codes(answers)) == ["", *["KEY_TAKEN"] * (len(SPELLINGS) - 1)]
            taken = {answer.refusal.details["pageId"] for answer in _refused(answers)}
            made = {answer.page.id for answer in _accepted(answers)}
            assert taken == made, "a refusal names the page that has the key"
    kb.check_tree()


# --- merges ---------------------------------------------------------------------------------


@pytest.mark.parametrize("send", [alone, in_commit])
def test_racing_merges_of_one_page(kb: KnowledgeBase, send: Send) -> None:
    with racing(4) as together:
        for number in range(ROUNDS):
            page = create(kb, f"p{number}")
            child = create(kb, "child", page)
            targets = [create(kb, f"t{number}-{target}") for target in range(4)]
            outcomes = together.run(
                [
                    partial(kb.run, send(MergePage(page=page, into=into, expected_version=1)))
                    for into in targets
                ]
            )
            assert len(winners(outcomes)) == 1
            assert codes(outcomes) == ["NOT_FOUND"] * 3
            winner = targets[next(i for i, o in enumerate(outcomes) if o in winners(outcomes))]
            assert kb.tree()[str(child)].parent == str(winner)
            for target in targets:
                assert len(kb.events_of(target)) == (2 if target == winner else 1)
            kb.check_tree()


@pytest.mark.parametrize("length", [2, 3])
def test_merges_in_a_ring_leave_one_page(kb: KnowledgeBase, length: int) -> None:
    """p into q, q into r, r into p: what is left at the end is a page, not nothing."""
    with racing(length) as together:
        for number in range(ROUNDS):
            pages = [create(kb, f"{number}-{letter}") for letter in "pqr"[:length]]
            ring: Sequence[Command] = [
                MergePage(page=page, into=pages[(place + 1) % length])
                for place, page in enumerate(pages)
            ]
            outcomes = together.run([partial(kb.run, command) for command in ring])
            alive = [page for page in pages if str(page) in kb.tree()]
            assert len(alive) == length - len(winners(outcomes)) >= 1
            assert set(codes(outcomes)) == {"NOT_FOUND"}
            kb.check_tree()


def test_merges_over_http(kb: KnowledgeBase, ana: Client) -> None:
    with racing(2) as together:
        for number in range(HTTP_ROUNDS):
            page, q, r = (ana.made(f"{letter}{number}") for letter in "pqr")
            answers = together.run([partial(ana.merge, page.id, into.id, 1) for into in (q, r)])
            assert sorted(_codes(answers)) == ["", "NOT_FOUND"]
            (remaining,) = (answer.page.id for answer in _accepted(answers))
            (loser,) = _refused(answers)
            assert loser.refusal.details["mergedInto"] == remaining
            assert ana.ask("GET", f"/pages/{page.id}").refusal.details["mergedInto"] == remaining
            kb.check_tree()


# --- parents that go ------------------------------------------------------------------------


@pytest.mark.parametrize("subtree", [True, False])
def test_a_page_never_comes_to_stand_under_one_that_goes(kb: KnowledgeBase, subtree: bool) -> None:
    """A child is created, moved in and restored while the parent is deleted."""
    with racing(4) as together:
        for number in range(ROUNDS):
            parent = create(kb, f"parent{number}")
            moving = create(kb, f"moving{number}")
            gone = create(kb, "gone", parent)
            kb.run(DeletePage(page=gone))
            outcomes = together.run(
                [
                    partial(
                        kb.run,
                        CreatePage(scope=SCOPE, parent=parent, key="new", name=kb.text("New")),
                    ),
                    partial(kb.run, MovePage(page=moving, parent=parent)),
                    partial(kb.run, RestorePage(page=gone)),
                    partial(kb.run, DeletePage(page=parent, subtree=subtree)),
                ]
            )
            kb.check_tree()
            assert set(codes(outcomes)) <= {"PARENT_DELETED", "PAGE_HAS_CHILDREN"}
            if subtree:
                assert str(parent) not in kb.tree()


def _codes(answers: Sequence[object]) -> list[str]:
    """The code of each answer, "" for a success."""
    found = []
    for answer in answers:
        assert isinstance(answer, Answer)
        found.append("" if answer.status < 300 else answer.refusal.code)
    return found


def _accepted(answers: Sequence[object]) -> list[Answer]:
    return [answer for answer in answers if isinstance(answer, Answer) and answer.status < 300]


def _refused(answers: Sequence[object]) -> list[Answer]:
    return [answer for answer in answers if isinstance(answer, Answer) and answer.status >= 400]
