"""Where databases that are killed lie: in a file, and on a PostgreSQL server that waits for the
disk and that no other test is on."""

from collections.abc import Iterator

import pytest

from tests.backends import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def durable_postgres() -> Iterator[PostgresServer]:
    with postgres_server(is_durable=True) as server:
        yield server
