"""Dead letters: what no attempt got to its receiver, and how it gets there after all."""

import httpx
import pytest

from tests.http.hooks import HASTY, dead_letters, hook, redeliver, state
from tests.http.receiving import Behaviour, Handler, Received, Receiver, answers, takes, until
from tests.http.world import CONFIGURATION, World, create


@pytest.fixture
def world(hasty_world: World) -> World:
    return hasty_world


@pytest.fixture
def owner(world: World) -> httpx.Client:
    return world.client("org:acme")


def fails_at_first(times: int, then: Behaviour = takes, status: int = 500) -> Behaviour:
    left = [times]

    def behave(handler: Handler, received: Received) -> None:
        left[0] -= 1
        (answers(status) if left[0] >= 0 else then)(handler, received)

    return behave


def test_what_is_never_taken_becomes_a_dead_letter_and_the_next_one_is_sent(
    owner: httpx.Client, receiver: Receiver
) -> None:
    receiver.behaviour = fails_at_first(HASTY.attempts_max)
    webhook = hook(owner, receiver.url)
    create(owner, "Poison")
    create(owner, "Next")
    until(lambda: receiver.named("Poison", "Next"))
    (letter,) = dead_letters(owner, webhook)
    first = receiver.received[0]
    assert receiver.positions == [first.position] * HASTY.attempts_max + [first.position + 1]
    assert letter["position"] == first.position
    assert letter["messageId"] == first.id
    assert letter["attempts"] == HASTY.attempts_max
    assert (letter["lastStatus"], letter["lastError"]) == (500, "status")
    until(lambda: state(owner, webhook)["status"] == "active")
    assert state(owner, webhook)["deadLetters"] == 1


def test_a_dead_letter_is_sent_again_when_asked_for(
    owner: httpx.Client, receiver: Receiver
) -> None:
    receiver.behaviour = answers(500)
    webhook = hook(owner, receiver.url)
    create(owner, "Poison")
    until(lambda: len(dead_letters(owner, webhook)) == 1)
    (letter,) = dead_letters(owner, webhook)
    asked = redeliver(owner, webhook, letter["position"])
    assert asked.status_code == 202
    assert asked.json()["deadLetter"]["requestedAt"] is not None
    # In vain: it stays, and counts the attempt.
    until(lambda: dead_letters(owner, webhook)[0]["attempts"] == HASTY.attempts_max + 1)
    assert dead_letters(owner, webhook)[0]["requestedAt"] is None
    receiver.behaviour = takes
    sent = len(receiver.received)
    assert redeliver(owner, webhook, letter["position"]).status_code == 202
    until(lambda: dead_letters(owner, webhook) == [])
    (again,) = receiver.received[sent:]
    assert again.id == receiver.received[0].id
    assert again.body == receiver.received[0].body
    assert redeliver(owner, webhook, letter["position"]).status_code == 404


def test_a_dead_letter_is_sent_while_the_receiver_fails_otherwise(
    owner: httpx.Client, receiver: Receiver
) -> None:
    receiver.behaviour = answers(500)
    webhook = hook(owner, receiver.url)
    create(owner, "Poison")
    until(lambda: len(dead_letters(owner, webhook)) == 1)
    position = dead_letters(owner, webhook)[0]["position"]

    def takes_the_old(handler: Handler, received: Received) -> None:
        handler.answer(204 if received.position == position else 500)

    receiver.behaviour = takes_the_old
    create(owner, "Next")
    until(lambda: state(owner, webhook)["status"] == "failing")
    assert redeliver(owner, webhook, position).status_code == 202
    until(lambda: position not in [each["position"] for each in dead_letters(owner, webhook)])


def test_a_dead_letter_that_may_not_be_seen_any_more_is_dropped(
    world: World, owner: httpx.Client, receiver: Receiver
) -> None:
    team = world.client("team:acme:sales")
    receiver.behaviour = answers(500)
    webhook = hook(owner, receiver.url)
    assert (
        team.post("/pages", json={"scope": "team:acme:sales", "name": "Secret"}).status_code == 201
    )
    until(lambda: len(dead_letters(owner, webhook)) == 1)
    lines = CONFIGURATION.splitlines()
    world.configure("\n".join(line for line in lines if '"org:acme", role = "viewer"' not in line))
    sent = len(receiver.received)
    assert redeliver(owner, webhook, dead_letters(owner, webhook)[0]["position"]).status_code == 202
    until(lambda: dead_letters(owner, webhook) == [])
    assert len(receiver.received) == sent
