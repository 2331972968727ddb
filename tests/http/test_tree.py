"""Move, merge, delete and restore over HTTP."""

import httpx
import pytest

from tests.http.world import Json, World, code_of, create, details_of, if_match


def move(client: httpx.Client, page: Json, **to: object) -> httpx.Response:
    return client.post(f"/pages/{page['id']}/move", json=to, headers={"If-Match": "*"})


def by_ref(client: httpx.Client, ref: str) -> httpx.Response:
    return client.get("/pages", params={"ref": ref})


@pytest.fixture
def abc(owner: httpx.Client) -> tuple[Json, Json, Json]:
    a = create(owner, "A", key="a")
    b = create(owner, "B", key="b", parent=a["id"])
    return a, b, create(owner, "C", key="c", parent=b["id"])


def test_what_is_below_comes_along_and_the_old_path_tells_where(
    owner: httpx.Client, abc: tuple[Json, Json, Json]
) -> None:
    _, b, c = abc
    x = create(owner, "X", key="x")
    moved = move(owner, b, parent=x["id"])
    assert moved.json()["page"]["ref"] == "org:acme#x/b"
    below = by_ref(owner, "org:acme#x/b/c").json()
    assert (below["page"]["id"], below["page"]["version"]) == (c["id"], 1)
    assert below["revision"] == moved.json()["revision"]
    gone = by_ref(owner, "org:acme#a/b/c")
    assert gone.status_code == 404
    assert details_of(gone)["movedTo"] == "org:acme#x/b/c"


def test_moves_that_cannot_be(owner: httpx.Client, abc: tuple[Json, Json, Json]) -> None:
    a, _, c = abc
    for parent in (a["id"], c["id"]):
        assert code_of(move(owner, a, parent=parent)) == "WOULD_CREATE_CYCLE"
    missing = move(owner, a, parent="01890000-0000-7000-8000-000000000000")
    assert (missing.status_code, code_of(missing)) == (404, "PARENT_NOT_FOUND")
    gone = create(owner, "Gone")
    owner.delete(f"/pages/{gone['id']}", headers=if_match(gone))
    deleted = move(owner, a, parent=gone["id"])
    assert (deleted.status_code, code_of(deleted)) == (409, "PARENT_DELETED")
    create(owner, "Taken", key="Taken")
    assert code_of(move(owner, c, parent=None, key="taken")) == "KEY_TAKEN"
    nothing = owner.post(f"/pages/{a['id']}/move", json={}, headers={"If-Match": "*"})
    assert details_of(nothing) == {"field": "body", "reason": "missing"}


def test_a_parent_in_another_scope_is_refused_by_name(world: World) -> None:
    client = world.client("org:acme", "org:other")
    page = create(client, "A")
    other = client.post("/pages", json={"scope": "org:other", "name": "O"}).json()["page"]
    response = move(client, page, parent=other["id"])
    assert response.status_code == 422
    assert details_of(response)["field"] == "parent"
    across = move(client, page, scope="org:other", parent=other["id"])
    assert across.json()["page"]["scope"] == "org:other"


def test_a_move_that_changes_nothing(owner: httpx.Client, abc: tuple[Json, Json, Json]) -> None:
    a, b, _ = abc
    response = owner.post(
        f"/pages/{b['id']}/move", json={"parent": a["id"]}, headers={"If-Match": '"9"'}
    )
    assert (response.status_code, response.json()["changed"]) == (200, False)


def test_a_page_with_children_goes_with_its_subtree(
    owner: httpx.Client, abc: tuple[Json, Json, Json]
) -> None:
    a, _, c = abc
    refused = owner.delete(f"/pages/{a['id']}", headers=if_match(a))
    assert (refused.status_code, code_of(refused)) == (409, "PAGE_HAS_CHILDREN")
    deleted = owner.delete(f"/pages/{a['id']}", params={"subtree": "true"}, headers=if_match(a))
    assert deleted.json() == {"revision": deleted.json()["revision"], "changed": True, "page": None}
    assert owner.get(f"/pages/{c['id']}").status_code == 404
    items = owner.get("/deletions").json()["items"]
    assert {item["ref"] for item in items} == {"org:acme#a", "org:acme#a/b", "org:acme#a/b/c"}
    assert {item["deletion"] for item in items} == {deleted.json()["revision"]}

    top = next(item for item in items if item["ref"] == "org:acme#a")
    child = next(item for item in items if item["ref"] == "org:acme#a/b")
    alone = owner.post(f"/pages/{child['pageId']}/restore", json={}, headers=if_match(child))
    assert code_of(alone) == "PARENT_DELETED"
    back = owner.post(
        f"/pages/{top['pageId']}/restore",
        json={"deletion": top["deletion"]},
        headers=if_match(top),
    )
    assert back.status_code == 200, back.text
    assert by_ref(owner, "org:acme#a/b/c").json()["page"]["id"] == c["id"]
    assert owner.get("/deletions").json()["items"] == []


def test_an_earlier_content_comes_back_as_a_new_version(owner: httpx.Client) -> None:
    page = create(owner, "A", body="one")
    revision = owner.get("/revisions/active").json()["revision"]
    owner.patch(f"/pages/{page['id']}", json={"body": "two"}, headers=if_match(page))
    for source in ({"version": 1}, {"revision": revision}):
        restored = owner.post(
            f"/pages/{page['id']}/restore", json=source, headers={"If-Match": "*"}
        )
        assert restored.json()["page"]["body"] == "one"
    assert restored.json()["changed"] is False
    diff = owner.get(f"/pages/{page['id']}/diff", params={"from": 2, "to": 3}).json()["diff"]
    assert (diff["fromVersion"], diff["toVersion"]) == (2, 3)
    assert "-two\n" in diff["body"]
    versions = owner.get(f"/pages/{page['id']}/history").json()["items"]
    assert [entry["version"] for entry in versions] == [1, 2, 3]
    assert versions[-1]["restoredVersion"] == 1


def test_strangers_see_no_deletions(world: World, owner: httpx.Client) -> None:
    page = create(owner, "A")
    owner.delete(f"/pages/{page['id']}", headers=if_match(page))
    stranger = world.client("org:other", principal="user:eve")
    assert stranger.get("/deletions").json()["items"] == []
    restore = stranger.post(
        f"/pages/{page['id']}/restore", json={"version": 1}, headers={"If-Match": "*"}
    )
    assert code_of(restore) == "NOT_FOUND"
    auditor = world.client(principal="user:aud", grants=("auditor",))
    assert [item["pageId"] for item in auditor.get("/deletions").json()["items"]] == [page["id"]]


def test_a_merge_moves_children_and_leads_on(owner: httpx.Client) -> None:
    into, page = create(owner, "Into", key="into"), create(owner, "Page", key="page")
    create(owner, "FAQ", key="faq", parent=into["id"])
    mine = create(owner, "My FAQ", key="faq", parent=page["id"])
    body = {"into": into["id"], "intoVersion": into["version"]}
    refused = owner.post(f"/pages/{page['id']}/merge", json=body, headers=if_match(page))
    assert (refused.status_code, code_of(refused)) == (409, "KEY_TAKEN")
    merged = owner.post(
        f"/pages/{page['id']}/merge",
        json={**body, "onKeyCollision": "rename"},
        headers=if_match(page),
    )
    assert merged.status_code == 200, merged.text
    assert merged.json()["page"]["id"] == into["id"]
    assert merged.json()["renamed"] == [{"page": mine["id"], "before": "faq", "after": "faq-2"}]
    gone = owner.get(f"/pages/{page['id']}")
    assert details_of(gone)["mergedInto"] == into["id"]
    again = owner.post(f"/pages/{page['id']}/merge", json=body, headers={"If-Match": "*"})
    assert (again.status_code, code_of(again)) == (404, "NOT_FOUND")
    stale = owner.post(
        f"/pages/{mine['id']}/merge",
        json={"into": into["id"], "intoVersion": 1},
        headers={"If-Match": "*"},
    )
    assert code_of(stale) == "VERSION_CONFLICT"


def test_keys_are_nfc_and_case_folded(owner: httpx.Client) -> None:
    page = create(owner, "Café", key="café")
    assert page["key"] == "café"
    for key in ("cafe\u0301", "CAFÉ"):
        taken = owner.post("/pages", json={"scope": "org:acme", "name": "x", "key": key})
        assert code_of(taken) == "KEY_TAKEN"
        assert by_ref(owner, f"org:acme#{key}").json()["page"]["id"] == page["id"]
