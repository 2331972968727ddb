"""Where the write side meets the read side: the one place that joins them."""

from collections.abc import Iterator
from contextlib import contextmanager

from kbstore.clock import Clock
from kbstore.errors import StoreError
from kbstore.ids import IdSource
from kbstore.service import CommandService
from kbstore.store import backends
from kbstore.store import tables as store_tables
from kbstore.store.database import Database
from projections import tables as projection_tables
from projections.lexical.checkpoint_tables import caches
from projections.projector import Projections

SCHEMA = (store_tables.metadata, projection_tables.metadata, caches)


class Services:
    """An open database with the service that writes to it; reads go to the database itself, or
    to a replica of it."""

    def __init__(
        self,
        database: Database,
        projections: Projections,
        commands: CommandService,
        replica: Database | None = None,
    ) -> None:
        self.database = database
        self.replica = replica
        self.projections = projections
        self.commands = commands

    def close(self) -> None:
        """Finishes accepted writes, then closes every connection."""
        self.commands.close()
        self.database.close()
        if self.replica is not None:
            self.replica.close()


def open_database(url: str) -> Database:
    """The database behind a URL, with the whole schema; a new SQLite file is created."""
    return backends.open_database(url, SCHEMA)


def locate_database(url: str) -> Database:
    """The database behind a URL, whatever schema it has."""
    return backends.locate_database(url, SCHEMA)


def locate_replica(url: str) -> Database:
    """A replica of a PostgreSQL database, which need not answer now. StoreError for others."""
    replica = locate_database(url)
    if replica.is_file:
        raise StoreError("A SQLite file has no replicas.")
    return replica


def build_services(
    database: Database,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    replica: Database | None = None,
) -> Services:
    projections = Projections()
    commands = CommandService(database, projections, clock, ids)
    return Services(database, projections, commands, replica)


@contextmanager
def open_services(url: str, replica_url: str | None = None) -> Iterator[Services]:
    """The services over a database, and perhaps a replica, for the length of a block."""
    replica = None if replica_url is None else locate_replica(replica_url)
    services = build_services(open_database(url), replica=replica)
    try:
        yield services
    finally:
        services.close()
