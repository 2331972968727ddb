"""The same log as `eventsourcing` keeps it unless told otherwise: its events, its JSON
transcoder, its SQLite recorder."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import DomainEvent

from kbstore.domain.events import BodyRef, Event, PageCreated, PageEdited, TextRef

READ_AT_ONCE = 1_000
_WHEN = datetime(2026, 1, 1, tzinfo=UTC)

TextFields = list[UUID | str]
BodyFields = list[TextFields | int]


@dataclass(frozen=True)
class Created(DomainEvent):
    """`PageCreated`."""

    scope: str
    parent_id: UUID | None
    key: str | None
    name: TextFields
    body: BodyFields | None


@dataclass(frozen=True)
class Edited(DomainEvent):
    """`PageEdited`, of a body."""

    body: BodyFields | None


class Library:
    """An application of the library over a database file of its own."""

    def __init__(self, database: Path) -> None:
        environment = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(database)}
        self._app: Application[UUID] = Application(environment)

    def write(self, events: Iterable[Event]) -> None:
        """Saves page events, all in one transaction."""
        self._app.save(*map(_translated, events))

    def replay(self) -> int:
        """Reads every event in the order of the log; gives how many there were."""
        recorder, mapper = self._app.recorder, self._app.mapper
        count = 0
        while stored := recorder.select_notifications(count + 1, READ_AT_ONCE):
            for notification in stored:
                mapper.to_domain_event(notification)
            count += len(stored)
        return count

    def close(self) -> None:
        self._app.close()


def _translated(event: Event) -> DomainEvent:
    if isinstance(event, PageCreated):
        return Created(
            originator_id=event.originator_id,
            originator_version=event.originator_version,
            timestamp=_WHEN,
            scope=event.scope,
            parent_id=event.parent_id,
            key=event.key,
            name=_text(event.name),
            body=None if event.body is None else _body(event.body),
        )
    assert isinstance(event, PageEdited)
    return Edited(
        originator_id=event.originator_id,
        originator_version=event.originator_version,
        timestamp=_WHEN,
        body=_body(event.body) if isinstance(event.body, BodyRef) else None,
    )


def _text(ref: TextRef) -> TextFields:
    return [ref.text_id, ref.sha256.hex()]


def _body(ref: BodyRef) -> BodyFields:
    return [_text(ref.text), ref.lines, ref.tokens]
