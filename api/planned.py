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
    PinRemoved,
    PinSet,
)
from kbstore.errors import NotFoundError
from projections.read.notes import note
from projections.read.pins import known_audience, pins_of_page
from projections.read.rows import last_row, readable_row
from projections.snapshot import Snapshot

Placed = PageCreated | PageMoved | PageRestored


Known = tuple[tuple[str, ...], int]
"""A pin as the caller knows it: a part of its audience, and its depth."""


def planned_events(snapshot: Snapshot, events: Sequence[Event]) -> tuple[PlannedEvent, ...]:
    """Views of the events, over the state before them. A merge also moves notes and pins its
    caller may not know of, or changes no part of them that he knows."""
    new = {e.originator_id for e in events if isinstance(e, PageCreated | PageRestored | NoteAdded)}
    states = (snapshot, *_states_restored(snapshot, events))
    pins: dict[UUID, Known | None] = {}
    return tuple(_view(event) for event in events if _is_known(states, event, new, pins))


def _states_restored(snapshot: Snapshot, events: Sequence[Event]) -> list[Snapshot]:
    """What was before the deletions that the events undo: with a page its notes and pins come
    back, which are in no state since."""
    restored = [event.originator_id for event in events if isinstance(event, PageRestored)]
    rows = [row for page_id in restored if (row := last_row(snapshot, page_id)) is not None]
    ended = {row.to_revision for row in rows if row.to_revision <= snapshot.revision}
    return [snapshot.at(revision - 1) for revision in sorted(ended, reverse=True)]


def _is_known(
    states: Sequence[Snapshot], event: Event, new: set[UUID], pins: dict[UUID, Known | None]
) -> bool:
    """`pins` holds the pins that events before this one changed, as these left them."""
    snapshot = states[0]
    subject = event.originator_id
    match event:
        case PageCreated() | PageMoved() | PageRestored():
            return snapshot.access.can_read(event.scope)
        case NoteMoved() | NoteRestamped() | NoteRemoved():
            return subject in new or any(_sees_note(state, subject) for state in states)
        case PinSet():
            before = pins[subject] if subject in pins else _pin_before(states, event)
            audience = known_audience(snapshot, event.audience)
            pins[subject] = (audience, event.depth) if audience else None
            return pins[subject] != before
        case PinRemoved():
            pins[subject] = None
            # Of a pin that goes, only the page it stood on could tell; `unpin` names it itself.
            return False
        case _:
            return subject in new or readable_row(snapshot, subject) is not None


def _sees_note(snapshot: Snapshot, note_id: UUID) -> bool:
    try:
        note(snapshot, note_id)
    except NotFoundError:
        return False
    return True


def _pin_before(states: Sequence[Snapshot], event: PinSet) -> Known | None:
    for state in states:
        try:
            pins = pins_of_page(state, event.page_id)
        except NotFoundError:
            continue
        return next(((pin.audience, pin.depth) for pin in pins if pin.kind == event.kind), None)
    return None


def _view(event: Event) -> PlannedEvent:
    placed = event if isinstance(event, Placed) else None
    return PlannedEvent(
        type=event.topic,
        aggregate_id=event.originator_id,
        version=event.originator_version if isinstance(event, PageEvent) else None,
        page_id=_page_of(event),
        scope=placed.scope if placed else None,
        parent=placed.parent_id if placed else None,
        key=placed.key if placed else None,
    )


def _page_of(event: Event) -> UUID | None:
    match event:
        case NoteAdded() | NoteMoved() | PinSet():
            return event.page_id
        case _:
            return event.originator_id if isinstance(event, PageEvent) else None
