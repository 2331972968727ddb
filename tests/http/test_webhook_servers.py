"""Servers: several over one database, and those that end while something is to be delivered."""

from contextlib import ExitStack, closing

import pytest
from msgspec.structs import replace

from api.settings import Settings
from api.wiring import open_services
from kbstore.clock import SystemClock
from tests.backends import NewUrl, PostgresServer, change, query
from tests.http.hooks import HASTY, SETTINGS, dead_letters, hook, redeliver, state
from tests.http.receiving import Receiver, answers, hangs, receiving, takes, until
from tests.http.world import World, code_of, create, details_of, serve

STRICT = Settings(webhooks=replace(HASTY, allow_private=False, attempts_max=1_000))
FEW_SLOTS = Settings(
    webhooks=replace(
        HASTY,
        deliveries_max=2,
        answer_seconds_max=0.3,
        attempts_max=1_000,
        backoff_seconds_min=0.5,
        backoff_seconds_max=60.0,
    )
)
FEW_LETTERS = Settings(webhooks=replace(HASTY, attempts_max=1, dead_letters_max=3))


def test_two_servers_over_one_database_deliver_each_event_once_and_in_order(
    postgres: PostgresServer, receiver: Receiver
) -> None:
    url = postgres.new_database()
    with ExitStack() as stack:
        services = [stack.enter_context(open_services(url)) for _ in range(2)]
        urls = [stack.enter_context(serve(each, SETTINGS)) for each in services]
        world = World(services[0], urls[0])
        stack.callback(world.close)
        owner = world.client("org:acme")
        create(owner, "Ground")
        webhooks = [hook(owner, f"{receiver.url}/{number}") for number in range(3)]
        world.url = urls[1]
        elsewhere = world.client("org:acme")
        for number in range(15):
            create(owner, f"Here {number}")
            create(elsewhere, f"There {number}")
        until(lambda: len(receiver.received) >= 90)
        for number, webhook in enumerate(webhooks):
            path = f"/hook/{number}"
            got = [each.position for each in receiver.received if each.path == path]
            assert got == list(range(webhook["position"] + 1, webhook["position"] + 31))


def test_one_server_goes_on_where_another_one_ended(
    postgres: PostgresServer, receiver: Receiver
) -> None:
    url = postgres.new_database()
    with (
        open_services(url) as services,
        serve(services, SETTINGS) as remaining,
        closing(World(services, remaining)) as world,
    ):
        owner = world.client("org:acme")
        create(owner, "Ground")
        receiver.behaviour = answers(500)
        with open_services(url) as others, serve(others, SETTINGS):
            hook(owner, receiver.url)
            create(owner, "First")
            until(lambda: receiver.received != [])
        receiver.behaviour = takes
        create(owner, "Second")
        until(lambda: receiver.named("First", "Second"))


def test_a_lease_that_a_dead_process_left_runs_out(new_url: NewUrl, receiver: Receiver) -> None:
    with (
        open_services(new_url()) as services,
        serve(services, SETTINGS) as url,
        closing(World(services, url)) as world,
    ):
        owner = world.client("org:acme")
        create(owner, "Ground")
        hook(owner, receiver.url)
        # What is done when a server starts has been done.
        create(owner, "First")
        until(lambda: receiver.named("First"))
        with services.database.connected() as connection:
            until(lambda: query(connection, "SELECT lease_until FROM webhooks") == [(0,)])
            runs_out_at = SystemClock().now() + 1_500_000
            change(
                connection,
                "UPDATE webhooks SET lease_owner = 'dead', lease_until = ?",
                runs_out_at,
            )
        create(owner, "Second")
        until(lambda: receiver.named("First", "Second"))
        assert SystemClock().now() >= runs_out_at


@pytest.mark.parametrize("is_hanging", [False, True], ids=["idle", "hanging"])
def test_a_server_that_ends_and_comes_again_goes_on(
    new_url: NewUrl, receiver: Receiver, is_hanging: bool
) -> None:
    with open_services(new_url()) as services, ExitStack() as stack:
        with serve(services, SETTINGS) as url:
            world = stack.enter_context(closing(World(services, url)))
            owner = world.client("org:acme")
            create(owner, "Ground")
            hook(owner, receiver.url)
            create(owner, "First")
            until(lambda: receiver.named("First"))
            if is_hanging:
                receiver.behaviour = hangs
                create(owner, "Cut off")
                until(lambda: len(receiver.received) == 2)
        # This one may not deliver there.
        with serve(services, STRICT) as strict:
            world.url = strict
            create(world.client("org:acme"), "Second")
        receiver.behaviour = takes
        with serve(services, SETTINGS):
            names = ("First", "Cut off", "Second") if is_hanging else ("First", "Second")
            until(lambda: receiver.named(*names))


def test_private_addresses_are_refused_at_delivery_as_well(
    new_url: NewUrl, receiver: Receiver
) -> None:
    """They were allowed when the webhooks were made; a name tells nothing before."""
    with open_services(new_url()) as services, ExitStack() as stack:
        with serve(services, SETTINGS) as url:
            world = stack.enter_context(closing(World(services, url)))
            owner = world.client("org:acme")
            create(owner, "Ground")
            plain = hook(owner, receiver.url)
            secure = hook(owner, receiver.url.replace("http:", "https:"))
            named = hook(owner, f"https://localhost:{receiver.port}/")
        with serve(services, STRICT) as url:
            world.url = url
            admin = world.client("org:acme", grants=("admin",))
            create(admin, "First")
            until(lambda: state(admin, plain)["lastError"] == "scheme")
            until(lambda: state(admin, secure)["lastError"] == "privateAddress")
            until(lambda: state(admin, named)["lastError"] == "privateAddress")
    assert receiver.received == []


def test_hanging_receivers_in_every_slot_hold_up_others_for_a_moment_alone(
    new_url: NewUrl, receiver: Receiver
) -> None:
    with (
        receiving() as hanging,
        open_services(new_url()) as services,
        serve(services, FEW_SLOTS) as url,
        closing(World(services, url)) as world,
    ):
        hanging.behaviour = hangs
        owner = world.client("org:acme")
        create(owner, "Ground")
        for _ in range(3):
            hook(owner, hanging.url)
        hook(owner, receiver.url)
        create(owner, "First")
        create(owner, "Second")
        until(lambda: receiver.named("First", "Second"))


def test_a_number_of_dead_letters_disables_a_webhook(new_url: NewUrl, receiver: Receiver) -> None:
    receiver.behaviour = answers(500)
    with (
        open_services(new_url()) as services,
        serve(services, FEW_LETTERS) as url,
        closing(World(services, url)) as world,
    ):
        owner = world.client("org:acme")
        create(owner, "Ground")
        webhook = hook(owner, receiver.url)
        for number in (1, 2):
            create(owner, f"Page {number}")
        until(lambda: len(dead_letters(owner, webhook)) == 2)
        assert state(owner, webhook)["status"] == "failing"
        create(owner, "Page 3")
        until(lambda: state(owner, webhook)["status"] == "disabled")
        assert state(owner, webhook)["disabledReason"] == "tooManyDeadLetters"
        letters = dead_letters(owner, webhook)
        assert len(letters) == 3
        refused = redeliver(owner, webhook, letters[0]["position"])
        assert (refused.status_code, code_of(refused)) == (409, "WEBHOOK_DISABLED")
        assert details_of(refused) == {"reason": "tooManyDeadLetters"}
        assert dead_letters(owner, webhook) == letters
        # A new webhook takes up where this one ended.
        receiver.behaviour = takes
        receiver.received.clear()
        hook(owner, receiver.url, after=letters[0]["position"] - 1)
        until(lambda: receiver.named("Page 1", "Page 2", "Page 3"))
