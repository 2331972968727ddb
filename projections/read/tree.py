"""The tree as an agent walks it: scopes, the scopes below them, and the pages, depth first.

Below a scope stand its pages, then its child scopes and those that belong to it. Only what the
reader can read is there, and nothing below a page that he cannot.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import zip_longest
from uuid import UUID

from msgspec import Struct

from kbstore.limits import NESTING_LEVELS_MAX, SCOPE_ADDRESS_CODE_POINTS_MAX
from projections.read.children import child_counts, children_of
from projections.read.declared import declaration, is_there, listed_addresses, scope_page
from projections.read.refs import standing
from projections.read.slices import stale_key
from projections.read.standing import Standing
from projections.snapshot import Snapshot

_CHILDREN_READ_AT_ONCE = 100
# A chain of scopes gets longer than its addresses are only by loops, which no configuration has.
_LEVELS_MAX = NESTING_LEVELS_MAX + SCOPE_ADDRESS_CODE_POINTS_MAX


class Entry(Struct, frozen=True):
    """A page in the tree; `depth` is 1 for those directly below where a walk starts."""

    page: Standing
    depth: int

    @property
    def is_scope(self) -> bool:
        return self.page.parent_id is None


class Tree:
    """The tree of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def walk(self, start: Standing | None, depth: int, after: UUID | None) -> Iterator[Entry]:
        """Everything down to `depth` levels below `start`, from the entry after `after` on.

        Without `start` the scopes there are for the reader stand at the top, each once. A page
        that `after` names and that is not there any more raises StaleCursorError.
        """
        way = [] if after is None else self._way(start, after)
        nodes = [start, *way][:depth]
        passed = [page.page_id for page in way]
        levels = [self._below(node, after) for node, after in zip_longest(nodes, passed[:depth])]
        while levels:
            page = next(levels[-1], None)
            if page is None:
                levels.pop()
                continue
            yield Entry(page, len(levels))
            if len(levels) < depth:
                levels.append(self._below(page, None))

    def counts(self, pages: tuple[Standing, ...]) -> dict[UUID, int]:
        """How many pages and scopes stand directly below each page."""
        counts = child_counts(self._snapshot, pages)
        for page in pages:
            if page.parent_id is None:
                counts[page.page_id] += len(self._addresses_below(page.scope))
        return counts

    def scopes_below(self, address: str) -> list[Standing]:
        """The pages of the child scopes of a scope and of those that belong to it, by address."""
        found = (self._scope_page(below) for below in self._addresses_below(address))
        return [page for page in found if page is not None]

    def _below(self, node: Standing | None, after: UUID | None) -> Iterator[Standing]:
        """What stands directly below a page, from what follows `after` on; the scopes at the
        top below None."""
        if node is None:
            yield from self._scopes_after(self._top, after)
            return
        below = self._addresses_below(node.scope) if node.parent_id is None else []
        if after is None or all(self._page_id(address) != after for address in below):
            while True:
                part = children_of(self._snapshot, node, after, _CHILDREN_READ_AT_ONCE)
                yield from part.items
                after = part.after
                if after is None:
                    break
        yield from self._scopes_after(below, after)

    def _scopes_after(self, addresses: list[str], after: UUID | None) -> Iterator[Standing]:
        passed = after is None
        for address in addresses:
            page = self._scope_page(address)
            if page is None:
                continue
            if passed:
                yield page
            passed = passed or page.page_id == after
        if not passed:
            raise stale_key()

    def _way(self, start: Standing | None, page_id: UUID) -> list[Standing]:
        """The pages from the one below `start` down to a page."""
        way = [standing(self._snapshot, page_id)]
        for _ in range(_LEVELS_MAX):
            above = self._above(way[-1], is_top=start is None)
            if above is None or (start is not None and above.page_id == start.page_id):
                break
            way.append(above)
        if (above is None) != (start is None):
            raise stale_key()
        return way[::-1]

    def _above(self, page: Standing, *, is_top: bool) -> Standing | None:
        if page.parent_id is not None:
            return standing(self._snapshot, page.parent_id)
        if is_top:
            return None
        address = self._parent_scope(page.scope)
        return None if address is None else self._scope_page(address)

    @cached_property
    def _top(self) -> list[str]:
        return listed_addresses(self._snapshot)

    @cached_property
    def _belonging(self) -> dict[str, list[str]]:
        """The listed addresses that belong to another, by that one."""
        found: dict[str, list[str]] = {}
        for address in self._top:
            above = self._parent_scope(address)
            if above is not None:
                found.setdefault(above, []).append(address)
        return found

    def _addresses_below(self, address: str) -> list[str]:
        declared = declaration(self._snapshot, address)
        children = () if declared is None else declared.children
        there = {child for child in children if is_there(self._snapshot, child)}
        return sorted(there.union(self._belonging.get(address, ())))

    def _parent_scope(self, address: str) -> str | None:
        declared = declaration(self._snapshot, address)
        return None if declared is None else declared.belongs_to

    def _scope_page(self, address: str) -> Standing | None:
        return scope_page(self._snapshot, address)

    def _page_id(self, address: str) -> UUID | None:
        page = self._scope_page(address)
        return None if page is None else page.page_id
