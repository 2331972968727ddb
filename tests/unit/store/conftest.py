"""A database of each back end with a registered knowledge base and a writer over it."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from kbstore.clock import SystemClock
from kbstore.store import tables
from kbstore.store.backends import open_database
from kbstore.store.catalogue import Catalogue
from kbstore.store.database import Database
from kbstore.store.writer import Writer


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = open_database(database_url, [tables.metadata])
    yield opened
    opened.close()


@pytest.fixture
def kb_id(database: Database) -> UUID:
    made = uuid4()
    Catalogue(database, SystemClock()).register(made, f"kb-{made}")
    return made


@pytest.fixture
def writer(database: Database) -> Iterator[Writer]:
    running = Writer(database, None, SystemClock())
    yield running
    running.close()
