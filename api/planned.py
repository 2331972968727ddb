"""The events a dry run would write, as far as its caller may see what they are about."""

from collections.abc import Sequence
from uuid import UUID

from api.representations import PlannedEvent
from kbstore.domain.events import (
    Event,
    NoteAdded,
    NoteMoved,
    NoteRemoved,
    NoteRestamped,
    PageCreated,
    PageEvent,
    PageMoved,
    PageRestored,
    PinEvent,
    PinSet,
)
from kbstore.errors import NotFoundError
from projections.read.known_changes import shown_topic
from projections.read.notes import note
from projections.read.pins import KnownPin, known_audience, known_pin
from projections.read.returning import page_of_note
from projections.read.rows import readable_row
from projections.snapshot import Snapshot

Placed = PageCreated | PageMoved | PageRestored


def planned_events(snapshot: Snapshot, events: Sequence[Event]) -> tuple[PlannedEvent, ...]:
    """Views of the events, over the state before them. A merge also moves notes and pins its
    caller may not know of, or changes no part of them that he knows."""
    new = {e.originator_id for e in events if isinstance(e, PageCreated | PageRestored | NoteAdded)}
    pins: dict[UUID, KnownPin | None] = {}
    views: list[PlannedEvent] = []
    for event in events:
        if isinstance(event, PinEvent):
            views += _pin_views(snapshot, event, new, pins)
        elif _is_known(snapshot, event, new):
            views.append(_view(event))
    return tuple(views)


def _pin_views(
    snapshot: Snapshot, event: PinEvent, new: set[UUID], pins: dict[UUID, KnownPin | None]
) -> list[PlannedEvent]:
    """The event, unless its caller knows of no change. A pin that keeps only audiences he knows
    nothing of is removed to him. `pins` holds the pins that events before this one changed, as
    these left them."""
    subject = event.originator_id
    before = pins[subject] if subject in pins else _pin_before(snapshot, subject, new)
    after: KnownPin | None = None
    if isinstance(event, PinSet) and (audience := known_audience(snapshot, event.audience)):
        after = KnownPin(event.page_id, audience, event.depth)
    pins[subject] = after
    known = after or before
    if known is None or after == before:
        return []
    return [_planned(event, shown_topic(snapshot, event), known.page_id)]


def _is_known(snapshot: Snapshot, event: Event, new: set[UUID]) -> bool:
    """`new` holds the pages and notes that come to be and the pages that come back."""
    subject = event.originator_id
    match event:
        case PageCreated() | PageMoved() | PageRestored():
            return snapshot.access.can_read(event.scope)
        case NoteMoved() | NoteRestamped() | NoteRemoved():
            return subject in new or _sees_note(snapshot, subject, new)
        case _:
            return subject in new or readable_row(snapshot, subject) is not None


def _sees_note(snapshot: Snapshot, note_id: UUID, new: set[UUID]) -> bool:
    if page_of_note(snapshot, note_id) in new:
        return True
    try:
        note(snapshot, note_id)
    except NotFoundError:
        return False
    return True


def _pin_before(snapshot: Snapshot, pin_id: UUID, new: set[UUID]) -> KnownPin | None:
    pin = known_pin(snapshot, pin_id)
    if pin is None or pin.page_id in new:
        return pin
    return None if readable_row(snapshot, pin.page_id) is None else pin


def _view(event: Event) -> PlannedEvent:
    match event:
        case NoteAdded() | NoteMoved():
            return _planned(event, event.topic, event.page_id)
        case _:
            page_id = event.originator_id if isinstance(event, PageEvent) else None
            return _planned(event, event.topic, page_id)


def _planned(event: Event, topic: str, page_id: UUID | None) -> PlannedEvent:
    placed = event if isinstance(event, Placed) else None
    return PlannedEvent(
        type=topic,
        aggregate_id=event.originator_id,
        version=event.originator_version if isinstance(event, PageEvent) else None,
        page_id=page_id,
        scope=placed.scope if placed else None,
        parent=placed.parent_id if placed else None,
        key=placed.key if placed else None,
    )
