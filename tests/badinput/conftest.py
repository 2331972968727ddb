"""One server for all bad requests, and one knowledge base that none of them changes."""

from collections.abc import Iterator

import pytest

from api.settings import Settings
from api.wiring import Services
from tests.backends import NewUrl
from tests.badinput.sending import Sender
from tests.badinput.stock import Stock
from tests.http.world import serve
from tests.knowledge import fast_services

SMALL_BYTES = 64 * 1024
HASTY_SECONDS = 0.25


@pytest.fixture(scope="session")
def services(new_url: NewUrl) -> Iterator[Services]:
    with fast_services(new_url()) as services:
        yield services


@pytest.fixture(scope="session")
def url(services: Services) -> Iterator[str]:
    """A server with the limits it has by default, but that hardly waits for a revision."""
    with serve(services, Settings(min_revision_wait_seconds_max=0.02)) as url:
        yield url


@pytest.fixture(scope="session")
def small_url(services: Services) -> Iterator[str]:
    """A server that takes little at a time."""
    with serve(services, Settings(request_bytes_max=SMALL_BYTES)) as url:
        yield url


@pytest.fixture(scope="session")
def hasty_url(services: Services) -> Iterator[str]:
    """A server that does not wait for long."""
    with serve(services, Settings(request_body_seconds_max=HASTY_SECONDS)) as url:
        yield url


@pytest.fixture(scope="session")
def stock(services: Services, url: str) -> Stock:
    return Stock(services, url)


@pytest.fixture
def send(stock: Stock) -> Iterator[Sender]:
    """Sends requests; nothing they do may leave a trace."""
    with stock.kb.nothing_written(), Sender(stock) as sender:
        yield sender
