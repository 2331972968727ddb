"""Notes of a page, oldest first, and single notes.

A note shows where its page shows and at least one of its stamps is readable, those it had at
the revision and those it has now. A removed note shows, at revisions before, to owners of its
page's scope and auditors.
"""

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Text,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
)

from kbstore.errors import NotFoundError
from kbstore.store.statements import Row, Statement
from projections.intervals import is_current, of_kb
from projections.read.filters import at_revision, owned_scope
from projections.read.pages import shown_time
from projections.read.refs import standing
from projections.read.rows import PageRow, readable_row
from projections.read.slices import Slice, stale_key
from projections.read.standing import place_of
from projections.rows import decode_scopes
from projections.snapshot import Snapshot
from projections.tables import note_heads, note_stamps, notes
from projections.views import NoteView

STAMPS: BindParameter[str] = bindparam("stamps", expanding=True)
"""The readable ones among the stamps of the notes in question, from `readable_stamps`: stamps
may be scopes that never had a page, so they are not among those `Snapshot.filters` knows."""


def stamped(note_id: ColumnElement[bytes], *when: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a note has one of STAMPS in rows that meet the conditions."""
    # SQLite 3.40 takes rows that break a condition on `from_revision` when it looks for a list
    # of scopes in the key; behind a function the scope is only compared.
    scope = func.coalesce(note_stamps.c.scope, "")
    return exists().where(
        of_kb(note_stamps), note_stamps.c.note_id == note_id, scope.in_(STAMPS), *when
    )


def shows_today(
    note_id: ColumnElement[bytes], page_scope: ColumnElement[str]
) -> ColumnElement[bool]:
    """Whether today's stamps are readable, or the note was removed and the caller may see
    what has ended in the scope where its page stands today."""
    removed = exists().where(
        of_kb(note_heads), note_heads.c.note_id == note_id, note_heads.c.removed_at.is_not(None)
    )
    return or_(stamped(note_id, is_current(note_stamps)), and_(owned_scope(page_scope), removed))


def note_is_readable(
    note_id: ColumnElement[bytes], page_scope: ColumnElement[str]
) -> ColumnElement[bool]:
    """Whether a note of the revision shows, on a page that does."""
    return and_(stamped(note_id, at_revision(note_stamps)), shows_today(note_id, page_scope))


_NOTES = select(
    notes.c.note_id,
    notes.c.page_id,
    notes.c.text,
    notes.c.stamps,
    notes.c.when_text,
    notes.c.version,
    notes.c.created_at,
    notes.c.created_by,
    notes.c.updated_at,
    notes.c.updated_by,
    notes.c.added_position,
).where(
    of_kb(notes),
    at_revision(notes),
    note_is_readable(notes.c.note_id, bindparam("page_scope", type_=Text)),
)
_OF_PAGE = Statement(
    _NOTES.where(
        notes.c.page_id == bindparam("page_id"),
        notes.c.added_position > bindparam("after"),
    )
    .order_by(notes.c.added_position)
    .limit(bindparam("limit"))
)
_ONE = Statement(_NOTES.where(notes.c.note_id == bindparam("note_id")))
_STAMPS_ON_PAGE = Statement(
    select(note_stamps.c.scope)
    .distinct()
    .select_from(notes)
    .join(
        note_stamps,
        and_(
            note_stamps.c.kb_id == notes.c.kb_id,
            note_stamps.c.generation == notes.c.generation,
            note_stamps.c.note_id == notes.c.note_id,
        ),
    )
    .where(of_kb(notes), notes.c.page_id == bindparam("page_id"))
)
_STAMPS_OF_NOTE = Statement(
    select(note_stamps.c.scope)
    .distinct()
    .where(of_kb(note_stamps), note_stamps.c.note_id == bindparam("note_id"))
)
_PAGE_OF_NOTE = Statement(
    select(notes.c.page_id).where(
        of_kb(notes), notes.c.note_id == bindparam("note_id"), at_revision(notes)
    )
)
_ADDED = Statement(
    select(notes.c.added_position)
    .where(of_kb(notes), notes.c.note_id == bindparam("note_id"))
    .limit(1)
)


def notes_of_page(
    snapshot: Snapshot, page_id: UUID, after: UUID | None, limit: int
) -> Slice[NoteView, UUID]:
    """The readable notes of a page, oldest first, from the one after `after` on.

    Raises NotFoundError for a page that is missing or hidden.
    """
    page = standing(snapshot, page_id)
    if not isinstance(page, PageRow):
        return Slice(items=(), after=None)
    position = 0
    if after is not None:
        row = snapshot.one(_ADDED, note_id=after.bytes)
        if row is None:
            raise stale_key()
        position = cast(int, row[0])
    rows = snapshot.all(
        _OF_PAGE,
        page_id=page_id.bytes,
        page_scope=page.scope_now,
        after=position,
        limit=limit + 1,
        stamps=readable_stamps(snapshot, snapshot.all(_STAMPS_ON_PAGE, page_id=page_id.bytes)),
        **snapshot.filters,
    )
    views = tuple(_view(snapshot, page, row) for row in rows[:limit])
    return Slice(items=views, after=views[-1].id if len(rows) > limit else None)


def note(snapshot: Snapshot, note_id: UUID) -> NoteView:
    """One note. Raises NotFoundError for one that is missing, hidden or removed."""
    row = snapshot.one(_PAGE_OF_NOTE, note_id=note_id.bytes)
    page = readable_row(snapshot, UUID(bytes=cast(bytes, row[0]))) if row else None
    if page is not None:
        row = snapshot.one(
            _ONE,
            note_id=note_id.bytes,
            page_scope=page.scope_now,
            stamps=readable_stamps(snapshot, snapshot.all(_STAMPS_OF_NOTE, note_id=note_id.bytes)),
            **snapshot.filters,
        )
        if row is not None:
            return _view(snapshot, page, row)
    raise NotFoundError(f'Knowledge note "{note_id}" not found.')


def readable_stamps(snapshot: Snapshot, rows: Iterable[Row]) -> list[str]:
    """Those of the scopes in the rows' first column that the caller can read."""
    can_read = snapshot.access.can_read
    return [scope for row in rows if can_read(scope := cast(str, row[0]))]


def _view(snapshot: Snapshot, page: PageRow, row: Row) -> NoteView:
    note_id, _, text, stamps, when, version, created_at, created_by, updated_at, updated_by, _ = (
        cast(tuple[bytes, bytes, str, str, str | None, int, int, str, int, str, int], row)
    )
    can_read = snapshot.access.can_read
    return NoteView(
        id=UUID(bytes=note_id),
        page=page.page_id,
        ref=place_of(snapshot, page).ref,
        text=text,
        scope=tuple(stamp for stamp in decode_scopes(stamps) if can_read(stamp)),
        when=when,
        version=version,
        created_at=shown_time(created_at),
        created_by=created_by,
        updated_at=shown_time(updated_at),
        updated_by=updated_by,
    )
