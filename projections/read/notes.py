"""Notes of a page, oldest first, and single notes.

A note shows where its page shows and at least one of its stamps is readable: the page and the
stamps it had at the revision, and those it has now. A removed note shows, at revisions before,
to auditors and to those owners of its last page's scope who can read one of its last stamps.
What is changed of the other stamps, or on pages out of sight, does not show, neither as an
update nor as a version.
"""

from collections.abc import Iterable, Iterator
from typing import cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal,
    or_,
    select,
)

from kbstore.errors import NotFoundError
from kbstore.store.statements import Row, Statement
from projections.intervals import is_current, of_kb
from projections.read.filters import at_revision, owned_scope, scope_is_readable, shows_now
from projections.read.pages import shown_time
from projections.read.refs import standing
from projections.read.rows import PageRow, readable_row
from projections.read.slices import Slice, stale_key
from projections.read.standing import Standing, place_of
from projections.rows import decode_scopes
from projections.snapshot import Snapshot
from projections.tables import note_heads, note_stamps, notes, page_versions, pages
from projections.views import NoteView

_CHANGES_READ_MAX = 500
"""How many changes of a note are read at once."""
_PAGE_NOW = pages.alias("page_now")

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


def shows_today(note_id: ColumnElement[bytes]) -> ColumnElement[bool]:
    """Whether the page where a note is today shows, with one of its stamps; of a removed note,
    whether the caller may see what has ended where it last was, under one of its last stamps."""
    head = note_heads.c
    kept = and_(
        head.removed_at.is_(None),
        shows_now(_PAGE_NOW),
        stamped(head.note_id, is_current(note_stamps)),
    )
    removed = and_(
        head.removed_at.is_not(None),
        owned_scope(_PAGE_NOW.c.scope),
        stamped(head.note_id, note_stamps.c.to_revision == head.removed_at, _is_last_stamp()),
    )
    return exists().where(
        of_kb(note_heads),
        head.note_id == note_id,
        _PAGE_NOW.c.kb_id == head.kb_id,
        _PAGE_NOW.c.generation == head.generation,
        _PAGE_NOW.c.page_id == head.page_id,
        or_(kept, removed),
    )


def _is_last_stamp() -> ColumnElement[bool]:
    """Whether a row of `note_stamps` is among the stamps of the note's last row: the commit
    that removes a note may have taken others from it just before."""
    last = notes.alias("last_row")
    stamps = (
        select(literal(",").concat(func.substr(last.c.stamps, 2)))
        .where(
            last.c.kb_id == note_stamps.c.kb_id,
            last.c.generation == note_stamps.c.generation,
            last.c.note_id == note_stamps.c.note_id,
        )
        .order_by(last.c.from_revision.desc())
        .limit(1)
        .scalar_subquery()
    )
    # The column is a JSON array, and no address has a comma.
    escaped = func.replace(func.replace(note_stamps.c.scope, "\\", "\\\\"), '"', '\\"')
    listed = literal(',"').concat(escaped).concat('"')
    return func.replace(stamps, listed, "") != stamps


def note_is_readable(note_id: ColumnElement[bytes]) -> ColumnElement[bool]:
    """Whether a note of the revision shows, on a page that does."""
    return and_(stamped(note_id, at_revision(note_stamps)), shows_today(note_id))


def _page_was_in_sight() -> ColumnElement[bool]:
    """Whether a reader of today can see that a row of `notes` was: on its page, as it stood
    when the row began or when it ended."""
    page = _PAGE_NOW.c
    shows = exists().where(
        page.kb_id == notes.c.kb_id,
        page.generation == notes.c.generation,
        page.page_id == notes.c.page_id,
        shows_now(_PAGE_NOW),
    )
    began, ended = _scope_of_page(notes.c.from_revision), _scope_of_page(notes.c.to_revision - 1)
    then = or_(scope_is_readable(began), scope_is_readable(ended))
    # The page of the row that is valid was found to be readable.
    return or_(notes.c.to_revision > bindparam("revision"), and_(shows, then))


def _scope_of_page(revision: ColumnElement[int]) -> ColumnElement[str]:
    """Where the page of a row of `notes` stood at a revision."""
    row = page_versions.alias("then").c
    return (
        select(row.scope)
        .where(
            row.kb_id == notes.c.kb_id,
            row.generation == notes.c.generation,
            row.page_id == notes.c.page_id,
            row.from_revision <= revision,
            row.to_revision > revision,
        )
        .limit(1)
        .scalar_subquery()
    )


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
    note_is_readable(notes.c.note_id),
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
_CHANGES = Statement(
    select(
        notes.c.page_id,
        notes.c.stamps,
        notes.c.updated_at,
        notes.c.updated_by,
        notes.c.from_revision,
        case((_page_was_in_sight(), 1), else_=0),
    )
    .where(
        of_kb(notes),
        notes.c.note_id == bindparam("note_id"),
        notes.c.from_revision > bindparam("after"),
        notes.c.from_revision <= bindparam("revision"),
    )
    .order_by(notes.c.from_revision)
    .limit(_CHANGES_READ_MAX)
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
    return notes_on(snapshot, standing(snapshot, page_id), after, limit)


def notes_on(
    snapshot: Snapshot, page: Standing, after: UUID | None, limit: int
) -> Slice[NoteView, UUID]:
    """As `notes_of_page`, for a page at hand."""
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
        page_id=page.page_id.bytes,
        after=position,
        limit=limit + 1,
        stamps=readable_stamps(snapshot, snapshot.all(_STAMPS_ON_PAGE, page_id=page.page_id.bytes)),
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


def known_stamps(snapshot: Snapshot, stamps: Iterable[str]) -> tuple[str, ...]:
    """The stamps that the caller can read, in their order."""
    return tuple(stamp for stamp in stamps if snapshot.access.can_read(stamp))


def _view(snapshot: Snapshot, page: PageRow, row: Row) -> NoteView:
    note_id, _, text, stamps, when, version, created_at, created_by, updated_at, updated_by, _ = (
        cast(tuple[bytes, bytes, str, str, str | None, int, int, str, int, str, int], row)
    )
    stamps_known = known_stamps(snapshot, decode_scopes(stamps))
    since = _Look(page.page_id.bytes, stamps_known, version, updated_at, updated_by)
    if version > 1:
        since = _since_it_looks_so(snapshot, note_id)
    return NoteView(
        id=UUID(bytes=note_id),
        page=page.page_id,
        ref=place_of(snapshot, page).ref,
        text=text,
        scope=since.stamps,
        when=when,
        version=since.version,
        created_at=shown_time(created_at),
        created_by=created_by,
        updated_at=shown_time(since.updated_at),
        updated_by=since.updated_by,
    )


class _Look(Struct, frozen=True):
    """A note as the reader knows it, since when and by whom; `version` counts his looks."""

    page_id: bytes
    stamps: tuple[str, ...]
    version: int
    updated_at: int
    updated_by: str

    def is_like(self, other: "_Look") -> bool:
        """Whether the reader sees no difference. Hidden stamps may order those he knows."""
        if not self.stamps or not other.stamps:
            return self.stamps == other.stamps
        return self.page_id == other.page_id and set(self.stamps) == set(other.stamps)


def _since_it_looks_so(snapshot: Snapshot, note_id: bytes) -> _Look:
    """The note at the revision, as if what the reader does not see of its changes was not.

    What became of it on pages out of his sight is no change to him; where it began there,
    all that counts as how it was added.
    """
    shown: _Look | None = None
    for row in _changes(snapshot, note_id):
        page_id, stamps, updated_at, updated_by, _, in_sight = cast(
            tuple[bytes, str, int, str, int, int], row
        )
        if shown is not None and not in_sight:
            continue
        known = known_stamps(snapshot, decode_scopes(stamps)) if in_sight else ()
        version = 1 if shown is None else shown.version + 1
        look = _Look(page_id, known, version, updated_at, updated_by)
        if shown is None or not look.is_like(shown):
            shown = look
    assert shown is not None, "a note that shows has a row"
    return shown


def _changes(snapshot: Snapshot, note_id: bytes) -> Iterator[Row]:
    """The rows of a note up to the revision, a part at a time."""
    after = 0
    while True:
        rows = snapshot.all(_CHANGES, note_id=note_id, after=after, **snapshot.filters)
        yield from rows
        if len(rows) < _CHANGES_READ_MAX:
            return
        after = cast(int, rows[-1][4])
