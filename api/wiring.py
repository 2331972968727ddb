"""Where the write side meets the read side: the one place that joins them."""

from collections.abc import Iterator
from contextlib import contextmanager

from kbstore.clock import Clock
from kbstore.ids import IdSource
from kbstore.service import CommandService
from kbstore.store import backends
from kbstore.store import tables as store_tables
from kbstore.store.database import Database
from projections import tables as projection_tables
from projections.projector import Projections

SCHEMA = (store_tables.metadata, projection_tables.metadata)


class Services:
    """An open database with the service that writes to it; reads go to the database itself."""

    def __init__(
        self, database: Database, projections: Projections, commands: CommandService
    ) -> None:
        self.database = database
        self.projections = projections
        self.commands = commands

    def close(self) -> None:
        """Finishes accepted writes, then closes every connection."""
        self.commands.close()
        self.database.close()


def open_database(url: str) -> Database:
    """The database behind a URL, with the whole schema; a new SQLite file is created."""
    return backends.open_database(url, SCHEMA)


def locate_database(url: str) -> Database:
    """The database behind a URL, whatever schema it has."""
    return backends.locate_database(url, SCHEMA)


def build_services(
    database: Database, clock: Clock | None = None, ids: IdSource | None = None
) -> Services:
    projections = Projections()
    return Services(database, projections, CommandService(database, projections, clock, ids))


@contextmanager
def open_services(url: str) -> Iterator[Services]:
    """The services over a database for the length of a block."""
    services = build_services(open_database(url))
    try:
        yield services
    finally:
        services.close()
