"""`Idempotency-Key`: a write that is sent again happens once."""

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import httpx
import pytest

from api.settings import Settings
from api.wiring import open_services
from kbstore.limits import IDEMPOTENCY_KEY_CODE_POINTS_MAX
from kbstore.store.heads import lock_head
from tests.http.world import World, code_of, create, details_of, if_match, serve, served_world

PAGE = {"scope": "org:acme", "name": "Refund policy", "body": "text"}


def keyed(key: str, **more: str) -> dict[str, str]:
    return {"Idempotency-Key": key, **more}


def test_the_first_answer_comes_again(owner: httpx.Client) -> None:
    first = owner.post("/pages", json=PAGE, headers=keyed("k1"))
    head = owner.get("/revisions/active").json()
    again = owner.post("/pages", json=PAGE, headers=keyed("k1"))
    assert (
        (again.status_code, again.json())
        == (first.status_code, first.json())
        == (201, again.json())
    )
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["location"] == first.headers["location"]
    assert owner.get("/revisions/active").json() == head


def test_a_replay_shows_the_revision_of_the_first_try(owner: httpx.Client) -> None:
    page = create(owner, "A")
    first = owner.patch(
        f"/pages/{page['id']}", json={"name": "B"}, headers=keyed("k1", **if_match(page))
    )
    owner.patch(f"/pages/{page['id']}", json={"name": "C"}, headers={"If-Match": "*"})
    again = owner.patch(
        f"/pages/{page['id']}", json={"name": "B"}, headers=keyed("k1", **if_match(page))
    )
    assert again.json() == first.json()


def test_a_replay_names_no_renamed_child_that_is_hidden_by_now(
    world: World, owner: httpx.Client
) -> None:
    into, page = create(owner, "Into", key="into"), create(owner, "Page", key="page")
    for parent in (into, page):
        for key in ("faq", "terms"):
            create(owner, key, key=key, parent=parent["id"])

    def merge() -> httpx.Response:
        return owner.post(
            f"/pages/{page['id']}/merge",
            json={"into": into["id"], "onKeyCollision": "rename"},
            headers=keyed("k1", **{"If-Match": "*"}),
        )

    faq, terms = sorted(merge().json()["renamed"], key=lambda renamed: str(renamed["before"]))
    assert (faq["after"], terms["after"]) == ("faq-2", "terms-2")
    both = world.client("org:acme", "org:other", principal="user:bea")

    def hide(page_id: str) -> None:
        moved = both.post(
            f"/pages/{page_id}/move", json={"scope": "org:other"}, headers={"If-Match": "*"}
        )
        assert moved.status_code == 200, moved.text

    hide(faq["page"])
    again = merge()
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["renamed"] == [terms]
    hide(into["id"])
    gone = merge().json()
    assert (gone["page"], "renamed" in gone) == (None, False)


def test_the_expected_version_and_the_name_of_the_kb_may_differ(
    world: World, owner: httpx.Client
) -> None:
    page = create(owner, "A")
    first = owner.patch(
        f"/pages/{page['id']}", json={"name": "B"}, headers=keyed("k1", **if_match(page))
    )
    url = f"{world.url}/openapi/v2/knowledge-bases/knowledge-base-{world.kb_id}"
    again = owner.patch(
        f"{url}/pages/{page['id']}", json={"name": "B"}, headers=keyed("k1", **{"If-Match": "*"})
    )
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"


def test_the_order_of_fields_does_not_matter(owner: httpx.Client) -> None:
    first = owner.post("/pages", json=PAGE, headers=keyed("k1"))
    turned = dict(reversed(PAGE.items()))
    assert owner.post("/pages", json=turned, headers=keyed("k1")).json() == first.json()


@pytest.mark.parametrize("change", [{"name": "Other"}, {"key": "k"}, {"body": None}])
def test_another_request_under_the_same_key_is_refused(
    owner: httpx.Client, change: dict[str, object]
) -> None:
    owner.post("/pages", json=PAGE, headers=keyed("k1"))
    other = owner.post("/pages", json={**PAGE, **change}, headers=keyed("k1"))
    assert (other.status_code, code_of(other)) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_another_address_under_the_same_key_is_refused(owner: httpx.Client) -> None:
    one, two = create(owner, "One"), create(owner, "Two")
    owner.delete(f"/pages/{one['id']}", headers=keyed("k1", **{"If-Match": "*"}))
    for path in (f"/pages/{two['id']}", f"/pages/{one['id']}?subtree=true"):
        other = owner.delete(path, headers=keyed("k1", **{"If-Match": "*"}))
        assert code_of(other) == "IDEMPOTENCY_KEY_REUSED"


def test_a_delete_comes_again_although_the_page_is_gone(owner: httpx.Client) -> None:
    page = create(owner, "A")
    first = owner.delete(f"/pages/{page['id']}", headers=keyed("k1", **if_match(page)))
    again = owner.delete(f"/pages/{page['id']}", headers=keyed("k1", **if_match(page)))
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    repeated = owner.delete(f"/pages/{page['id']}", headers=if_match(page))
    assert (repeated.status_code, code_of(repeated)) == (404, "NOT_FOUND")


def test_a_no_op_is_kept_too(owner: httpx.Client) -> None:
    page = create(owner, "A")
    first = owner.patch(
        f"/pages/{page['id']}", json={"name": "A"}, headers=keyed("k1", **if_match(page))
    )
    assert first.json()["changed"] is False
    owner.patch(f"/pages/{page['id']}", json={"name": "B"}, headers=if_match(page))
    again = owner.patch(
        f"/pages/{page['id']}", json={"name": "A"}, headers=keyed("k1", **{"If-Match": "*"})
    )
    assert again.json()["changed"] is False
    assert again.json()["page"]["name"] == "B"
    assert again.headers["idempotency-replayed"] == "true"


def test_refusals_and_dry_runs_are_not_kept(owner: httpx.Client) -> None:
    owner.post("/pages", json={**PAGE, "key": "k"})
    taken = owner.post("/pages", json={**PAGE, "key": "k"}, headers=keyed("k1"))
    assert code_of(taken) == "KEY_TAKEN"
    assert owner.post("/pages", json={**PAGE, "key": "l"}, headers=keyed("k1")).status_code == 201
    dry = {"dryRun": True, "operations": [{"op": "create", **PAGE}]}
    assert owner.post("/commits", json=dry, headers=keyed("k2")).status_code == 200
    wet = {**dry, "dryRun": False}
    assert owner.post("/commits", json=wet, headers=keyed("k2")).status_code == 201


def test_a_key_belongs_to_its_principal(world: World, owner: httpx.Client) -> None:
    first = owner.post("/pages", json=PAGE, headers=keyed("k1")).json()
    bob = world.client("org:acme", principal="user:bob")
    second = bob.post("/pages", json=PAGE, headers=keyed("k1"))
    assert second.status_code == 201
    assert second.json()["page"]["id"] != first["page"]["id"]


def test_a_replay_is_rendered_under_todays_access(world: World, owner: httpx.Client) -> None:
    owner.post("/pages", json=PAGE, headers=keyed("k1"))
    narrowed = owner.post("/pages", json=PAGE, headers=keyed("k1", **{"KB-Scopes": ""}))
    assert narrowed.status_code == 201
    assert narrowed.json()["page"] is None


def test_keys_survive_a_restart(database_url: str) -> None:
    with served_world(database_url) as world:
        token, slug = world.token("org:acme"), world.slug
        path = f"/openapi/v2/knowledge-bases/{slug}/pages"
        headers = keyed("k1", Authorization=f"Bearer {token}")
        first = httpx.post(world.url + path, json=PAGE, headers=headers)
    with open_services(database_url) as services, serve(services) as url:
        again = httpx.post(url + path, json=PAGE, headers=headers)
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"


def test_a_key_is_allowed_to_its_limit(owner: httpx.Client) -> None:
    longest = "k" * IDEMPOTENCY_KEY_CODE_POINTS_MAX
    assert owner.post("/pages", json=PAGE, headers=keyed(longest)).status_code == 201
    for wrong, reason in ((longest + "k", "tooLong"), ("", "empty")):
        response = owner.post("/pages", json=PAGE, headers=keyed(wrong))
        assert response.status_code == 422
        assert details_of(response)["field"] == "Idempotency-Key"
        assert details_of(response)["reason"] == reason


def test_duplicates_sent_together_happen_once(world: World) -> None:
    client = world.client("org:acme")
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: client.post("/pages", json=PAGE, headers=keyed("k1")), range(8))
        )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["page"]["id"] for answer in answers}) == 1
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 7


def test_a_duplicate_waits_for_the_first_and_then_gives_up(database_url: str) -> None:
    settings = Settings(idempotency_wait_seconds_max=0.2)
    with served_world(database_url, settings) as world:
        client = world.client("org:acme")
        with world.services.database.connected() as blocker, ThreadPoolExecutor(2) as pool:
            blocker.begin_write()
            lock_head(blocker, world.kb_id)
            sent = [
                pool.submit(client.post, "/pages", json=PAGE, headers=keyed("k1")) for _ in range(2)
            ]
            try:
                early, late = wait(sent, timeout=10, return_when=FIRST_COMPLETED)
                refused = early.pop().result()
            finally:
                blocker.rollback()
            first = late.pop().result()
        assert (refused.status_code, code_of(refused)) == (409, "IDEMPOTENCY_IN_PROGRESS")
        assert refused.headers["retry-after"] == "1"
        assert first.status_code == 201
        again = client.post("/pages", json=PAGE, headers=keyed("k1"))
        assert again.json() == first.json()
