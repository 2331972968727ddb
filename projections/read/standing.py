"""Where a page stands: its path, its ref, its parent as the reader may know them.

All pages between a page and its scope page share its scope at a revision, but one of them may
have been moved or deleted out of the reader's reach since. What is below such a page is named
by its id, as if a level had no key.
"""

from uuid import UUID

from msgspec import Struct

from kbstore.domain.declared import DeclaredPage, KeyPath
from kbstore.limits import NESTING_LEVELS_MAX
from projections.read.rows import PageRow, is_readable, row_of
from projections.snapshot import Snapshot

Standing = PageRow | DeclaredPage
"""A page that stands somewhere: written, or declared and virtual."""


class Place(Struct, frozen=True):
    """`keys` lead from the scope page to the page, None where a level has no key; they show
    only if `open`: every page above is readable. `parent_id` is None where it is hidden."""

    scope: str
    page_id: UUID
    keys: KeyPath | None
    open: bool
    parent_id: UUID | None

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


def place_of(snapshot: Snapshot, page: Standing) -> Place:
    """Where a page stands; pages read before make it cheaper."""
    if isinstance(page, DeclaredPage):
        return Place(page.scope, page.page_id, page.path, True, page.parent_id)
    places = snapshot.places
    way = [page]
    while way[-1].page_id not in places and way[-1].parent_id is not None:
        assert len(way) <= NESTING_LEVELS_MAX, "pages nest deeper than they may"
        parent = row_of(snapshot, way[-1].parent_id)
        assert parent is not None, "a live page stands under live pages"
        way.append(parent)
    top = way[-1]
    place = places.get(top.page_id)
    if place is None:
        place = places[top.page_id] = Place(top.scope, top.page_id, (), True, None)
    above = top
    for here in reversed(way[:-1]):
        place = places[here.page_id] = _below(snapshot, place, above, here)
        above = here
    return place


def ref_of(snapshot: Snapshot, page_id: UUID) -> str:
    """The ref of a written page at the revision; its id where it does not live there."""
    row = row_of(snapshot, page_id)
    return str(page_id) if row is None else place_of(snapshot, row).ref


def _below(snapshot: Snapshot, place: Place, parent: PageRow, page: PageRow) -> Place:
    parent_readable = is_readable(snapshot, parent)
    keys = None
    if place.keys is not None and page.key is not None:
        keys = (*place.keys, page.key)
    return Place(
        page.scope,
        page.page_id,
        keys,
        place.open and parent_readable,
        parent.page_id if parent_readable else None,
    )
