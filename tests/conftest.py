"""What every test runs under: a far time zone, no outside configuration, no deadlines, and one
of the back ends where it asks for a database by `new_url`."""

import logging
import os
import time
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.backends import (
    BACKENDS,
    Databases,
    NewUrl,
    PostgresServer,
    SqliteFiles,
    postgres_server,
)

# 14 hours ahead of UTC, so that a local time taken for UTC shows at once. The POSIX form needs
# no time zone data.
os.environ["TZ"] = "<+14>-14"
time.tzset()

for _name in [name for name in os.environ if name.startswith("KBSTORE_")]:
    del os.environ[_name]

# No deadline: a busy machine is not a defect of the code.
settings.register_profile(
    "kbstore", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("kbstore")


@pytest.fixture(autouse=True, scope="session")
def quiet_logs() -> Iterator[None]:
    """Log lines are looked at by the tests that concern them."""
    structlog.configure(
        processors=[_drop], wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET)
    )
    yield
    structlog.reset_defaults()


def _drop(logger: Any, method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    raise structlog.DropEvent


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the whole run, which does not wait for the disk."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Whoever asks for it runs once for each back end."""
    return str(request.param)


@pytest.fixture(scope="session")
def databases_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Databases]:
    """The databases of one back end, for those that name it."""
    files = SqliteFiles(tmp_path_factory.mktemp("databases"))

    def find(backend: str) -> Databases:
        if backend == "sqlite":
            return files
        server: PostgresServer = request.getfixturevalue("postgres")
        return server

    return find


@pytest.fixture(scope="session")
def databases(backend: str, databases_of: Callable[[str], Databases]) -> Databases:
    return databases_of(backend)


@pytest.fixture(scope="session")
def new_url(databases: Databases) -> NewUrl:
    """For what is shared by many tests."""
    return databases.new_database


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """For one test alone."""
    with databases.lent() as url:
        yield url
