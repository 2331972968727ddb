"""What an event says to a reader: its facts, without those he may not see.

Names and descriptions stand as texts; a body as its lines and tokens. An id shows where the
page behind it does, a scope where it is readable.
"""

from uuid import UUID

from msgspec import UNSET

from kbstore.domain.events import (
    BodyRef,
    Event,
    KnowledgeBaseConfigured,
    KnowledgeBaseCreated,
    NoteAdded,
    NoteEvent,
    NoteMoved,
    NoteRemoved,
    NoteRestamped,
    PageAbsorbed,
    PageCreated,
    PageDeleted,
    PageEdited,
    PageMergedAway,
    PageMoved,
    PageRestored,
    PinEvent,
    PinRemoved,
    PinSet,
    ReplacedRange,
    TextRef,
)
from projections.read.event_rows import EventRow
from projections.read.known_changes import shown_topic
from projections.read.notes import known_stamps
from projections.read.pages import shown_time
from projections.read.pins import known_audience
from projections.read.rows import is_readable, last_row, readable_row
from projections.read.standing import place_of
from projections.snapshot import Snapshot
from projections.views import EventView, Json

Facts = dict[str, Json]


def event_view(snapshot: Snapshot, row: EventRow) -> EventView:
    """The view of an event the caller was found to be allowed to read."""
    page = None if row.page_id is None else readable_row(snapshot, row.page_id)
    return EventView(
        position=row.position,
        revision=row.revision,
        type=shown_topic(snapshot, row.event),
        page_id=row.page_id,
        note_id=row.note_id,
        ref=None if page is None else place_of(snapshot, page).ref,
        version=None if isinstance(row.event, NoteEvent | PinEvent) else row.version,
        at=shown_time(row.committed_at),
        actor=row.actor,
        data=_facts(snapshot, row),
    )


def _facts(snapshot: Snapshot, row: EventRow) -> Facts:
    event = row.event
    match event:
        case PageCreated() | PageRestored():
            return _content(snapshot, event)
        case PageEdited():
            return _edit(snapshot, event)
        case PageMoved():
            return _move(snapshot, event)
        case PageMergedAway():
            return {"into": _page(snapshot, event.into)}
        case PageAbsorbed():
            return _absorbed(snapshot, event)
        case PageDeleted() | NoteRemoved() | PinRemoved():
            return {}
        case _:
            return _other_facts(snapshot, event)


def _other_facts(snapshot: Snapshot, event: Event) -> Facts:
    match event:
        case NoteAdded():
            return {
                "text": snapshot.texts.text(event.text),
                "scope": [*known_stamps(snapshot, event.stamps)],
                "when": event.when,
            }
        case NoteRestamped():
            return {"scope": [*known_stamps(snapshot, event.stamps)]}
        case NoteMoved():
            return {"page": _page(snapshot, event.page_id)}
        case PinSet():
            audience: list[Json] = [*known_audience(snapshot, event.audience)]
            if not audience:
                return {}
            return {"kind": event.kind, "audience": audience, "depth": event.depth}
        case KnowledgeBaseCreated():
            return {"slug": event.slug}
        case KnowledgeBaseConfigured():
            return {"format": event.format}
        case _:
            raise AssertionError(f"no view shows {event.topic}")


def _content(snapshot: Snapshot, event: PageCreated | PageRestored) -> Facts:
    facts: Facts = {
        "scope": event.scope,
        "parent": _page(snapshot, event.parent_id),
        "key": event.key,
        "name": snapshot.texts.text(event.name),
        "description": _text(snapshot, event.description),
        "body": _body(event.body),
    }
    if isinstance(event, PageRestored):
        facts["restoredVersion"] = event.restored_version
    return facts


def _edit(snapshot: Snapshot, event: PageEdited) -> Facts:
    facts: Facts = {}
    if event.name is not UNSET:
        facts["name"] = snapshot.texts.text(event.name)
    if event.description is not UNSET:
        facts["description"] = _text(snapshot, event.description)
    if event.body is not UNSET:
        facts["body"] = _body(event.body)
    if event.range is not None:
        facts["range"] = _range(event.range)
    if event.restored_version is not None:
        facts["restoredVersion"] = event.restored_version
    return facts


def _move(snapshot: Snapshot, event: PageMoved) -> Facts:
    facts: Facts = {
        "scope": event.scope,
        "parent": _page(snapshot, event.parent_id),
        "key": event.key,
    }
    if snapshot.access.can_read(event.from_scope):
        facts["fromScope"] = event.from_scope
        facts["fromParent"] = _page(snapshot, event.from_parent_id)
        facts["fromKey"] = event.from_key
    return facts


def _absorbed(snapshot: Snapshot, event: PageAbsorbed) -> Facts:
    facts: Facts = {"page": _page(snapshot, event.page_id)}
    if event.description is not None:
        facts["description"] = snapshot.texts.text(event.description)
    return facts


def _page(snapshot: Snapshot, page_id: UUID | None) -> str | None:
    """The id of a page the caller may read, or may know to have ended."""
    if page_id is None:
        return None
    row = last_row(snapshot, page_id)
    return str(page_id) if row is not None and is_readable(snapshot, row) else None


def _text(snapshot: Snapshot, ref: TextRef | None) -> str | None:
    return None if ref is None else snapshot.texts.text(ref)


def _body(body: BodyRef | None) -> Json:
    return None if body is None else {"lines": body.lines, "tokens": body.tokens}


def _range(replaced: ReplacedRange) -> Json:
    return {
        "startLine": replaced.start_line,
        "endLine": replaced.end_line,
        "startCol": replaced.start_col,
        "endCol": replaced.end_col,
    }
