"""A database for the whole run, and a knowledge base of its own for each test."""

import logging
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import structlog

from api.wiring import Services
from tests.backends import NewUrl
from tests.knowledge import KnowledgeBase, fast_services
from tests.mcp.speaking import MODES, Make, Mode, legacy, modern


@pytest.fixture(scope="session")
def services(new_url: NewUrl) -> Iterator[Services]:
    with fast_services(new_url()) as services:
        yield services


@pytest.fixture
def kb(services: Services) -> KnowledgeBase:
    return KnowledgeBase(services)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    """Whoever asks for it runs once in each protocol revision."""
    found: Mode = request.param
    return found


@pytest.fixture
def make(mode: Mode) -> Make:
    """Makes messages of one of the revisions."""
    return {"legacy": legacy, "auto": modern}[mode]


@pytest.fixture
def lines() -> Iterator[list[dict[str, object]]]:
    """The log lines of the test, as their fields."""
    found: list[dict[str, object]] = []

    def keep(logger: Any, method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
        found.append(dict(event))
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(
        processors=[keep], wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET)
    )
    yield found
    structlog.configure(**before)
