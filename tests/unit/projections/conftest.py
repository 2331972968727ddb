from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.projections.history import History, open_database


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    database = open_database(tmp_path)
    history = History(database)
    yield history
    history.connection.close()
    database.close()
