"""The role table of reference 2: each operation x the role on its own scope x that on another."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count, product

import pytest
from msgspec import Struct

from api.wiring import Services
from tests.asking import Client
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Json
from tests.tools.stage import BILLING, ORG, ROLES, SUPPORT, Stage, staged

OWN, OTHER = ORG, SUPPORT
AUDIENCE = "org-viewer:other"
"""Held by every run here, so that it may be pinned for."""
ClientOf = Callable[[str, str], Client]


class Need(Struct, frozen=True):
    """A role on a scope; the refusal begins with the action."""

    scope: str
    role: str
    action: str


class Operation(Struct, frozen=True):
    """A call and what it needs; `{...}` stands for an id of a `Fresh`. `names` is what a
    refusal calls the thing that is not there for who has no role on its scope."""

    tool: str
    arguments: Json
    needs: tuple[Need, ...]
    names: str = 'page "{page}"'


class Fresh(Struct, frozen=True):
    """Pages and a note that only one case is about."""

    page: str
    beside: str
    away: str
    note: str

    def filled(self, value: object) -> object:
        if isinstance(value, str):
            for name in self.__struct_fields__:
                value = value.replace(f"{{{name}}}", getattr(self, name))
            return value
        return [self.filled(inner) for inner in value] if isinstance(value, list) else value


OPERATIONS = {
    "create": Operation(
        "knowledge_page",
        {"op": "write", "scope": OWN, "name": "New"},
        (Need(OWN, "contributor", "Creating a page"),),
        f'page "{OWN}"',
    ),
    "edit": Operation(
        "knowledge_page",
        {"op": "write", "page": "{page}", "body": "new"},
        (Need(OWN, "editor", "Editing a page"),),
    ),
    "move within a scope": Operation(
        "knowledge_page",
        {"op": "move", "page": "{page}", "scope": OWN, "parent": "{beside}"},
        (Need(OWN, "editor", "Moving a page"),),
    ),
    "move to another scope": Operation(
        "knowledge_page",
        {"op": "move", "page": "{page}", "scope": OTHER},
        (
            Need(OWN, "owner", "Moving a page across scopes"),
            Need(OTHER, "owner", "Moving a page across scopes"),
        ),
    ),
    "merge in the same scope": Operation(
        "knowledge_page",
        {"op": "merge", "page": "{page}", "into": "{beside}"},
        (Need(OWN, "owner", "Merging a page away"),),
    ),
    "merge into another scope": Operation(
        "knowledge_page",
        {"op": "merge", "page": "{page}", "into": "{away}"},
        (
            Need(OWN, "owner", "Merging a page away"),
            Need(OTHER, "owner", "Merging a page across scopes"),
        ),
    ),
    "delete": Operation(
        "knowledge_page",
        {"op": "delete", "page": "{page}", "scope": OTHER},
        (Need(OWN, "owner", "Deleting a page"),),
    ),
    "add a note": Operation(
        "knowledge_note",
        {"op": "add", "page": "{page}", "text": "A fact", "scope": [OWN]},
        (Need(OWN, "contributor", "Adding a note"),),
    ),
    "add a note with another stamp": Operation(
        "knowledge_note",
        {"op": "add", "page": "{page}", "text": "A fact", "scope": [OWN, OTHER]},
        (
            Need(OWN, "contributor", "Adding a note"),
            Need(OTHER, "contributor", "Adding a note"),
        ),
    ),
    "restamp with a stamp it has": Operation(
        "knowledge_note",
        {"op": "restamp", "note": "{note}", "scope": [OWN]},
        (Need(OWN, "editor", "Restamping a note"),),
        'note "{note}"',
    ),
    "restamp with a new stamp": Operation(
        "knowledge_note",
        {"op": "restamp", "note": "{note}", "scope": [OTHER]},
        (
            Need(OWN, "editor", "Restamping a note"),
            Need(OTHER, "contributor", "Restamping a note"),
        ),
        'note "{note}"',
    ),
    "remove a note": Operation(
        "knowledge_note",
        {"op": "remove", "note": "{note}"},
        (Need(OWN, "editor", "Removing a note"),),
        'note "{note}"',
    ),
    "pin": Operation(
        "knowledge_pin",
        {"op": "pin", "page": "{page}", "audience": [AUDIENCE]},
        (Need(OWN, "editor", "Pinning a page"),),
    ),
    "pin a listing": Operation(
        "knowledge_pin",
        {"op": "pin", "page": "{page}", "audience": [AUDIENCE], "kind": "list", "depth": 2},
        (Need(OWN, "editor", "Pinning a page"),),
    ),
    "unpin": Operation(
        "knowledge_pin",
        {"op": "unpin", "page": "{page}", "audience": [AUDIENCE]},
        (Need(OWN, "editor", "Unpinning a page"),),
    ),
}
CHANGES_NOTHING = ("restamp with a stamp it has", "unpin")


def refusal(operation: Operation, own: str, other: str) -> tuple[str, str] | None:
    """The code and the message, by the table; None for what is allowed."""
    roles = {OWN: own, OTHER: other}
    for need in operation.needs:
        if roles[need.scope] == "none":
            names = operation.names if need.scope == OWN else _other_name(operation)
            return "NOT_FOUND", f"Knowledge {names} not found."
    for need in operation.needs:
        has = roles[need.scope]
        if ROLES.index(has) < ROLES.index(need.role):
            return "ROLE_TOO_WEAK", (
                f'{need.action} needs {need.role} on "{need.scope}"; this run has {has} there.'
            )
    return None


def _other_name(operation: Operation) -> str:
    return 'page "{away}"' if "into" in operation.arguments else f'page "{OTHER}"'


@pytest.fixture(scope="module")
def stage(services: Services, url: str) -> Iterator[Stage]:
    with staged(services, url) as stage:
        yield stage


@pytest.fixture(scope="module")
def client_of(stage: Stage) -> ClientOf:
    return cache(lambda own, other: stage.client(own, other, AUDIENCE))


_numbers = count(1)


def fresh(owner: Client) -> Fresh:
    number = next(_numbers)
    page, beside = owner.made(f"page-{number}"), owner.made(f"beside-{number}")
    away = owner.made(f"away-{number}", scope=OTHER)
    added = owner.ask("POST", f"/pages/{page.id}/notes", {"text": "A note", "scope": [OWN]})
    note = added.json["note"]
    assert isinstance(note, dict)
    return Fresh(page.id, beside.id, away.id, str(note["id"]))


CASES = [
    (what, own, other)
    for what, operation in OPERATIONS.items()
    for own, other in product(ROLES, ROLES)
    # Where the other scope is not asked about, a role there neither helps nor hinders.
    if len(operation.needs) == 2 or other in ("none", "owner")
]


@pytest.mark.parametrize(("what", "own", "other"), CASES)
def test_roles(
    stage: Stage, client_of: ClientOf, open_door: OpenDoor, what: str, own: str, other: str
) -> None:
    operation, made = OPERATIONS[what], fresh(stage.owner)
    arguments = {name: made.filled(value) for name, value in operation.arguments.items()}
    door = open_door(client_of(own, other))
    refused = refusal(operation, own, other)
    if refused is None:
        done = door.call(operation.tool, arguments).ok
        assert done["changed"] is (what not in CHANGES_NOTHING)
        return
    with stage.kb.nothing_written():
        reply = door.call(operation.tool, arguments)
    code, message = refused
    assert (reply.code, reply.message) == (code, made.filled(message))


def test_the_table_allows_what_the_reference_allows() -> None:
    allowed = {
        what: sum(refusal(operation, own, other) is None for own, other in product(ROLES, ROLES))
        for what, operation in OPERATIONS.items()
    }
    # Of 25 pairs of roles: contributor and above on one scope are 15, editor 10, owner 5.
    assert allowed == {
        "create": 15,
        "edit": 10,
        "move within a scope": 10,
        "move to another scope": 1,
        "merge in the same scope": 5,
        "merge into another scope": 1,
        "delete": 5,
        "add a note": 15,
        "add a note with another stamp": 9,
        "restamp with a stamp it has": 10,
        "restamp with a new stamp": 6,
        "remove a note": 10,
        "pin": 10,
        "pin a listing": 10,
        "unpin": 10,
    }


def test_a_stamp_that_the_note_has_needs_no_role_but_reading_it(
    stage: Stage, open_door: OpenDoor
) -> None:
    page = fresh(stage.owner).page
    note = {"text": "A note", "scope": [OWN, OTHER]}
    added = stage.owner.ask("POST", f"/pages/{page}/notes", note).json["note"]
    assert isinstance(added, dict)
    door = open_door(stage.client("editor", "viewer"))
    restamp: Json = {"op": "restamp", "note": added["id"], "scope": [OTHER]}
    assert door.call("knowledge_note", restamp).ok["changed"] is True
    refused = door.call("knowledge_note", {**restamp, "scope": [OWN, BILLING]})
    assert refused.message == (
        f'Restamping a note needs contributor on "{BILLING}"; this run has viewer there.'
    )


# --- authority over an audience -------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("op", ["pin", "unpin"])
def test_an_audience_needs_holding_it_or_editor_on_it(
    stage: Stage, open_door: OpenDoor, op: str, role: str
) -> None:
    page = fresh(stage.owner).page
    arguments: Json = {"op": op, "page": page, "audience": [OTHER]}
    door = open_door(stage.client("editor", role))
    if role in ("editor", "owner"):
        assert door.call("knowledge_pin", arguments).result is not None
    else:
        with stage.kb.nothing_written():
            refused = door.call("knowledge_pin", arguments)
        # To who has no role on it, the scope is as one that nobody declared.
        assert refused.message == (
            f'Pin audience "{OTHER}" does not match a declared scope type.'
            if role == "none"
            else f'Pinning for "{OTHER}" needs holding it or editor on it; this run has neither.'
        )
    holding = open_door(stage.client("editor", "none", OTHER))
    assert holding.call("knowledge_pin", arguments).result is not None
