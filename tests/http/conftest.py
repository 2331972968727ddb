"""A server on a free port of this machine, over a database of its own."""

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from api.wiring import Services, open_services
from tests.backends import NewUrl
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


@pytest.fixture
def owner(world: World) -> httpx.Client:
    """Holds `org:acme`, whose owner it is."""
    return world.client("org:acme")
