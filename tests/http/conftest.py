"""A server on a free port of this machine, over a database of its own."""

import logging
from collections.abc import Iterator, MutableMapping
from typing import Any
from uuid import uuid4

import httpx
import pytest
import structlog

from api.wiring import Services, open_services
from tests.http.world import World, serve


@pytest.fixture(autouse=True, scope="session")
def quiet_logs() -> Iterator[None]:
    """Log lines are looked at by the tests that concern them."""
    # Another folder may have set a level before, below which nothing would be looked at.
    structlog.configure(
        processors=[_drop], wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET)
    )
    yield
    structlog.reset_defaults()


def _drop(logger: Any, method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    raise structlog.DropEvent


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Services, str]]:
    """One server for all tests: each has a knowledge base of its own on it."""
    url = f"sqlite:///{tmp_path_factory.mktemp('served') / 'kb.sqlite'}"
    with open_services(url) as services, serve(services) as address:
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
