"""What of an event is news to its reader: pins and stamps change in parts that do not show."""

from typing import cast

from sqlalchemy import bindparam, select

from kbstore.domain.events import (
    Event,
    NoteAdded,
    NoteEvent,
    NoteRestamped,
    PinEvent,
    PinRemoved,
    PinSet,
)
from kbstore.store.mapper import decode_payload
from kbstore.store.statements import Statement
from kbstore.store.tables import events as stored_events
from projections.read.notes import known_stamps
from projections.read.pins import known_audience
from projections.snapshot import Snapshot

PARTLY_HIDDEN = (PinSet.topic, PinRemoved.topic, NoteRestamped.topic)
"""Topics of events that may change nothing the reader knows of. A commit without any of them
leaves each note with the stamps that each of its events did."""

_SETS_SCOPES = (PinSet.topic, PinRemoved.topic, NoteAdded.topic, NoteRestamped.topic)
_BEFORE = Statement(
    select(stored_events.c.topic, stored_events.c.payload, stored_events.c.originator_version)
    .where(
        stored_events.c.kb_id == bindparam("kb_id"),
        stored_events.c.originator_id == bindparam("originator_id"),
        stored_events.c.originator_version < bindparam("version"),
        stored_events.c.topic.in_(bindparam("topics", expanding=True)),
    )
    .order_by(stored_events.c.originator_version.desc())
    .limit(1)
)

_Known = tuple[frozenset[str], int]
"""The scopes of a pin or a note that the caller knows of, and a pin's depth."""


def changes_what_is_known(snapshot: Snapshot, event: Event) -> bool:
    """Whether a pin looks otherwise to the caller after the event, and whether he knows of a
    note after it, of one that it removed before it, with other stamps if it changed those;
    True for events of other kinds."""
    if not isinstance(event, NoteEvent | PinEvent) or snapshot.access.is_auditor:
        return True
    match event:
        case PinSet() | PinRemoved():
            return _as_known(snapshot, event) != _as_known(snapshot, _before(snapshot, event))
        case NoteAdded():
            return _as_known(snapshot, event) is not None
        case NoteRestamped():
            known = _as_known(snapshot, event)
            return known is not None and known != _as_known(snapshot, _before(snapshot, event))
        case _:
            return _as_known(snapshot, _before(snapshot, event)) is not None


def shown_topic(snapshot: Snapshot, event: Event) -> str:
    """The topic of an event as the caller knows it: a pin that keeps only audiences he knows
    nothing of is removed to him."""
    if isinstance(event, PinSet) and not known_audience(snapshot, event.audience):
        return PinRemoved.topic
    return event.topic


def topics_shown_as(topic: str) -> tuple[str, ...]:
    """The topics of the events that may show under this one."""
    return (PinRemoved.topic, PinSet.topic) if topic == PinRemoved.topic else (topic,)


def _as_known(snapshot: Snapshot, event: Event | None) -> _Known | None:
    """The pin or the note as the event left it; None where the caller knows of none."""
    match event:
        case PinSet():
            scopes, depth = known_audience(snapshot, event.audience), event.depth
        case NoteAdded() | NoteRestamped():
            scopes, depth = known_stamps(snapshot, event.stamps), 0
        case _:
            return None
    return (frozenset(scopes), depth) if scopes else None


def _before(snapshot: Snapshot, event: Event) -> Event | None:
    """The event that left the pin's audience or the note's stamps as this one found them."""
    row = snapshot.one(
        _BEFORE,
        originator_id=event.originator_id.bytes,
        version=event.originator_version,
        topics=_SETS_SCOPES,
    )
    if row is None:
        return None
    topic, payload, version = cast(tuple[str, bytes, int], row)
    return decode_payload(topic, payload, event.originator_id, version)
