"""A server killed with SIGKILL while it delivers: another one goes on, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.wiring import open_services
from tests.acceptance.processes import Served, command_of, start_server
from tests.backends import BACKENDS, PostgresServer, change
from tests.crash.world import World, new_world
from tests.http.hooks import hook
from tests.http.receiving import Receiver, receiving, until
from tests.http.world import create

PAGES = 30


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    if request.param == "sqlite":
        return new_world(tmp_path)
    postgres: PostgresServer = request.getfixturevalue("durable_postgres")
    return new_world(tmp_path, postgres.new_database())


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def started(world: World) -> Served:
    command = command_of(world.database, "serve", "--port", 0, "--webhooks-allow-private")
    return start_server(command)


def test_a_killed_server_loses_no_delivery(world: World, receiver: Receiver) -> None:
    names = [f"Page {number}" for number in range(PAGES)]
    killed = started(world)
    try:
        with world.client_of(killed) as client:
            create(client, "Ground")
            hook(client, receiver.url)
            for name in names:
                create(client, name)
        until(lambda: len(receiver.received) > PAGES // 3)
    finally:
        killed.kill()
    if isinstance(world.database, str):
        # Several processes may serve this one, so its lease has to run out: sooner than in life.
        with open_services(world.database) as services, services.database.connected() as writer:
            change(writer, "UPDATE webhooks SET lease_until = 0")
    again = started(world)
    try:
        until(lambda: receiver.named(*names))
    finally:
        again.end()
    # What was delivered twice came with the same id.
    assert len({each.id for each in receiver.received}) == PAGES
