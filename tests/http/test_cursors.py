"""Walks: each row once, at one revision, or a refusal that says how to go on."""

import httpx
import pytest

from tests.http.world import Json, World, code_of, create, details_of


@pytest.fixture
def parent(owner: httpx.Client) -> Json:
    page = create(owner, "Parent")
    for number in range(25):
        create(owner, f"Child {number % 5} {number}", parent=page["id"])
    return page


def walk(client: httpx.Client, path: str, **params: object) -> list[Json]:
    """All items, part by part."""
    items: list[Json] = []
    cursor = None
    for _ in range(1_000):
        given = {**params, **({"cursor": cursor} if cursor else {})}
        response = client.get(path, params=given)  # type: ignore[arg-type]
        assert response.status_code == 200, response.text
        items += response.json()["items"]
        cursor = response.json()["nextCursor"]
        if cursor is None:
            return items
    raise AssertionError("the walk does not end")


@pytest.mark.parametrize("limit", [1, 7, 24, 25, 26])
def test_a_walk_equals_the_one_shot_list(owner: httpx.Client, parent: Json, limit: int) -> None:
    path = f"/pages/{parent['id']}/children"
    whole = owner.get(path, params={"limit": 200}).json()
    assert whole["nextCursor"] is None
    assert len(whole["items"]) == 25
    assert walk(owner, path, limit=limit) == whole["items"]


def test_every_list_and_feed_walks(owner: httpx.Client, world: World, parent: Json) -> None:
    child = owner.get(f"/pages/{parent['id']}/children").json()["items"][0]
    for number in range(4):
        owner.post(
            f"/pages/{parent['id']}/notes", json={"text": f"N{number}", "scope": ["org:acme"]}
        )
        owner.patch(
            f"/pages/{parent['id']}", json={"name": f"P{number}"}, headers={"If-Match": "*"}
        )
        create(owner, f"L{number}", body=f"See [[{child['id']}]] and [[org:acme]].")
        gone = create(owner, f"Gone {number}")
        owner.delete(f"/pages/{gone['id']}", headers={"If-Match": "*"})
    held = [f"team:acme:t{number}" for number in range(4)]
    many = world.client("org:acme", *held)
    top = owner.get("/pages", params={"ref": "org:acme"}).json()["page"]
    for path, at_least in (
        (f"/pages/{parent['id']}/notes", 4),
        (f"/pages/{parent['id']}/history", 5),
        (f"/pages/{parent['id']}/history?newestFirst=true", 5),
        (f"/pages/{top['id']}/backlinks", 4),
        ("/commits", 40),
        ("/events", 40),
        ("/events?type=page.edited", 4),
        ("/deletions", 4),
        ("/scopes", 5),
    ):
        joined = "&" if "?" in path else "?"
        whole = many.get(f"{path}{joined}limit=200").json()["items"]
        assert len(whole) >= at_least, path
        path, _, query = path.partition("?")
        params = dict(part.split("=") for part in query.split("&") if part)
        assert walk(many, path, limit=3, **params) == whole, path


def test_limit_and_revision_are_taken_from_the_cursor(owner: httpx.Client, parent: Json) -> None:
    path = f"/pages/{parent['id']}/children"
    first = owner.get(path, params={"limit": 4}).json()
    second = owner.get(path, params={"cursor": first["nextCursor"]}).json()
    assert len(second["items"]) == 4
    assert second["revision"] == first["revision"]
    wider = owner.get(path, params={"cursor": first["nextCursor"], "limit": 9}).json()
    assert wider["items"][:4] == second["items"]
    assert len(wider["items"]) == 9


def test_a_moved_head_makes_a_walk_stale(owner: httpx.Client, parent: Json) -> None:
    path = f"/pages/{parent['id']}/children"
    first = owner.get(path, params={"limit": 10}).json()
    for child in first["items"][:5]:
        owner.delete(f"/pages/{child['id']}", headers={"If-Match": "*"})
    stale = owner.get(path, params={"cursor": first["nextCursor"]})
    head = owner.get("/revisions/active").json()["revision"]
    assert (stale.status_code, code_of(stale)) == (409, "STALE_CURSOR")
    assert details_of(stale) == {
        "field": "cursor",
        "cursorRevision": first["revision"],
        "activeContentRevision": head,
        "restart": True,
    }
    items, cursor = first["items"], first["nextCursor"]
    pinned = {"revision": first["revision"]}
    while cursor is not None:
        part = owner.get(path, params={"cursor": cursor, **pinned}).json()
        assert part["revision"] == first["revision"]
        items, cursor = items + part["items"], part["nextCursor"]
        pinned = {}
    assert (
        items
        == owner.get(path, params={"revision": first["revision"], "limit": 200}).json()["items"]
    )
    assert len(items) == 25


def test_a_walk_begun_at_a_revision_never_goes_stale(owner: httpx.Client, parent: Json) -> None:
    path = f"/pages/{parent['id']}/children"
    revision = owner.get("/revisions/active").json()["revision"]
    first = owner.get(path, params={"limit": 10, "revision": revision}).json()
    create(owner, "Another", parent=parent["id"])
    second = owner.get(path, params={"cursor": first["nextCursor"]})
    assert second.status_code == 200
    assert second.json()["revision"] == revision
    third = owner.get(path, params={"cursor": second.json()["nextCursor"], "revision": revision})
    assert len(first["items"] + second.json()["items"] + third.json()["items"]) == 25


def test_a_walk_begun_as_of_a_time_never_goes_stale(owner: httpx.Client, parent: Json) -> None:
    path = f"/pages/{parent['id']}/children"
    at = owner.get("/revisions/active").json()["committedAt"]
    first = owner.get(path, params={"limit": 20, "asOf": at}).json()
    create(owner, "Another", parent=parent["id"])
    second = owner.get(path, params={"cursor": first["nextCursor"], "asOf": at}).json()
    left_out = owner.get(path, params={"cursor": first["nextCursor"]}).json()
    assert len(second["items"]) == len(left_out["items"]) == 5
    assert second["revision"] == left_out["revision"] == first["revision"]


def test_feeds_go_on_over_later_commits(owner: httpx.Client, parent: Json) -> None:
    first = owner.get("/events", params={"limit": 5}).json()
    create(owner, "Later")
    second = owner.get("/events", params={"cursor": first["nextCursor"], "limit": 200})
    assert second.status_code == 200
    assert second.json()["items"][-1]["data"]["name"] == "Later"
    positions = [event["position"] for event in first["items"] + second.json()["items"]]
    assert positions == sorted(set(positions))
    after = owner.get("/events", params={"after": positions[4], "limit": 200}).json()
    assert after["items"] == second.json()["items"]


def test_a_feed_at_a_revision_ends_there(owner: httpx.Client, parent: Json) -> None:
    revision = owner.get("/revisions/active").json()["revision"]
    create(owner, "Later")
    for path in ("/commits", "/events"):
        items = walk(owner, path, revision=revision, limit=10)
        assert items[-1]["revision"] == revision


@pytest.mark.parametrize("other", ["notes", "backlinks"])
def test_a_cursor_is_of_one_list(owner: httpx.Client, parent: Json, other: str) -> None:
    path = f"/pages/{parent['id']}/children"
    cursor = owner.get(path, params={"limit": 4}).json()["nextCursor"]
    child = owner.get(path).json()["items"][0]["id"]
    for wrong in (f"/pages/{parent['id']}/{other}", f"/pages/{child}/children"):
        response = owner.get(wrong, params={"cursor": cursor})
        assert (response.status_code, code_of(response)) == (422, "VALIDATION_ERROR")
        assert details_of(response) == {"field": "cursor", "reason": "mismatch"}


def test_a_cursor_is_of_one_caller_and_his_scopes(
    world: World, owner: httpx.Client, parent: Json
) -> None:
    path = f"/pages/{parent['id']}/children"
    cursor = owner.get(path, params={"limit": 4}).json()["nextCursor"]
    bob = world.client("org:acme", principal="user:bob")
    wider = world.client("org:acme", "org:other")
    for other in (bob, wider):
        assert details_of(other.get(path, params={"cursor": cursor}))["reason"] == "mismatch"
    narrowed = wider.get(path, params={"cursor": cursor}, headers={"KB-Scopes": "org:acme"})
    assert narrowed.status_code == 200


def test_a_cursor_is_of_one_revision(owner: httpx.Client, parent: Json) -> None:
    path = f"/pages/{parent['id']}/children"
    first = owner.get(path, params={"limit": 4}).json()
    response = owner.get(
        path, params={"cursor": first["nextCursor"], "revision": first["revision"] - 1}
    )
    assert details_of(response) == {"field": "cursor", "reason": "mismatch"}


def test_parameters_that_shape_a_feed_are_sent_again(owner: httpx.Client, parent: Json) -> None:
    params = {"type": "page.created", "limit": "3"}
    first = owner.get("/events", params=params).json()
    wrong = owner.get("/events", params={"cursor": first["nextCursor"]})
    assert details_of(wrong) == {"field": "cursor", "reason": "mismatch"}
    right = owner.get("/events", params={"cursor": first["nextCursor"], "type": "page.created"})
    assert len(right.json()["items"]) == 3


def test_an_altered_or_foreign_cursor_is_refused(
    world: World, owner: httpx.Client, parent: Json
) -> None:
    path = f"/pages/{parent['id']}/children"
    cursor = owner.get(path, params={"limit": 4}).json()["nextCursor"]
    altered = [cursor[:-1], cursor + "A", "A" + cursor[1:], cursor.swapcase(), "x", ""]
    for wrong in altered:
        response = owner.get(path, params={"cursor": wrong})
        assert response.status_code == 422, wrong
        assert details_of(response) == {"field": "cursor", "reason": "malformed"}
