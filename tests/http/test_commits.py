"""`POST /commits`: all or nothing, one revision."""

import httpx
import pytest

from tests.http.world import Json, World, code_of, create, details_of


def commit(client: httpx.Client, *operations: Json, **more: object) -> httpx.Response:
    return client.post("/commits", json={"operations": list(operations), **more})


def test_operations_share_one_revision(owner: httpx.Client) -> None:
    page = create(owner, "Old", body="text")
    before = owner.get("/revisions/active").json()["revision"]
    response = commit(
        owner,
        {"op": "create", "scope": "org:acme", "name": "Parent", "key": "parent"},
        {"op": "create", "scope": "org:acme", "name": "Child", "parent": "$0", "key": "child"},
        {"op": "edit", "page": page["id"], "expectedVersion": 1, "name": "New"},
        {"op": "move", "page": page["id"], "expectedVersion": 1, "parent": "$1", "key": "leaf"},
        {"op": "addNote", "page": "$0", "text": "A fact", "scope": ["org:acme"]},
        {"op": "pin", "page": "$0", "kind": "page", "audience": ["org:acme"]},
        message="Reorganise",
    )
    assert response.status_code == 201, response.text
    answer = response.json()
    assert answer["revision"] == before + 1
    assert [result["kind"] for result in answer["results"]] == [
        "page",
        "page",
        "page",
        "page",
        "note",
        "pin",
    ]
    assert [result["created"] for result in answer["results"]] == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]
    leaf = owner.get("/pages", params={"ref": "org:acme#parent/child/leaf"}).json()["page"]
    assert (leaf["id"], leaf["name"], leaf["version"]) == (page["id"], "New", 3)
    assert answer["results"][3]["ref"] == "org:acme#parent/child/leaf"
    read = owner.get(response.url.join(response.headers["location"])).json()["commit"]
    assert (read["message"], read["eventCount"], read["complete"]) == ("Reorganise", 6, True)


def test_one_refusal_undoes_all(owner: httpx.Client) -> None:
    head = owner.get("/revisions/active").json()
    response = commit(
        owner,
        {"op": "create", "scope": "org:acme", "name": "A", "key": "same"},
        {"op": "create", "scope": "org:acme", "name": "B", "key": "Same"},
    )
    assert (response.status_code, code_of(response)) == (409, "KEY_TAKEN")
    assert owner.get("/revisions/active").json() == head


@pytest.mark.parametrize("op", ["edit", "move", "merge", "delete", "restore"])
def test_changes_state_a_version(owner: httpx.Client, op: str) -> None:
    page = create(owner, "A")
    fields = {"merge": {"into": page["id"]}, "edit": {"name": "B"}, "restore": {"version": 1}}
    operation = {"op": op, "page": page["id"], **fields.get(op, {})}
    response = commit(owner, {"op": "create", "scope": "org:acme", "name": "B"}, operation)
    assert (response.status_code, code_of(response)) == (428, "PRECONDITION_REQUIRED")
    assert details_of(response) == {"field": "operations[1].expectedVersion"}


def test_any_version_is_said_out_loud(owner: httpx.Client) -> None:
    page = create(owner, "A")
    edit = {"op": "edit", "page": page["id"], "name": "B"}
    assert commit(owner, {**edit, "expectedVersion": "any"}).status_code == 201
    head = owner.get("/revisions/active").json()["revision"]
    whole = commit(owner, {**edit, "name": "C"}, expectedRevision=head)
    assert whole.status_code == 201


def test_versions_are_those_before_the_commit(owner: httpx.Client) -> None:
    page = create(owner, "A")
    edit = {"op": "edit", "page": page["id"], "expectedVersion": 1}
    response = commit(owner, {**edit, "name": "B"}, {**edit, "description": "d"})
    assert response.status_code == 201
    assert response.json()["results"][1]["version"] == 3
    stale = commit(owner, {**edit, "name": "C"})
    assert code_of(stale) == "VERSION_CONFLICT"
    assert details_of(stale)["currentVersion"] == 3


def test_an_expected_revision_lists_every_page_that_moved_on(
    world: World, owner: httpx.Client
) -> None:
    one, two, _ = (create(owner, name, key=name) for name in ("one", "two", "three"))
    read_at = owner.get("/revisions/active").json()["revision"]
    owner.patch(f"/pages/{one['id']}", json={"name": "x"}, headers={"If-Match": "*"})
    owner.patch(f"/pages/{two['id']}", json={"name": "x"}, headers={"If-Match": "*"})
    hidden = world.client("org:other").post("/pages", json={"scope": "org:other", "name": "H"})
    response = commit(
        owner,
        {"op": "create", "scope": "org:acme", "name": "Late"},
        expectedRevision=read_at,
    )
    assert (response.status_code, code_of(response)) == (409, "REVISION_CONFLICT")
    details = details_of(response)
    assert details["currentRevision"] == hidden.json()["revision"]
    assert details["pages"] == [
        {"pageId": one["id"], "ref": "org:acme#one", "revision": read_at + 1},
        {"pageId": two["id"], "ref": "org:acme#two", "revision": read_at + 2},
    ]


def test_a_dry_run_shows_its_events_and_writes_none(owner: httpx.Client) -> None:
    page = create(owner, "A", key="a")
    head = owner.get("/revisions/active").json()
    response = commit(
        owner,
        {"op": "create", "scope": "org:acme", "name": "B", "key": "b", "parent": page["id"]},
        {"op": "delete", "page": page["id"], "expectedVersion": 1, "subtree": True},
        dryRun=True,
    )
    assert response.status_code == 200, response.text
    answer = response.json()
    assert (answer["revision"], answer["changed"]) == (head["revision"], True)
    assert [event["type"] for event in answer["events"]] == [
        "page.created",
        "page.deleted",
        "page.deleted",
    ]
    assert answer["events"][0]["key"] == "b"
    assert owner.get("/revisions/active").json() == head
    assert owner.get(f"/pages/{page['id']}").status_code == 200


def test_a_dry_run_shows_of_a_pin_what_its_caller_knows(world: World, owner: httpx.Client) -> None:
    """A merge takes the pins along; what only hidden scopes gain is no event to him."""
    both = world.client("org:acme", "org:other", principal="user:bea")
    page, into, empty = (create(owner, name, key=name) for name in ("page", "into", "empty"))
    pins = f"/pages/{page['id']}/pins/list"
    assert both.put(pins, json={"audience": ["org:other"]}).status_code == 201
    owner.put(f"/pages/{into['id']}/pins/list", json={"audience": ["org:acme"]})

    def planned(client: httpx.Client, *before: Json, into: str) -> list[Json]:
        merge = {"op": "merge", "page": page["id"], "into": into, "expectedVersion": "any"}
        answer = commit(client, *before, merge, dryRun=True)
        assert answer.status_code == 200, answer.text
        return [event for event in answer.json()["events"] if event["type"] == "pin.set"]

    assert planned(owner, into=into["id"]) == []
    assert planned(owner, into=empty["id"]) == []
    assert len(planned(both, into=into["id"])) == 1
    # He sees his own change, and no other after it; nor how often the pin has changed.
    pin = {"op": "pin", "page": empty["id"], "kind": "list", "audience": ["org:acme"]}
    (own,) = planned(owner, pin, into=empty["id"])
    assert (own["pageId"], own["version"]) == (empty["id"], None)
    # The event is hidden in the commit as well.
    merge = {"op": "merge", "page": page["id"], "into": into["id"], "expectedVersion": "any"}
    made = commit(both, merge)
    events = owner.get(made.url.join(made.headers["location"])).json()["commit"]["events"]
    assert "pin.set" not in [event["type"] for event in events]


def test_a_dry_run_meets_the_same_refusals(owner: httpx.Client) -> None:
    create(owner, "A", key="a")
    taken = {"op": "create", "scope": "org:acme", "name": "B", "key": "a"}
    assert code_of(commit(owner, taken, dryRun=True)) == "KEY_TAKEN"


def test_a_commit_that_changes_nothing_makes_no_revision(owner: httpx.Client) -> None:
    page = create(owner, "A")
    response = commit(owner, {"op": "edit", "page": page["id"], "expectedVersion": 1, "name": "A"})
    assert response.status_code == 200
    assert response.json()["changed"] is False
    assert "location" not in response.headers


def test_a_refusal_names_the_field_of_its_operation(owner: httpx.Client) -> None:
    good = {"op": "create", "scope": "org:acme", "name": "A"}
    response = commit(owner, good, {**good, "key": "k", "name": ""})
    assert details_of(response) == {"field": "operations[1].name", "reason": "empty"}


def test_a_range_stands_alone_for_its_page(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one\ntwo\n")
    edit = {
        "op": "edit",
        "page": page["id"],
        "expectedVersion": 1,
        "range": {"start": {"line": 1}, "end": {"line": 1}},
        "body": "ONE",
    }
    assert details_of(commit(owner, edit, edit)) == {
        "field": "operations[0].range",
        "reason": "repeated",
    }
    assert commit(owner, edit).status_code == 201
    assert owner.get(f"/pages/{page['id']}").json()["page"]["body"] == "ONE\ntwo\n"


def test_an_operation_is_not_guessed_at(owner: httpx.Client) -> None:
    for operation, field, reason in (
        ({"op": "burn"}, "operations[0].op", "unknownValue"),
        (
            {"op": "delete", "page": "$0", "expectedVersion": 1},
            "operations[0].page",
            "unknownPlace",
        ),
        (
            {"op": "delete", "page": "nonsense", "expectedVersion": 1},
            "operations[0].page",
            "malformed",
        ),
    ):
        response = commit(owner, operation)
        assert response.status_code == 422
        assert (details_of(response)["field"], details_of(response)["reason"]) == (field, reason)
