"""C10: "conflict" for what was a bad request, and no name of the thing in conflict."""

from collections.abc import Callable, Mapping

import pytest
from msgspec import Struct

from tests.asking import Client, Page
from tests.field.doors import Door, both_doors
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase

UNKNOWN = "01900000-0000-7000-8000-000000000000"


class World(Struct):
    """a/b, a/c, taken, gone (deleted), merged (into absorber), and a page of another scope."""

    a: Page
    b: Page
    c: Page
    taken: Page
    gone: Page
    merged: Page
    absorber: Page
    team: Page


class Case(Struct):
    op: str
    page: Callable[[World], Page]
    fields: Callable[[World], Mapping[str, object]]
    status: int
    code: str
    named: Callable[[World], Mapping[str, str]]
    """Details that name what is in conflict."""


@pytest.fixture
def world(ana: Client) -> World:
    a = ana.made("a")
    pages = World(
        a=a,
        b=ana.made("b", parent=a.id),
        c=ana.made("c", parent=a.id),
        taken=ana.made("taken"),
        gone=ana.made("gone"),
        merged=ana.made("merged"),
        absorber=ana.made("absorber"),
        team=ana.made("t", scope=TEAM),
    )
    ana.delete(pages.gone.id)
    ana.merge(pages.merged.id, pages.absorber.id)
    return pages


CASES = {
    "key of a sibling": Case(
        "move",
        lambda w: w.a,
        lambda w: {"key": "taken"},
        409,
        "KEY_TAKEN",
        lambda w: {"pageId": w.taken.id, "key": "taken"},
    ),
    "key of a sibling, in another case": Case(
        "move",
        lambda w: w.a,
        lambda w: {"key": "TAKEN"},
        409,
        "KEY_TAKEN",
        lambda w: {"pageId": w.taken.id, "key": "TAKEN"},
    ),
    "key under another parent": Case(
        "move",
        lambda w: w.taken,
        lambda w: {"parent": w.a.id, "key": "b"},
        409,
        "KEY_TAKEN",
        lambda w: {"pageId": w.b.id, "parentId": w.a.id},
    ),
    "stale version of a deleted page": Case(
        "restore",
        lambda w: w.gone,
        lambda w: {},
        409,
        "VERSION_CONFLICT",
        lambda w: {"pageId": w.gone.id, "updatedBy": "user:ana"},
    ),
    "stale version": Case(
        "move",
        lambda w: w.b,
        lambda w: {"key": "new"},
        409,
        "VERSION_CONFLICT",
        lambda w: {"pageId": w.b.id},
    ),
    "no such parent": Case(
        "move",
        lambda w: w.a,
        lambda w: {"parent": UNKNOWN},
        404,
        "PARENT_NOT_FOUND",
        lambda w: {"parentId": UNKNOWN},
    ),
    "deleted parent": Case(
        "move",
        lambda w: w.a,
        lambda w: {"parent": w.gone.id},
        409,
        "PARENT_DELETED",
        lambda w: {"parentId": w.gone.id},
    ),
    "merged parent": Case(
        "move",
        lambda w: w.a,
        lambda w: {"parent": w.merged.id},
        404,
        "PARENT_NOT_FOUND",
        lambda w: {"parentId": w.merged.id, "mergedInto": w.absorber.id},
    ),
    "parent of another scope": Case(
        "move",
        lambda w: w.a,
        lambda w: {"parent": w.team.id},
        422,
        "VALIDATION_ERROR",
        lambda w: {"field": "parent", "reason": "otherScope", "parentId": w.team.id},
    ),
    "under itself": Case(
        "move",
        lambda w: w.a,
        lambda w: {"parent": w.a.id},
        409,
        "WOULD_CREATE_CYCLE",
        lambda w: {"pageId": w.a.id, "parentId": w.a.id},
    ),
    "under its child": Case(
        "move",
        lambda w: w.a,
        lambda w: {"parent": w.b.id},
        409,
        "WOULD_CREATE_CYCLE",
        lambda w: {"pageId": w.a.id, "parentId": w.b.id},
    ),
    "into its child": Case(
        "merge",
        lambda w: w.a,
        lambda w: {"into": w.b.id},
        409,
        "WOULD_CREATE_CYCLE",
        lambda w: {"pageId": w.a.id},
    ),
    "with children": Case(
        "delete",
        lambda w: w.a,
        lambda w: {},
        409,
        "PAGE_HAS_CHILDREN",
        lambda w: {"pageId": w.a.id},
    ),
    "no such page": Case(
        "merge", lambda w: w.a, lambda w: {"into": UNKNOWN}, 404, "NOT_FOUND", lambda w: {}
    ),
    "a key that is none": Case(
        "move",
        lambda w: w.a,
        lambda w: {"key": "x/y"},
        422,
        "VALIDATION_ERROR",
        lambda w: {"reason": "character"},
    ),
    "a scope that is none": Case(
        "move", lambda w: w.a, lambda w: {"scope": VAULT}, 404, "NOT_FOUND", lambda w: {}
    ),
}


@both_doors
@pytest.mark.parametrize("name", CASES)
def test_each_reason_has_its_code_and_names_the_pages(
    kb: KnowledgeBase, ana: Client, world: World, name: str, door: Door
) -> None:
    case = CASES[name]
    if name == "stale version":
        ana.edit(case.page(world).id, "*", body="newer\n")
    with kb.nothing_written():
        answer = door(ana, case.op, case.page(world).id, 1, case.fields(world))
    details = answer.refused(case.status, case.code).details
    named = case.named(world)
    if "field" in named and "operation" in details:
        # Of a commit, the field is named within the whole body.
        named = {**named, "field": f"operations[{details['operation']}].{named['field']}"}
    assert {field: details.get(field) for field in named} == named


CREATES = {
    "taken": (409, "KEY_TAKEN"),
    "Taken": (409, "KEY_TAKEN"),
    "x#y": (422, "VALIDATION_ERROR"),
    "..": (422, "VALIDATION_ERROR"),
}


@pytest.mark.parametrize("key", CREATES)
def test_creating(kb: KnowledgeBase, ana: Client, world: World, key: str) -> None:
    status, code = CREATES[key]
    operation = {"op": "create", "scope": SCOPE, "key": key, "name": "New"}
    with kb.nothing_written():
        alone = ana.create(key).refused(status, code)
        together = ana.commit(operation).refused(status, code)
    assert alone.details.get("pageId") == together.details.get("pageId")
    if code == "KEY_TAKEN":
        assert alone.details["pageId"] == world.taken.id


def test_several_reasons_at_once_are_told_in_the_order_of_the_contract(
    kb: KnowledgeBase, ana: Client, world: World
) -> None:
    """Access, then what the request says, then the version, then the rules of the tree."""
    page = world.b.id
    ana.edit(page, 1, body="newer\n")
    both = {"parent": world.a.id, "key": "c"}
    ana.move(UNKNOWN, 1, **both).refused(404, "NOT_FOUND")
    ana.move(page, None, **both).refused(428, "PRECONDITION_REQUIRED")
    ana.move(page, 1, **both).refused(409, "VERSION_CONFLICT")
    ana.move(page, 2, **both).refused(409, "KEY_TAKEN")
