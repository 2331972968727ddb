"""The eventsourcing recorder of one knowledge base."""

from collections.abc import Sequence
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    Notification,
    StoredEvent,
    Subscription,
)
from sqlalchemy import bindparam, func, select

from kbstore.store import tables
from kbstore.store.commits import Origin
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.statements import Row, Statement
from kbstore.store.transaction import OpenCommit, WriteTransaction
from kbstore.store.writer import Writer

POSITION_MAX = 2**63 - 1
_EVENT = tables.events.c
_STORED = (_EVENT.originator_id, _EVENT.originator_version, _EVENT.topic, _EVENT.payload)
_OF_ORIGINATOR = (
    select(*_STORED)
    .where(
        _EVENT.kb_id == bindparam("kb_id"),
        _EVENT.originator_id == bindparam("originator_id"),
        _EVENT.originator_version > bindparam("gt"),
        _EVENT.originator_version <= bindparam("lte"),
    )
    .limit(bindparam("limit"))
)
SELECT_EVENTS = Statement(_OF_ORIGINATOR.order_by(_EVENT.originator_version))
SELECT_EVENTS_DESC = Statement(_OF_ORIGINATOR.order_by(_EVENT.originator_version.desc()))
_NOTIFICATIONS = (
    select(_EVENT.position, *_STORED)
    .where(
        _EVENT.kb_id == bindparam("kb_id"),
        _EVENT.position >= bindparam("start"),
        _EVENT.position <= bindparam("stop"),
    )
    .order_by(_EVENT.position)
    .limit(bindparam("limit"))
)
SELECT_NOTIFICATIONS = Statement(_NOTIFICATIONS)
SELECT_NOTIFICATIONS_OF_TOPICS = Statement(
    _NOTIFICATIONS.where(_EVENT.topic.in_(bindparam("topics", expanding=True)))
)
SELECT_POSITION_MAX = Statement(
    select(func.max(_EVENT.position)).where(_EVENT.kb_id == bindparam("kb_id"))
)


class EventRecorder(AggregateRecorder):
    """Stores and reads the events of one knowledge base; all recorders share one database."""

    def __init__(self, database: Database, writer: Writer, kb_id: UUID, actor: str) -> None:
        self._database = database
        self._writer = writer
        self._kb_id = kb_id
        self._actor = actor

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        commit: OpenCommit | None = None,
        **kwargs: object,
    ) -> Sequence[int] | None:
        """Inserts events into the open commit; without one, as a commit of their own.

        Raises IntegrityError, with nothing written, when a version is already taken.
        """
        self._insert(stored_events, commit)
        return None

    def _insert(
        self, stored_events: Sequence[StoredEvent], commit: OpenCommit | None
    ) -> Sequence[int]:
        if commit is not None:
            return commit.insert(stored_events)
        if not stored_events:
            return []

        def record(transaction: WriteTransaction) -> Sequence[int]:
            with transaction.savepoint():
                own = transaction.begin_commit(Origin(actor=self._actor))
                positions = own.append_stored(stored_events)
                own.seal()
            return positions

        return self._writer.submit(self._kb_id, record).result()

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        assert isinstance(originator_id, UUID)
        rows = self._reader().all(
            SELECT_EVENTS_DESC if desc else SELECT_EVENTS,
            {
                "kb_id": self._kb_id.bytes,
                "originator_id": originator_id.bytes,
                "gt": -1 if gt is None else gt,
                "lte": POSITION_MAX if lte is None else lte,
                "limit": POSITION_MAX if limit is None else limit,
            },
        )
        return [_stored_event(row) for row in rows]

    def _reader(self) -> Connection:
        return self._database.reader()


class KnowledgeBaseRecorder(EventRecorder, ApplicationRecorder):
    """The same with positions: the gapless notification ids of one knowledge base."""

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        commit: OpenCommit | None = None,
        **kwargs: object,
    ) -> Sequence[int] | None:
        """As above; gives the positions."""
        return self._insert(stored_events, commit)

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        first = 1 if start is None else start + (0 if inclusive_of_start else 1)
        values: dict[str, int | bytes] = {
            "kb_id": self._kb_id.bytes,
            "start": first,
            "stop": POSITION_MAX if stop is None else stop,
            "limit": limit,
        }
        if topics:
            rows = self._reader().all(
                SELECT_NOTIFICATIONS_OF_TOPICS, {**values, "topics": list(topics)}
            )
        else:
            rows = self._reader().all(SELECT_NOTIFICATIONS, values)
        return [_notification(row) for row in rows]

    def max_notification_id(self) -> int | None:
        row = self._reader().one(SELECT_POSITION_MAX, {"kb_id": self._kb_id.bytes})
        return None if row is None or row[0] is None else int(row[0])

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """Not offered: feeds read by position, and only what COMMIT has answered."""
        raise NotImplementedError("Read the events by position instead.")


def _stored_event(row: Row) -> StoredEvent:
    originator_id, version, topic, payload = row
    assert isinstance(originator_id, bytes)
    assert isinstance(payload, bytes)
    return StoredEvent(UUID(bytes=originator_id), int(version or 0), str(topic), payload)


def _notification(row: Row) -> Notification:
    position, originator_id, version, topic, payload = row
    assert isinstance(originator_id, bytes)
    assert isinstance(payload, bytes)
    return Notification(
        UUID(bytes=originator_id), int(version or 0), str(topic), payload, int(position or 0)
    )
