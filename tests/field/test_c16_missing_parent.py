"""C16: moving under a parent that was not there reported success and damaged the index."""

from collections.abc import Callable

import pytest

from tests.asking import Answer, Ask, Client
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase

UNKNOWN = "01900000-0000-7000-8000-000000000000"

Place = Callable[[Client, str, str], Answer]
"""client, page, parent."""

PLACES: dict[str, Place] = {
    "create": lambda c, page, parent: c.create("new", parent=parent),
    "move": lambda c, page, parent: c.move(page, "*", parent=parent),
    "move and rename": lambda c, page, parent: c.move(page, "*", parent=parent, key="new"),
    "restore": lambda c, page, parent: c.restore(_deleted(c), "*", parent=parent),
    "create in a commit": lambda c, page, parent: c.commit(
        {"op": "create", "scope": SCOPE, "name": "New", "parent": parent}
    ),
    "move in a commit": lambda c, page, parent: c.commit(
        {"op": "move", "page": page, "expectedVersion": "any", "parent": parent}
    ),
    "after good operations": lambda c, page, parent: c.commit(
        {"op": "create", "scope": SCOPE, "name": "New"},
        {"op": "edit", "page": page, "expectedVersion": "any", "body": "new\n"},
        {"op": "move", "page": page, "expectedVersion": "any", "parent": parent},
    ),
}


def _deleted(client: Client) -> str:
    return next(d.page_id for d in client.deletions() if d.ref.endswith("#restorable"))


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(
    ("parent", "status", "code"),
    [
        ("unknown", 404, "PARENT_NOT_FOUND"),
        ("deleted", 409, "PARENT_DELETED"),
        ("deleted with its parent", 409, "PARENT_DELETED"),
        ("merged", 404, "PARENT_NOT_FOUND"),
        ("hidden", 404, "PARENT_NOT_FOUND"),
    ],
)
def test_a_parent_that_is_not_there_is_refused(
    kb: KnowledgeBase, asking: Ask, ana: Client, parent: str, status: int, code: str, name: str
) -> None:
    page = ana.made("p").id
    ana.delete(ana.made("restorable").id)
    gone, below = ana.chain("gone", "below")
    merged = ana.made("merged")
    ana.merge(merged.id, page)
    ana.delete(gone.id, subtree=True)
    hidden = asking("user:vic", VAULT).made("h", scope=VAULT)
    parents = {
        "unknown": UNKNOWN,
        "deleted": gone.id,
        "deleted with its parent": below.id,
        "merged": merged.id,
        "hidden": hidden.id,
    }
    with kb.nothing_written():
        PLACES[name](ana, page, parents[parent]).refused(status, code)
    assert ana.page(page).path == "p"
    kb.check_tree()


@pytest.mark.parametrize("name", PLACES)
def test_a_parent_that_is_no_id(kb: KnowledgeBase, ana: Client, name: str) -> None:
    page = ana.made("p").id
    ana.delete(ana.made("restorable").id)
    for parent in ("", "x", "org:acme", UNKNOWN[:-1], "$5"):
        with kb.nothing_written():
            PLACES[name](ana, page, parent).refused(422, "VALIDATION_ERROR")


def test_hidden_and_missing_parents_are_told_in_the_same_words(asking: Ask, ana: Client) -> None:
    page = ana.made("p").id
    hidden = asking("user:vic", VAULT).made("h", scope=VAULT).id
    told = [
        PLACES[name](ana, page, parent).refusal
        for name in ("create", "move", "move in a commit")
        for parent in (hidden, UNKNOWN)
    ]
    for shown, missing in zip(told[::2], told[1::2], strict=True):
        assert shown.message.replace(hidden, UNKNOWN) == missing.message
        assert {**shown.details, "parentId": UNKNOWN} == missing.details


def test_a_parent_of_another_scope_names_the_field(kb: KnowledgeBase, ana: Client) -> None:
    page, other = ana.made("p"), ana.made("t", scope=TEAM)
    sends: list[Callable[[], Answer]] = [
        lambda: ana.create("new", parent=other.id),
        lambda: ana.move(page.id, 1, parent=other.id),
        lambda: ana.move(page.id, 1, scope=TEAM, parent=page.id),
    ]
    for send in sends:
        with kb.nothing_written():
            assert send().refused(422, "VALIDATION_ERROR").details["field"] == "parent"
    # The scope said as well makes it a move across scopes.
    assert ana.move(page.id, 1, scope=TEAM, parent=other.id).page.ref == f"{TEAM}#t/p"


def test_a_parent_that_goes_in_the_same_commit(kb: KnowledgeBase, ana: Client) -> None:
    parent, page = ana.made("parent"), ana.made("p")
    with kb.nothing_written():
        ana.commit(
            {"op": "delete", "page": parent.id, "expectedVersion": 1},
            {"op": "move", "page": page.id, "expectedVersion": 1, "parent": parent.id},
        ).refused(409, "PARENT_DELETED")
