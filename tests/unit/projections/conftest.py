from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.unit.projections.history import History, open_database


@pytest.fixture
def history(database_url: str) -> Iterator[History]:
    with closing(open_database(database_url)) as database:
        history = History(database)
        yield history
        history.connection.close()
