"""Search as its rules say it, over every page and note one by one.

Nothing here knows of the index: texts come from the queries that show pages and notes, and a
word is looked for in each of them.
"""

from collections.abc import Iterable
from uuid import UUID

from msgspec import Struct

from kbstore.domain.declared import DeclaredPage
from kbstore.errors import NotFoundError
from kbstore.store.statements import Statement
from kbstore.text.fold import fold
from projections.read.declared import declaration, is_there, listed_addresses, way_down
from projections.read.notes import note
from projections.read.pages import page_view
from projections.read.rows import readable_row
from projections.read.standing import Standing
from projections.snapshot import Snapshot
from projections.tables import note_heads, pages

DOUBLE_QUOTES = '"“”„‟«»'
SINGLE_QUOTES = "'‘’‚‛‹›"
_ALL_PAGES = Statement(pages.select().with_only_columns(pages.c.kb_id, pages.c.page_id).distinct())
_ALL_NOTES = Statement(
    note_heads.select().with_only_columns(note_heads.c.kb_id, note_heads.c.note_id).distinct()
)


class Text(Struct, frozen=True):
    """A page or a note as a reader sees it; `name` is None of a note."""

    id: UUID
    scope: str
    name: str | None
    description: str
    body: str
    time: str


def texts_in_sight(snapshot: Snapshot, scopes: frozenset[str] | None) -> list[Text]:
    """Every page and note that the reader sees at the revision, virtual pages among them."""
    found = [_page(snapshot, page) for page in _pages(snapshot, scopes)]
    by_id = {text.id: text for text in found}
    for kb_id, note_id in snapshot.all(_ALL_NOTES):
        if kb_id != snapshot.kb_id.bytes:
            continue
        assert isinstance(note_id, bytes)
        try:
            view = note(snapshot, UUID(bytes=note_id))
        except NotFoundError:
            continue
        if view.page in by_id:
            scope = by_id[view.page].scope
            found.append(Text(view.id, scope, None, "", view.text, view.created_at))
    return [text for text in found if scopes is None or text.scope in scopes]


def _pages(snapshot: Snapshot, scopes: frozenset[str] | None) -> Iterable[Standing]:
    for kb_id, page_id in snapshot.all(_ALL_PAGES):
        assert isinstance(page_id, bytes)
        if kb_id == snapshot.kb_id.bytes:
            row = readable_row(snapshot, UUID(bytes=page_id))
            if row is not None:
                yield row
    addresses = set(listed_addresses(snapshot))
    addresses |= {scope for scope in scopes or () if is_there(snapshot, scope)}
    for address in addresses:
        declared = declaration(snapshot, address)
        assert declared is not None
        for path in ((), *(page.path for page in declared.templates.pages)):
            way = way_down(snapshot, address, path)
            if way is not None and isinstance(way[-1], DeclaredPage):
                yield way[-1]


def _page(snapshot: Snapshot, page: Standing) -> Text:
    view = page_view(snapshot, page)
    description, body = view.description or "", view.body or ""
    # What was never written is older than whatever was.
    time = view.updated_at if view.version else ""
    return Text(view.id, view.scope, view.name, description, body, time)


def ranked(texts: Iterable[Text], query: str) -> list[UUID]:
    """The ids of all that is found, in order."""
    words = words_of(query)
    distinct = set(words)
    found = []
    for text in texts:
        fields = [
            _held(distinct, field) for field in (text.name or "", text.description, text.body)
        ]
        held = set().union(*fields)
        if not held:
            continue
        whole = text.name is not None and " ".join(words) in " ".join(words_of(text.name))
        key = (text.name is None, not whole, -len(held), *(-len(field) for field in fields))
        found.append((key, text))
    # Sorting keeps the order of equals: first by the last key, then by those before it.
    found.sort(key=lambda each: each[1].id.bytes)
    found.sort(key=lambda each: each[1].time, reverse=True)
    found.sort(key=lambda each: each[0])
    return [text.id for _, text in found]


def words_of(text: str) -> list[str]:
    folded = fold(text)
    for quote in DOUBLE_QUOTES:
        folded = folded.replace(quote, " ")
    return [word for run in folded.split() if (word := run.strip(SINGLE_QUOTES))]


def _held(words: set[str], text: str) -> set[str]:
    runs = fold(text).split()
    return {word for word in words if any(word in run for run in runs)}
