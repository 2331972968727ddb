"""One database and one server for all races, a knowledge base of its own for each test."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from api.wiring import Services
from tests.asking import Ask, Client, asking_at
from tests.http.world import serve
from tests.knowledge import KnowledgeBase, fast_services


@pytest.fixture(autouse=True, scope="session")
def quiet_logs() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    path = tmp_path_factory.mktemp("races") / "store.db"
    with fast_services(path) as services:
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
    """Holds org:acme, and so owns it."""
    return asking("user:ana")
