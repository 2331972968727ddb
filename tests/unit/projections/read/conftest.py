from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.unit.projections.read.world import World


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with closing(World(database_url)) as world:
        yield world
