"""The routes of webhooks: who makes, sees and deletes which, and what is refused."""

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from kbstore.limits import WEBHOOK_URL_CHARACTERS_MAX, WEBHOOKS_MAX
from tests.http.hooks import dead_letters, forget_webhooks, hook, redeliver, state
from tests.http.world import World, code_of, create, details_of

URL = "https://receiver.example/hook"
NEVER = ["knowledge_base.created"]
"""Of these no event comes: nothing is sent anywhere."""


@pytest.fixture(autouse=True)
def nothing_left(world: World) -> Iterator[None]:
    yield
    forget_webhooks(world)


def quiet_hook(client: httpx.Client) -> dict[str, object]:
    made: dict[str, object] = hook(client, URL, types=NEVER)
    return made


def test_a_new_webhook_shows_its_secret_once(owner: httpx.Client) -> None:
    create(owner, "Before")
    response = owner.post("/webhooks", json={"url": URL, "types": NEVER})
    assert response.status_code == 201
    assert response.headers["cache-control"] == "no-store"
    made = response.json()
    assert made["secret"].startswith("whsec_")
    webhook = made["webhook"]
    assert response.headers["location"].endswith(f"/webhooks/{webhook['id']}")
    last = owner.get("/events", params={"limit": 200}).json()["items"][-1]
    assert webhook == {
        "id": webhook["id"],
        "url": URL,
        "types": NEVER,
        "scopes": ["org:acme"],
        "principal": "user:ann",
        "createdAt": webhook["createdAt"],
        "status": "active",
        "position": last["position"],
        "deadLetters": 0,
        "lastAttemptAt": None,
        "lastStatus": None,
        "lastError": None,
        "failingSince": None,
        "nextAttemptAt": None,
        "disabledReason": None,
    }
    read = owner.get(f"/webhooks/{webhook['id']}")
    assert read.json()["webhook"] == webhook
    assert made["secret"] not in read.text
    assert made["secret"] not in owner.get("/webhooks").text


def test_each_webhook_has_a_secret_of_its_own(owner: httpx.Client) -> None:
    assert quiet_hook(owner)["secret"] != quiet_hook(owner)["secret"]


def test_webhooks_are_listed_in_the_order_in_which_they_were_made(owner: httpx.Client) -> None:
    made = [quiet_hook(owner)["id"] for _ in range(5)]
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        part = owner.get("/webhooks", params={"limit": "2", **cursor}).json()
        found += [item["id"] for item in part["items"]]
        if part["nextCursor"] is None:
            break
        # Commits and other webhooks do not end the walk.
        create(owner, "Meanwhile")
        cursor = {"cursor": part["nextCursor"]}
    assert found == made


def test_a_key_sees_its_own_webhooks_alone(world: World, owner: httpx.Client) -> None:
    mine = quiet_hook(owner)
    # Another key of the same principal.
    other = world.client("org:acme")
    never = str(uuid4())
    assert other.get("/webhooks").json()["items"] == []
    for method, path in (
        ("GET", "/webhooks/{}"),
        ("DELETE", "/webhooks/{}"),
        ("GET", "/webhooks/{}/dead-letters"),
        ("POST", "/webhooks/{}/dead-letters/1/redeliver"),
    ):
        foreign = other.request(method, path.format(mine["id"]))
        missing = other.request(method, path.format(never))
        assert foreign.status_code == missing.status_code == 404
        told = foreign.json()["error"], missing.json()["error"]
        assert told[0]["message"].replace(str(mine["id"]), never) == told[1]["message"]
        assert told[0]["code"] == told[1]["code"] == "NOT_FOUND"
        assert foreign.headers.keys() == missing.headers.keys()
    assert state(owner, mine)["status"] == "active"


def test_an_admin_sees_and_deletes_all(world: World, owner: httpx.Client) -> None:
    webhook = quiet_hook(owner)
    admin = world.client(grants=("admin",), principal="user:root")
    assert [item["id"] for item in admin.get("/webhooks").json()["items"]] == [webhook["id"]]
    assert dead_letters(admin, webhook) == []
    assert admin.delete(f"/webhooks/{webhook['id']}").status_code == 204
    assert owner.get("/webhooks").json()["items"] == []


def test_a_webhook_of_another_knowledge_base_is_not_there(
    world: World, owner: httpx.Client
) -> None:
    webhook = quiet_hook(owner)
    elsewhere = World(world.services, world.url, slug=f"kb-{uuid4()}")
    admin = elsewhere.client(grants=("admin",))
    assert admin.get(f"/webhooks/{webhook['id']}").status_code == 404
    assert admin.delete(f"/webhooks/{webhook['id']}").status_code == 404
    assert admin.get("/webhooks").json()["items"] == []
    elsewhere.close()


def test_a_deleted_webhook_is_gone(owner: httpx.Client) -> None:
    webhook = quiet_hook(owner)
    response = owner.delete(f"/webhooks/{webhook['id']}")
    assert (response.status_code, response.content) == (204, b"")
    assert owner.get(f"/webhooks/{webhook['id']}").status_code == 404
    assert owner.delete(f"/webhooks/{webhook['id']}").status_code == 404


def test_what_changes_shows_at_once_and_has_an_entity_tag(owner: httpx.Client) -> None:
    assert owner.get("/webhooks").json()["items"] == []
    quiet_hook(owner)
    read = owner.get("/webhooks")
    assert len(read.json()["items"]) == 1
    again = owner.get("/webhooks", headers={"If-None-Match": read.headers["etag"]})
    assert again.status_code == 304
    quiet_hook(owner)
    again = owner.get("/webhooks", headers={"If-None-Match": read.headers["etag"]})
    assert len(again.json()["items"]) == 2


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "malformed"),
        ("receiver.example/hook", "malformed"),
        ("https://", "malformed"),
        ("https:///hook", "malformed"),
        ("https://receiver.example:99999/", "malformed"),
        ("https://receiver.example/a b", "malformed"),
        ("https://receiver.example/\r\nx-more: 1", "malformed"),
        ("https://empfänger.example/", "malformed"),
        ("https://receiver.example\\@other.example/", "malformed"),
        ("http://receiver.example/", "scheme"),
        ("ftp://receiver.example/", "scheme"),
        ("file:///etc/hosts", "malformed"),
        ("https://ann:secret@receiver.example/", "userinfo"),
        ("https://receiver.example/#here", "fragment"),
        ("https://127.0.0.1/", "privateAddress"),
        ("https://10.1.2.3/", "privateAddress"),
        ("https://169.254.169.254/latest", "privateAddress"),
        ("https://[::1]/", "privateAddress"),
        ("https://[::ffff:10.0.0.1]/", "privateAddress"),
        ("https://localhost/", "privateAddress"),
        ("https://a.LOCALHOST./", "privateAddress"),
    ],
)
def test_a_url_has_one_form(owner: httpx.Client, url: str, reason: str) -> None:
    response = owner.post("/webhooks", json={"url": url})
    assert (response.status_code, code_of(response)) == (422, "VALIDATION_ERROR")
    assert details_of(response)["field"] == "url"
    assert details_of(response)["reason"] == reason


def test_a_url_has_a_length(owner: httpx.Client) -> None:
    longest = URL + "x" * (WEBHOOK_URL_CHARACTERS_MAX - len(URL))
    assert hook(owner, longest, types=NEVER)["url"] == longest
    response = owner.post("/webhooks", json={"url": longest + "x"})
    assert details_of(response) == {"field": "url", "reason": "tooLong"}


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({}, "url", "missing"),
        ({"url": URL, "types": ["page.unheard"]}, "types", "unknownValue"),
        ({"url": URL, "types": "page.created"}, "types", "type"),
        ({"url": URL, "after": -1}, "after", "outOfRange"),
        ({"url": URL, "after": 1_000_000}, "after", "outOfRange"),
        ({"url": URL, "secret": "mine"}, "secret", "unknown"),
    ],
)
def test_bodies_that_are_refused(
    owner: httpx.Client, body: dict[str, object], field: str, reason: str
) -> None:
    response = owner.post("/webhooks", json=body)
    assert response.status_code == 422
    assert (details_of(response)["field"], details_of(response)["reason"]) == (field, reason)


def test_a_knowledge_base_has_a_number_of_webhooks(world: World, owner: httpx.Client) -> None:
    for _ in range(WEBHOOKS_MAX):
        last = quiet_hook(owner)
    other = world.client("org:acme", principal="user:ben")
    response = other.post("/webhooks", json={"url": URL})
    assert (response.status_code, code_of(response)) == (409, "TOO_MANY_WEBHOOKS")
    assert details_of(response) == {"limit": WEBHOOKS_MAX}
    owner.delete(f"/webhooks/{last['id']}")
    quiet_hook(other)


def test_a_creation_that_is_sent_again_makes_one_webhook(world: World, owner: httpx.Client) -> None:
    body = {"url": URL, "types": NEVER}
    headers = {"Idempotency-Key": "once"}
    first = owner.post("/webhooks", json=body, headers=headers)
    again = owner.post("/webhooks", json=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    other_body = owner.post("/webhooks", json={"url": URL}, headers=headers)
    assert (other_body.status_code, code_of(other_body)) == (422, "IDEMPOTENCY_KEY_REUSED")
    # Another key of the same principal gets to know no secret.
    other_key = world.client("org:acme").post("/webhooks", json=body, headers=headers)
    assert (other_key.status_code, code_of(other_key)) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert len(owner.get("/webhooks").json()["items"]) == 1
    owner.delete(f"/webhooks/{first.json()['webhook']['id']}")
    gone = owner.post("/webhooks", json=body, headers=headers)
    assert (gone.status_code, code_of(gone)) == (404, "NOT_FOUND")


@pytest.mark.parametrize("position", ["7", "0", "-1", "x", "٣", "9" * 30, "1.0"])
def test_a_dead_letter_that_is_not_there_cannot_be_sent(owner: httpx.Client, position: str) -> None:
    webhook = quiet_hook(owner)
    response = owner.post(f"/webhooks/{webhook['id']}/dead-letters/{position}/redeliver")
    assert (response.status_code, code_of(response)) == (404, "NOT_FOUND")


def test_a_commit_says_nothing_of_webhooks(owner: httpx.Client) -> None:
    before = owner.get("/revisions/active").json()
    webhook = quiet_hook(owner)
    owner.delete(f"/webhooks/{webhook['id']}")
    assert redeliver(owner, webhook, 1).status_code == 404
    assert owner.get("/revisions/active").json() == before
