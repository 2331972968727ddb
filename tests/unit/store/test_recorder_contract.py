"""eventsourcing's own contract tests, run against our recorders."""

import shutil
import tempfile
from pathlib import Path
from unittest import TestCase
from uuid import UUID, uuid4

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
from kbstore.store.catalogue import Catalogue
from kbstore.store.database import Database
from kbstore.store.recorder import EventRecorder, KnowledgeBaseRecorder
from kbstore.store.writer import Writer


class _OnSQLite(TestCase):
    """Each recorder gets a knowledge base of its own in one file."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.database = Database.open(f"sqlite:///{self.folder}/store.db", [tables.metadata])
        self.writer = Writer(self.database, None, SystemClock())

    def tearDown(self) -> None:
        self.writer.close()
        self.database.close()
        shutil.rmtree(self.folder)

    def new_kb(self) -> UUID:
        kb_id = uuid4()
        Catalogue(self.database, SystemClock()).register(kb_id, f"kb-{kb_id.hex[:20]}")
        return kb_id


class TestAggregateRecorder(_OnSQLite, contract.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return EventRecorder(self.database, self.writer, self.new_kb(), "service:test")


class TestApplicationRecorder(_OnSQLite, contract.ApplicationRecorderTestCase[ApplicationRecorder]):
    def create_recorder(self) -> ApplicationRecorder:
        return KnowledgeBaseRecorder(self.database, self.writer, self.new_kb(), "service:test")


class TestApplication(_OnSQLite):
    def test_an_application_never_reads_the_environment(self) -> None:
        with self.subTest():
            application = KnowledgeBaseApplication(self.database, self.writer, self.new_kb())
            assert dict(application.env) == {}
            assert isinstance(application.mapper, Mapper)
            assert isinstance(application.factory, InfrastructureFactory)

    def test_closing_one_application_leaves_the_database_open(self) -> None:
        first = KnowledgeBaseApplication(self.database, self.writer, self.new_kb())
        second = KnowledgeBaseApplication(self.database, self.writer, self.new_kb())
        first.close()
        assert second.recorder.max_notification_id() is None
