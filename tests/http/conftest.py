"""A server on a free port of this machine, over a database of its own."""

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from api.wiring import Services, open_services
from tests.backends import NewUrl
from tests.http.hooks import SETTINGS, forget_webhooks
from tests.http.receiving import Receiver, receiving
from tests.http.world import World, serve


@pytest.fixture(scope="session")
def server(new_url: NewUrl) -> Iterator[tuple[Services, str]]:
    """One server for all tests: each has a knowledge base of its own on it."""
    with open_services(new_url()) as services, serve(services) as address:
        yield services, address


@pytest.fixture
def world(server: tuple[Services, str]) -> Iterator[World]:
    world = World(*server, slug=f"kb-{uuid4()}")
    yield world
    world.close()


@pytest.fixture(scope="session")
def hasty_server(new_url: NewUrl) -> Iterator[tuple[Services, str]]:
    """A server that delivers webhooks to this machine, and soon tries again."""
    with open_services(new_url()) as services, serve(services, SETTINGS) as address:
        yield services, address


@pytest.fixture
def hasty_world(hasty_server: tuple[Services, str]) -> Iterator[World]:
    world = World(*hasty_server, slug=f"kb-{uuid4()}")
    # The first page of a scope brings the scope page's own event with it.
    for scope in ("org:acme", "org:other", "team:acme:sales"):
        body = {"scope": scope, "name": "Ground"}
        assert world.client(scope).post("/pages", json=body).status_code == 201
    yield world
    forget_webhooks(world)
    world.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Of webhooks; it takes everything until told otherwise."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def owner(world: World) -> httpx.Client:
    """Holds `org:acme`, whose owner it is."""
    return world.client("org:acme")
