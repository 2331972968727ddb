"""The notes of a page and the notes that mention it, as a read shows them."""

from collections.abc import Callable
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from api.answers import encode
from api.tools.tool import Reading
from api.tools.walking import Stand, walk_of
from kbstore.limits import NOTE_LIST_TOKENS_MAX
from kbstore.text import estimate_tokens
from projections.read.backlinks import mentioning_notes
from projections.read.notes import note, notes_on
from projections.read.slices import Slice
from projections.read.standing import Standing
from projections.views import NoteView, View

ITEMS_DEFAULT = 10
"""Notes, child pages and mentioning notes that a read shows."""


class NoteItem(View, frozen=True, kw_only=True):
    """A note; `scope` lists its stamps that the run can read, `page` the page it is on where
    that is not the one that was read."""

    id: UUID
    text: str
    scope: tuple[str, ...]
    when: str | UnsetType = UNSET
    page: str | UnsetType = UNSET
    created_at: str
    created_by: str


class NotePart(Struct, frozen=True, kw_only=True):
    """The notes shown, or how many were left out; how to go on in `more` and `cursor`."""

    items: tuple[NoteItem, ...] | UnsetType = UNSET
    left_out: int | UnsetType = UNSET
    cursor: str | UnsetType = UNSET
    more: tuple[str, ...] = ()


def notes_part(
    reading: Reading, page: Standing, cursor: str | None, limit: int | None, *, is_whole: bool
) -> NotePart:
    """The notes of a page. In a whole read they come along only while they are short."""

    def query(after: UUID | None, limit: int) -> Slice[NoteView, UUID]:
        return notes_on(reading.snapshot, page, after, limit)

    return _part(reading, page, query, "notes", "cursor", cursor, limit, is_whole=is_whole)


def mentions_part(
    reading: Reading, page: Standing, cursor: str | None, limit: int | None, *, is_whole: bool
) -> NotePart:
    """The notes on other pages that mention a page, likewise."""

    def query(after: UUID | None, limit: int) -> Slice[NoteView, UUID]:
        found = mentioning_notes(reading.snapshot, page, after, limit)
        notes = tuple(note(reading.snapshot, note_id) for note_id in found.items)
        return Slice(items=notes, after=found.after)

    return _part(
        reading, page, query, "mentionedIn", "mentionedInCursor", cursor, limit, is_whole=is_whole
    )


def _part(
    reading: Reading,
    page: Standing,
    query: Callable[[UUID | None, int], Slice[NoteView, UUID]],
    what: str,
    argument: str,
    cursor: str | None,
    limit: int | None,
    *,
    is_whole: bool,
) -> NotePart:
    walk = walk_of(reading, f"knowledge_read.{what}", str(page.page_id), cursor=cursor)
    stand = walk.stand
    count = limit or (stand.limit if stand else ITEMS_DEFAULT)
    found = query(stand.after if stand else None, count)
    items = tuple(note_item(view, page) for view in found.items)
    tokens = sum(estimate_tokens(encode(item).decode()) for item in items)
    if is_whole and tokens > NOTE_LIST_TOKENS_MAX:
        told = (
            f"{what}: {len(items)} notes of about {tokens:,} tokens left out. "
            f"Read them with {what}: true."
        )
        return NotePart(left_out=len(items), more=(told,))
    if found.after is None:
        return NotePart(items=items)
    following = walk.next(Stand(count, 0, found.after))
    told = f'{what}: showing {len(items)}. Read on with {argument}: "{following}".'
    return NotePart(items=items, cursor=following, more=(told,))


def note_item(view: NoteView, page: Standing) -> NoteItem:
    """A note beside the page that it is shown with."""
    return NoteItem(
        id=view.id,
        text=view.text,
        scope=view.scope,
        when=UNSET if view.when is None else view.when,
        page=UNSET if view.page == page.page_id else view.ref,
        created_at=view.created_at,
        created_by=view.created_by,
    )
