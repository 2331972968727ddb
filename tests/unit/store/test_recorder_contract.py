"""eventsourcing's own contract tests, run against our recorders on each back end."""

import threading
from collections.abc import Callable, Iterator
from typing import ClassVar
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    Mapper,
)
from eventsourcing.tests import persistence as contract

from kbstore.clock import SystemClock
from kbstore.store import tables
from kbstore.store.application import KnowledgeBaseApplication
from kbstore.store.backends import open_database
from kbstore.store.catalogue import Catalogue
from kbstore.store.database import Database
from kbstore.store.recorder import EventRecorder, KnowledgeBaseRecorder
from kbstore.store.writer import Writer
from tests.backends import Databases


class OnBackEnd:
    """Each recorder gets a knowledge base of its own in one database.

    A unittest case cannot be run for each back end by itself: there is a class for each.
    """

    backend: ClassVar[str]

    @pytest.fixture(autouse=True)
    def open_one(self, databases_of: Callable[[str], Databases]) -> Iterator[None]:
        running = set(threading.enumerate())
        with databases_of(self.backend).lent() as url:
            self.database = open_database(url, [tables.metadata])
            self.writer = Writer(self.database, None, SystemClock())
            yield
            self.writer.close()
            # Some cases leave readers behind, which stop by themselves.
            for thread in set(threading.enumerate()) - running:
                thread.join(10)
            self.database.close()

    def new_kb(self) -> UUID:
        kb_id = uuid4()
        Catalogue(self.database, SystemClock()).register(kb_id, f"kb-{kb_id.hex[:20]}")
        return kb_id


class Aggregates(OnBackEnd):
    def create_recorder(self) -> AggregateRecorder:
        return EventRecorder(self.database, self.writer, self.new_kb(), "service:test")


class KnowledgeBases(OnBackEnd):
    def create_recorder(self) -> ApplicationRecorder:
        return KnowledgeBaseRecorder(self.database, self.writer, self.new_kb(), "service:test")


class TestAggregatesOnSqlite(Aggregates, contract.AggregateRecorderTestCase):
    backend = "sqlite"


class TestAggregatesOnPostgresql(Aggregates, contract.AggregateRecorderTestCase):
    backend = "postgresql"


class TestKnowledgeBasesOnSqlite(
    KnowledgeBases, contract.ApplicationRecorderTestCase[ApplicationRecorder]
):
    backend = "sqlite"


class TestKnowledgeBasesOnPostgresql(
    KnowledgeBases, contract.ApplicationRecorderTestCase[ApplicationRecorder]
):
    backend = "postgresql"


def test_an_application_never_reads_the_environment(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    application = KnowledgeBaseApplication(database, writer, kb_id)
    assert dict(application.env) == {}
    assert isinstance(application.mapper, Mapper)
    assert isinstance(application.factory, InfrastructureFactory)


def test_closing_one_application_leaves_the_database_open(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    first = KnowledgeBaseApplication(database, writer, kb_id)
    second = KnowledgeBaseApplication(database, writer, kb_id)
    first.close()
    assert second.recorder.max_notification_id() is None
