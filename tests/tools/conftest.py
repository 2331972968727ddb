"""One server for the whole run, a knowledge base of its own for each test, and doors to its
tools."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from api.wiring import Services
from tests.asking import Ask, Client, asking_at
from tests.backends import NewUrl
from tests.http.world import serve
from tests.knowledge import KnowledgeBase, fast_services
from tests.tools.doors import Door, EveryDoor

OpenDoor = Callable[[Client], Door]


@pytest.fixture(scope="session")
def services(new_url: NewUrl) -> Iterator[Services]:
    with fast_services(new_url()) as services:
        yield services


@pytest.fixture(scope="session")
def url(services: Services) -> Iterator[str]:
    with serve(services) as url:
        yield url


@pytest.fixture
def kb(services: Services) -> KnowledgeBase:
    return KnowledgeBase(services)


@pytest.fixture
def asking(url: str, kb: KnowledgeBase) -> Iterator[Ask]:
    with asking_at(url, kb) as ask:
        yield ask


@pytest.fixture
def ana(asking: Ask) -> Client:
    """Holds org:acme, and so owns it and its teams; sees nothing of vault:acme."""
    return asking("user:ana")


@pytest.fixture
def open_door() -> Iterator[OpenDoor]:
    """Makes the doors of a client's key, asked together."""
    with ExitStack() as opened:

        def make(client: Client) -> Door:
            return opened.enter_context(closing(EveryDoor(client)))

        yield make


@pytest.fixture
def door(open_door: OpenDoor, ana: Client) -> Door:
    """Ana's."""
    return open_door(ana)
