"""Notes: a row from each event on, its stamps beside it.

What happens to a note's page leaves the note's rows alone: a gone page hides its notes, and
shows them again when it comes back.
"""

from collections.abc import Iterator
from typing import assert_never, cast
from uuid import UUID

from sqlalchemy import bindparam, delete, insert, select, update

from kbstore.domain.events import (
    Links,
    NoteAdded,
    NoteEvent,
    NoteMoved,
    NoteRemoved,
    NoteRestamped,
)
from kbstore.domain.state import NoteState, evolve_note
from kbstore.store.statements import Row, Statement
from projections.apply_activity import record, record_on_page, scope_of_page
from projections.apply_links import LinkSource, add_links, end_links
from projections.apply_terms import add_note_terms
from projections.intervals import began_now, end_rows, is_current, of_kb, open_row
from projections.rows import (
    NEWEST_NOTE_COLUMNS,
    decode_links,
    newest_note_state,
    note_values,
)
from projections.scope_sets import ScopeSet
from projections.step import Step
from projections.tables import note_heads, note_stamps, notes

_NOTE = notes.c.note_id == bindparam("note_id")
_HEAD = note_heads.c.note_id == bindparam("note_id")
_LAST = Statement(
    select(
        *NEWEST_NOTE_COLUMNS,
        notes.c.from_revision,
        notes.c.created_at,
        notes.c.created_by,
        notes.c.added_position,
    )
    .where(of_kb(notes), _NOTE)
    .order_by(notes.c.from_revision.desc())
    .limit(1)
)
_OPEN = Statement(open_row(notes))
_END = Statement(end_rows(notes, _NOTE, notes.c.from_revision == bindparam("began")))
_FORGET = Statement(delete(notes).where(of_kb(notes), _NOTE, began_now(notes)))
_ADD_HEAD = Statement(insert(note_heads))
_MOVE_HEAD = Statement(
    update(note_heads).where(of_kb(note_heads), _HEAD).values(page_id=bindparam("to_page"))
)
_REMOVE_HEAD = Statement(
    update(note_heads).where(of_kb(note_heads), _HEAD).values(removed_at=bindparam("revision"))
)
_WITH_LINKS = Statement(
    select(notes.c.note_id, notes.c.links)
    .where(
        of_kb(notes),
        notes.c.page_id == bindparam("page_id"),
        is_current(notes),
        notes.c.links.is_not(None),
    )
    .order_by(notes.c.added_position)
)
_STAMPS = ScopeSet(note_stamps, "note_id")


def apply_note_event(step: Step, event: NoteEvent) -> None:
    """Rows of `notes`, `note_heads`, `note_stamps`, `links`, `search_documents` and `activity`."""
    match event:
        case NoteAdded():
            _add(step, event)
        case NoteRemoved():
            _remove(step, event)
        case NoteRestamped() | NoteMoved():
            _change(step, event)
        case _:
            assert_never(event)


def links_of_notes(step: Step, page_id: UUID) -> Iterator[tuple[UUID, Links]]:
    """The notes on a page that hold links, with them."""
    for note_id, links in step.all(_WITH_LINKS, {"page_id": page_id.bytes}):
        yield UUID(bytes=cast(bytes, note_id)), decode_links(cast(bytes, links))


def _add(step: Step, event: NoteAdded) -> None:
    note = evolve_note(None, event, step.texts.text)
    step.run(
        _OPEN,
        {
            **note_values(note),
            "created_at": step.committed_at,
            "created_by": step.actor,
            "added_position": step.position,
            "updated_at": step.committed_at,
            "updated_by": step.actor,
        },
    )
    head = {"note_id": note.note_id.bytes, "page_id": note.page_id.bytes}
    step.run(_ADD_HEAD, {**head, "removed_at": None})
    _STAMPS.change(step, note.note_id, (), note.stamps)
    add_note_terms(step, note, step.committed_at, is_new=True)
    add_links(step, LinkSource(note.page_id, note.note_id), note.links)
    record_on_page(step, event, note.page_id, note_id=note.note_id)


def _change(step: Step, event: NoteRestamped | NoteMoved) -> None:
    note_id = {"note_id": event.originator_id.bytes}
    before, row = _last(step, event)
    after = evolve_note(before, event, step.texts.text)
    began, created_at, created_by, added_position = row[-4:]
    if began == step.revision:
        step.run(_FORGET, note_id)
    else:
        step.run(_END, {**note_id, "began": began})
    step.run(
        _OPEN,
        {
            **note_values(after),
            "created_at": created_at,
            "created_by": created_by,
            "added_position": added_position,
            "updated_at": step.committed_at,
            "updated_by": step.actor,
        },
    )
    add_note_terms(step, after, created_at)
    if isinstance(event, NoteMoved):
        step.run(_MOVE_HEAD, {**note_id, "to_page": after.page_id.bytes})
        end_links(step, LinkSource(before.page_id, before.note_id))
        add_links(step, LinkSource(after.page_id, after.note_id), after.links)
        record(
            step,
            event,
            page_id=after.page_id,
            scope=scope_of_page(step, after.page_id),
            scope_before=scope_of_page(step, before.page_id),
            note_id=after.note_id,
            other_page_id=before.page_id,
        )
    else:
        now = began == step.revision
        _STAMPS.change(step, after.note_id, before.stamps, after.stamps, changed_now=now)
        record_on_page(step, event, after.page_id, note_id=after.note_id)


def _remove(step: Step, event: NoteRemoved) -> None:
    before, row = _last(step, event)
    after = evolve_note(before, event, step.texts.text)
    note_id = {"note_id": after.note_id.bytes}
    step.run(_END, {**note_id, "began": row[-4]})
    step.run(_REMOVE_HEAD, note_id)
    _STAMPS.change(step, after.note_id, after.stamps, ())
    add_note_terms(step, after, row[-3])
    end_links(step, LinkSource(after.page_id, after.note_id))
    record_on_page(step, event, after.page_id, note_id=after.note_id)


def _last(step: Step, event: NoteEvent) -> tuple[NoteState, Row]:
    """The note before an event that is not its first, and its last row."""
    rows = step.all(_LAST, {"note_id": event.originator_id.bytes})
    if not rows:
        raise AssertionError(f"{event.topic} does not continue note {event.originator_id}")
    return newest_note_state(rows[0]), rows[0]
