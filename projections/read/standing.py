"""Where a page stands: its path, its ref, its parent as the reader may know them.

All pages between a page and its scope page share its scope at a revision, but one of them may
have been moved or deleted out of the reader's reach since. What is below such a page is named
by its id, as if a level had no key.
"""

from uuid import UUID

from msgspec import Struct

from kbstore.access import Access
from kbstore.domain.declared import DeclaredPage, KeyPath
from kbstore.limits import NESTING_LEVELS_MAX
from projections.caching import LruCache
from projections.read.rows import PageRow, is_readable, row_of
from projections.snapshot import Snapshot

_PLACES_KEPT_MAX = 16_384

Standing = PageRow | DeclaredPage
"""A page that stands somewhere: written, or declared and virtual."""


class Place(Struct, frozen=True):
    """`keys` lead from the scope page to the page, None where a level has no key; they show
    only if `open`: every page above is readable. `parent_id` is None where it is hidden,
    `readable` tells of the page itself."""

    scope: str
    page_id: UUID
    keys: KeyPath | None
    open: bool
    parent_id: UUID | None
    readable: bool

    @property
    def shown_keys(self) -> KeyPath | None:
        return self.keys if self.open else None

    @property
    def path(self) -> str | None:
        """The keys joined by "/", "" for a scope page; None where they do not show."""
        keys = self.shown_keys
        return None if keys is None else "/".join(keys)

    @property
    def ref(self) -> str:
        """How the page is named: `scope`, `scope#key/key`, or its id."""
        path = self.path
        if path is None:
            return str(self.page_id)
        return f"{self.scope}#{path}" if path else self.scope


# The digest of the head stands for the whole history up to it.
_Kept = tuple[bytes, int, int, Access, UUID]
_kept: LruCache[_Kept, Place] = LruCache(_PLACES_KEPT_MAX)
"""Where pages stand that have others below, by the state and the reader it was found for."""


def place_of(snapshot: Snapshot, page: Standing) -> Place:
    """Where a page stands; pages read before make it cheaper."""
    if isinstance(page, DeclaredPage):
        return Place(page.scope, page.page_id, page.path, True, page.parent_id, True)
    places = snapshot.places
    place = places.get(page.page_id)
    if place is not None:
        return place
    way = [page]
    while place is None and way[-1].parent_id is not None:
        assert len(way) <= NESTING_LEVELS_MAX, "pages nest deeper than they may"
        above = way[-1].parent_id
        place = places.get(above) or _kept.get(_key(snapshot, above))
        if place is None:
            parent = row_of(snapshot, above)
            assert parent is not None, "a live page stands under live pages"
            way.append(parent)
    for here in reversed(way):
        place = places[here.page_id] = _below(snapshot, place, here)
        if here is not page:
            _kept.put(_key(snapshot, here.page_id), place)
    assert place is not None
    return place


def ref_of(snapshot: Snapshot, page_id: UUID) -> str:
    """The ref of a written page at the revision; its id where it does not live there."""
    row = row_of(snapshot, page_id)
    return str(page_id) if row is None else place_of(snapshot, row).ref


def _below(snapshot: Snapshot, above: Place | None, page: PageRow) -> Place:
    """The place of a page whose parent's is `above`, None for a scope page."""
    readable = is_readable(snapshot, page)
    if above is None:
        return Place(page.scope, page.page_id, (), True, None, readable)
    keys = None
    if above.keys is not None and page.key is not None:
        keys = (*above.keys, page.key)
    return Place(
        page.scope,
        page.page_id,
        keys,
        above.open and above.readable,
        above.page_id if above.readable else None,
        readable,
    )


def _key(snapshot: Snapshot, page_id: UUID) -> _Kept:
    head = snapshot.head
    return head.digest, head.generation, snapshot.revision, snapshot.access, page_id
