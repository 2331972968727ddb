"""What of an event is news to its reader: pins and stamps change in parts that do not show."""

from typing import cast

from sqlalchemy import bindparam, select

from kbstore.domain.events import Event, NoteAdded, NoteRestamped, PinRemoved, PinSet
from kbstore.store.mapper import decode_payload
from kbstore.store.statements import Statement
from kbstore.store.tables import events as stored_events
from projections.read.notes import known_stamps
from projections.read.pins import known_audience
from projections.snapshot import Snapshot

PARTLY_HIDDEN = (PinSet.topic, PinRemoved.topic, NoteRestamped.topic)
"""Topics of events that may change nothing the reader knows of."""

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


def changes_what_is_known(snapshot: Snapshot, event: Event) -> bool:
    """Whether a pin or the stamps of a note look otherwise to the caller after the event; True
    for events of other kinds."""
    if not isinstance(event, PinSet | PinRemoved | NoteRestamped) or snapshot.access.is_auditor:
        return True
    return _as_known(snapshot, event) != _as_known(snapshot, _event_before(snapshot, event))


def _as_known(snapshot: Snapshot, event: Event | None) -> tuple[tuple[str, ...], int] | None:
    match event:
        case PinSet():
            audience = known_audience(snapshot, event.audience)
            return (audience, event.depth) if audience else None
        case NoteAdded() | NoteRestamped():
            return known_stamps(snapshot, event.stamps), 0
        case _:
            return None


def _event_before(snapshot: Snapshot, event: Event) -> Event | None:
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
