"""A server on a free port of this machine, over a database of its own."""

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from tests.http.world import World, served_world


@pytest.fixture(autouse=True, scope="session")
def quiet_logs() -> Iterator[None]:
    """Log lines are looked at by the tests that concern them."""
    structlog.configure(processors=[_drop])
    yield
    structlog.reset_defaults()


def _drop(logger: Any, method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    raise structlog.DropEvent


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with served_world(tmp_path) as world:
        yield world


@pytest.fixture
def owner(world: World) -> httpx.Client:
    """Holds `org:acme`, whose owner it is."""
    return world.client("org:acme")
