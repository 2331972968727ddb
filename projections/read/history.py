"""What happened to a page, event by event."""

from uuid import UUID

from msgspec import UNSET

from kbstore.domain.events import (
    Event,
    PageAbsorbed,
    PageEdited,
    PageMergedAway,
    PageMoved,
    PageRestored,
)
from projections.read.event_rows import EventRow, stretch_of_history
from projections.read.messages import shown_messages
from projections.read.pages import shown_time
from projections.read.refs import standing
from projections.read.rows import is_readable, last_row
from projections.read.slices import Slice
from projections.snapshot import Snapshot
from projections.views import HistoryEntry


def history(
    snapshot: Snapshot,
    page_id: UUID,
    after: int | None,
    limit: int,
    *,
    newest_first: bool = False,
) -> Slice[HistoryEntry, int]:
    """The page's own events by position, from the one after `after` on; those of its notes
    and pins are no part of it, nor are events in a scope the reader may not read.

    Also of a page that has ended, for those who may read ended pages of its scope. Raises
    NotFoundError as `standing` does. A declared page that was never written has no history.
    """
    row = last_row(snapshot, page_id)
    if row is None or not is_readable(snapshot, row):
        standing(snapshot, page_id)
        return Slice(items=(), after=None)
    stretch = stretch_of_history(snapshot, page_id, after, limit, newest_first=newest_first)
    messages = shown_messages(snapshot, {row.revision for row in stretch.rows})
    entries = tuple(_entry(row, messages.get(row.revision)) for row in stretch.rows)
    return Slice(items=entries, after=stretch.after)


def _entry(row: EventRow, message: str | None) -> HistoryEntry:
    event = row.event
    restored = event.restored_version if isinstance(event, PageEdited | PageRestored) else None
    return HistoryEntry(
        position=row.position,
        revision=row.revision,
        version=row.version,
        type=event.topic,
        at=shown_time(row.committed_at),
        actor=row.actor,
        message=message,
        changed=changed_by(event),
        restored_version=restored,
    )


def changed_by(event: Event) -> tuple[str, ...]:
    """What of a page its event changed, in the words of HistoryEntry."""
    match event:
        case PageEdited():
            fields = {"name": event.name, "description": event.description, "body": event.body}
            return tuple(name for name, value in fields.items() if value is not UNSET)
        case PageMoved():
            parts = {
                "scope": event.scope != event.from_scope,
                "parent": event.parent_id != event.from_parent_id,
                "key": event.key != event.from_key,
            }
            return tuple(name for name, differs in parts.items() if differs)
        case PageAbsorbed():
            return ("absorbed",) if event.description is None else ("absorbed", "description")
        case PageMergedAway():
            return ("merged",)
        case _:
            return (event.topic.rpartition(".")[2],)
