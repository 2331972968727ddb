"""The eventsourcing application of a knowledge base, and the few of them that stay open."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    Mapper,
    ProcessRecorder,
    TrackingRecorder,
)
from eventsourcing.utils import Environment, EnvType

from kbstore.domain.events import Event
from kbstore.store.database import Database
from kbstore.store.mapper import StructMapper
from kbstore.store.recorder import EventRecorder, KnowledgeBaseRecorder
from kbstore.store.transaction import OpenCommit
from kbstore.store.writer import Writer

APPLICATIONS_OPEN_MAX = 256
RECORDER_ACTOR = "service:recorder"


class StoreFactory(InfrastructureFactory[TrackingRecorder]):
    """Makes recorders over the shared database; it owns no connection and closes none."""

    def __init__(self, database: Database, writer: Writer, kb_id: UUID) -> None:
        super().__init__(Environment("KnowledgeBase", {}))
        self._parts = (database, writer, kb_id, RECORDER_ACTOR)

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        return EventRecorder(*self._parts)

    def application_recorder(self) -> ApplicationRecorder:
        return KnowledgeBaseRecorder(*self._parts)

    def tracking_recorder(
        self, tracking_recorder_class: type[TrackingRecorder] | None = None
    ) -> TrackingRecorder:
        raise NotImplementedError("Projections are kept in the events' own transaction.")

    def process_recorder(self) -> ProcessRecorder:
        raise NotImplementedError("Projections are kept in the events' own transaction.")


class KnowledgeBaseApplication(Application[UUID]):
    """One knowledge base as an eventsourcing application.

    Its aggregate cache, snapshots and subscriptions stay off: deciding reads current rows
    under the head lock, and feeds read by position.
    """

    name = "KnowledgeBase"

    def __init__(self, database: Database, writer: Writer, kb_id: UUID) -> None:
        self._store = (database, writer, kb_id)
        super().__init__()

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        # The stock one lets the process environment override a class's settings.
        return Environment(name, {})

    def construct_factory(self, env: Environment) -> InfrastructureFactory[TrackingRecorder]:
        return StoreFactory(*self._store)

    def construct_mapper(self) -> Mapper[UUID]:
        return StructMapper()

    def save_into(self, events: Sequence[Event], commit: OpenCommit) -> None:
        """Stores events into the open commit of the writer's transaction."""
        # Not by `events.put`, which makes a notification of each: there are no subscriptions.
        stored_events = [self.mapper.to_stored_event(event) for event in events]
        self.recorder.insert_events(stored_events, commit=commit)


class Applications:
    """The applications in use, least recently used ones dropped first."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database = database
        self._writer = writer
        self._lock = threading.Lock()
        self._open: OrderedDict[UUID, KnowledgeBaseApplication] = OrderedDict()

    def of(self, kb_id: UUID) -> KnowledgeBaseApplication:
        with self._lock:
            application = self._open.get(kb_id)
            if application is None:
                application = KnowledgeBaseApplication(self._database, self._writer, kb_id)
                self._open[kb_id] = application
                if len(self._open) > APPLICATIONS_OPEN_MAX:
                    self._open.popitem(last=False)
            self._open.move_to_end(kb_id)
            return application
