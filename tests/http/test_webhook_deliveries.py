"""Deliveries: what is sent, in which order, and what becomes of receivers that do not take it."""

import httpx
import pytest

from kbstore.domain.events import EVENT_TYPES
from tests.http.hooks import HASTY, hook, state
from tests.http.receiving import (
    Behaviour,
    Receiver,
    answers,
    drips_body,
    drips_head,
    floods,
    hangs,
    hangs_up,
    receiving,
    speaks_no_http,
    takes,
    until,
)
from tests.http.world import CONFIGURATION, World, create


@pytest.fixture
def world(hasty_world: World) -> World:
    return hasty_world


@pytest.fixture
def owner(world: World) -> httpx.Client:
    return world.client("org:acme")


# --- what is sent -------------------------------------------------------------------------------


def test_a_delivery_holds_the_event_as_the_feed_shows_it(
    world: World, owner: httpx.Client, receiver: Receiver
) -> None:
    webhook = hook(owner, receiver.url)
    page = create(owner, "First", key="first", body="# First\n")
    until(lambda: len(receiver.received) == 1)
    (received,) = receiver.received
    (event,) = owner.get("/events", params={"pageId": page["id"]}).json()["items"]
    assert received.json == {
        "type": "page.created",
        "timestamp": event["at"],
        "knowledgeBase": f"knowledge-base-{world.kb_id}",
        "data": event,
    }
    assert received.path == "/hook"
    assert received.headers["content-type"] == "application/json"
    assert received.id == f"msg_{webhook['id'].replace('-', '')}_{event['position']}"
    assert "authorization" not in received.headers


def test_events_come_in_order_and_none_twice(owner: httpx.Client, receiver: Receiver) -> None:
    webhook = hook(owner, receiver.url)
    pages = [create(owner, f"Page {number}") for number in range(12)]
    operations = [
        {"op": "edit", "page": page["id"], "expectedVersion": 1, "name": f"Again {number}"}
        for number, page in enumerate(pages)
    ]
    assert owner.post("/commits", json={"operations": operations}).status_code in (200, 201)
    after = owner.get("/events", params={"after": webhook["position"]}).json()["items"]
    expected = [event["position"] for event in after]
    assert len(expected) == 24
    until(lambda: len(receiver.received) >= len(expected))
    assert receiver.positions == expected


def test_only_events_of_the_types_asked_for_come(owner: httpx.Client, receiver: Receiver) -> None:
    hook(owner, receiver.url, types=["page.edited", "page.deleted"])
    page = create(owner, "First")
    owner.patch(f"/pages/{page['id']}", json={"name": "B"}, headers={"If-Match": "*"})
    owner.delete(f"/pages/{page['id']}", headers={"If-Match": "*"})
    until(lambda: len(receiver.received) == 2)
    assert [received.type for received in receiver.received] == ["page.edited", "page.deleted"]


def test_it_can_begin_in_the_past(owner: httpx.Client, receiver: Receiver) -> None:
    page = create(owner, "Before")
    (first,) = owner.get("/events", params={"pageId": page["id"]}).json()["items"]
    hook(owner, receiver.url, after=first["position"] - 1)
    create(owner, "After")
    until(lambda: receiver.named("Before", "After"))


def test_every_type_of_event_can_be_asked_for(owner: httpx.Client, receiver: Receiver) -> None:
    types = [event.topic for event in EVENT_TYPES]
    assert hook(owner, receiver.url, types=[*types, types[0]])["types"] == types


# --- who may see what ---------------------------------------------------------------------------


def test_a_delivery_holds_nothing_its_key_may_not_read(world: World) -> None:
    owner = world.client("org:acme", "org:other")
    with receiving() as narrow, receiving() as wide:
        hook(world.client("org:acme"), narrow.url)
        hook(owner, wide.url)
        owner.post("/pages", json={"scope": "org:other", "name": "Hidden"})
        create(owner, "Shown")
        until(lambda: wide.named("Hidden", "Shown"))
        until(lambda: narrow.named("Shown"))
        assert b"Hidden" not in b"".join(received.body for received in narrow.received)


def test_scopes_named_at_its_creation_narrow_it_for_ever(world: World, receiver: Receiver) -> None:
    owner = world.client("org:acme", "org:other")
    response = owner.post(
        "/webhooks", json={"url": receiver.url}, headers={"KB-Scopes": "org:acme"}
    )
    assert response.json()["webhook"]["scopes"] == ["org:acme"]
    owner.post("/pages", json={"scope": "org:other", "name": "Hidden"})
    create(owner, "Shown")
    until(lambda: receiver.named("Shown"))


def test_access_that_ends_before_the_delivery_counts(
    world: World, owner: httpx.Client, receiver: Receiver
) -> None:
    team = world.client("team:acme:sales")
    webhook = hook(owner, receiver.url)
    receiver.behaviour = answers(503)
    response = team.post("/pages", json={"scope": "team:acme:sales", "name": "Withdrawn"})
    assert response.status_code == 201
    until(lambda: len(receiver.received) == 1)
    lines = CONFIGURATION.splitlines()
    world.configure("\n".join(line for line in lines if '"org:acme", role = "viewer"' not in line))
    create(owner, "Shown")
    told = len(receiver.received)
    receiver.behaviour = takes
    until(lambda: state(owner, webhook)["status"] == "active")
    until(lambda: receiver.received[-1].json["data"]["data"].get("name") == "Shown")
    # At most the attempt that was on its way then.
    withdrawn = [each for each in receiver.received[told + 1 :] if b"Withdrawn" in each.body]
    assert withdrawn == []


def test_a_revoked_key_gets_nothing_any_more(world: World, receiver: Receiver) -> None:
    token = world.token("org:acme")
    with httpx.Client(
        base_url=f"{world.url}/openapi/v2/knowledge-bases/{world.slug}",
        headers={"Authorization": f"Bearer {token}"},
    ) as client:
        webhook = hook(client, receiver.url)
        create(client, "Before")
        until(lambda: receiver.named("Before"))
    world.services.commands.catalogue.revoke_key(token.split("_")[1])
    admin = world.client("org:acme", grants=("admin",))
    with receiving() as other:
        hook(admin, other.url)
        create(admin, "After")
        until(lambda: other.named("After"))
    assert receiver.named("Before")
    assert state(admin, webhook)["status"] == "revoked"


def test_a_key_revoked_while_its_receiver_fails_is_not_used_again(
    world: World, receiver: Receiver
) -> None:
    token = world.token("org:acme")
    receiver.behaviour = hangs
    with httpx.Client(
        base_url=f"{world.url}/openapi/v2/knowledge-bases/{world.slug}",
        headers={"Authorization": f"Bearer {token}"},
    ) as client:
        hook(client, receiver.url)
        create(client, "Once")
    until(lambda: len(receiver.received) == 1)
    world.services.commands.catalogue.revoke_key(token.split("_")[1])
    receiver.behaviour = takes
    receiver.ended.set()
    admin = world.client("org:acme", grants=("admin",))
    until(lambda: admin.get("/webhooks").json()["items"][0]["lastError"] is not None)
    with receiving() as other:
        hook(admin, other.url)
        create(admin, "After")
        until(lambda: other.named("After"))
    assert len(receiver.received) == 1


# --- receivers that fail ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "status", "error"),
    [
        (answers(500), 500, "status"),
        (answers(404), 404, "status"),
        (answers(301, location="/moved"), 301, "redirect"),
        (answers(307, location="/moved"), 307, "redirect"),
        (hangs, None, "timeout"),
        (drips_head, None, "timeout"),
        (hangs_up, None, "connection"),
        (speaks_no_http, None, "connection"),
    ],
    ids=["500", "404", "301", "307", "hangs", "drips", "hangs-up", "no-http"],
)
def test_what_is_not_taken_is_sent_again(
    owner: httpx.Client,
    receiver: Receiver,
    behaviour: Behaviour,
    status: int | None,
    error: str,
) -> None:
    receiver.behaviour = behaviour
    webhook = hook(owner, receiver.url)
    create(owner, "First")
    until(lambda: state(owner, webhook)["status"] == "failing")
    seen = state(owner, webhook)
    assert (seen["lastStatus"], seen["lastError"]) == (status, error)
    assert seen["failingSince"] is not None
    assert seen["nextAttemptAt"] is not None
    # Writes go on meanwhile.
    create(owner, "Second")
    receiver.behaviour = takes
    until(lambda: receiver.named("First", "Second"))
    until(lambda: state(owner, webhook)["status"] == "active")
    seen = state(owner, webhook)
    assert (seen["lastStatus"], seen["lastError"], seen["failingSince"]) == (204, None, None)
    assert receiver.followed == 0
    firsts = [each for each in receiver.received if each.position == receiver.received[0].position]
    assert len(firsts) >= 2
    assert len({each.id for each in firsts}) == 1, "the id tells a repeat"
    assert len({each.body for each in firsts}) == 1


def test_a_receiver_that_is_not_there_gets_it_later(owner: httpx.Client) -> None:
    with receiving() as gone:
        port = gone.port
    webhook = hook(owner, f"http://127.0.0.1:{port}/hook")
    create(owner, "First")
    until(lambda: state(owner, webhook)["lastError"] == "connection")
    with receiving(port) as back:
        until(lambda: back.named("First"))


def test_a_name_that_nobody_has_fails(owner: httpx.Client) -> None:
    webhook = hook(owner, "http://nobody.invalid/hook")
    create(owner, "First")
    until(lambda: state(owner, webhook)["lastError"] == "nameUnknown")


@pytest.mark.parametrize("behaviour", [drips_body, floods], ids=["drips", "floods"])
def test_a_body_without_end_changes_nothing_about_its_status(
    owner: httpx.Client, receiver: Receiver, behaviour: Behaviour
) -> None:
    receiver.behaviour = behaviour
    webhook = hook(owner, receiver.url)
    create(owner, "First")
    create(owner, "Second")
    until(lambda: len(receiver.received) == 2)
    until(lambda: state(owner, webhook)["lastStatus"] == 200)
    assert receiver.named("First", "Second")
    assert state(owner, webhook)["status"] == "active"


def test_a_receiver_that_hangs_costs_neither_writes_nor_other_webhooks(
    owner: httpx.Client, receiver: Receiver
) -> None:
    receiver.behaviour = hangs
    hook(owner, receiver.url)
    names = [f"Page {number}" for number in range(20)]
    with receiving() as other:
        hook(owner, other.url)
        create(owner, "While it hangs")
        until(lambda: len(receiver.received) == 1)
        for name in names:
            create(owner, name)
        until(lambda: other.named("While it hangs", *names))
    assert len(receiver.received) <= HASTY.attempts_max


def test_a_receiver_that_says_when_is_listened_to(owner: httpx.Client, receiver: Receiver) -> None:
    receiver.behaviour = answers(429, retry_after="86400")
    webhook = hook(owner, receiver.url)
    create(owner, "First")
    until(lambda: state(owner, webhook)["status"] == "failing")
    receiver.behaviour = takes
    # Not longer than the longest back-off.
    until(lambda: len(receiver.received) == 2)


def test_a_receiver_that_is_gone_gets_nothing_any_more(
    owner: httpx.Client, receiver: Receiver
) -> None:
    receiver.behaviour = answers(410)
    webhook = hook(owner, receiver.url)
    create(owner, "First")
    until(lambda: state(owner, webhook)["status"] == "disabled")
    assert state(owner, webhook)["disabledReason"] == "gone"
    with receiving() as other:
        hook(owner, other.url)
        create(owner, "Second")
        until(lambda: other.named("Second"))
    assert len(receiver.received) == 1


def test_a_deleted_webhook_gets_nothing_any_more(owner: httpx.Client, receiver: Receiver) -> None:
    webhook = hook(owner, receiver.url)
    create(owner, "First")
    until(lambda: receiver.named("First"))
    assert owner.delete(f"/webhooks/{webhook['id']}").status_code == 204
    with receiving() as other:
        hook(owner, other.url)
        create(owner, "Second")
        until(lambda: other.named("Second"))
    assert receiver.named("First")
