"""An order in which the pages of a line can be created, moved and deleted one by one.

Each step has to hold by itself, as the store decides them one after another: the parent is
there, no sibling has the key, no page comes under itself, nothing is deeper than allowed, and
what is deleted has no children. Where steps wait for each other in a circle (two files that
trade places), one page waits at the top of the scope under a temporary key.
"""

from collections import deque
from collections.abc import Mapping
from itertools import count, dropwhile, takewhile

from msgspec import Struct

from api.imports.folding import PlanError
from api.imports.plan import Handle
from api.imports.tree import FolderTree
from kbstore.limits import NESTING_LEVELS_MAX


class Spot(Struct, frozen=True):
    parent: Handle | None
    key: str | None


class Step(Struct, frozen=True):
    """A page comes to a spot, created there if it was nowhere yet; without one it is deleted."""

    page: Handle
    spot: Spot | None


def schedule(tree: FolderTree, targets: Mapping[Handle, Spot | None]) -> list[Step]:
    """The steps that bring every page to its target, None being its end.

    Keeps the order given as far as it can. Raises PlanError: key_taken, nesting.
    """
    return _Schedule(tree, targets).run()


class _Schedule:
    def __init__(self, tree: FolderTree, targets: Mapping[Handle, Spot | None]) -> None:
        self.work = tree.fork()
        self.pending = dict(targets)
        self.steps: list[Step] = []
        self.ready = deque(targets)
        self.waiting: dict[Handle, list[Handle]] = {}
        self.parked: set[Handle] = set()
        # Nobody waits for a key that is free at the top: whoever needs it has it by then.
        self.spare_keys = (
            key for number in count(1) if self.work.child(None, key := f"moving-{number}") is None
        )

    def run(self) -> list[Step]:
        while self.pending:
            while self.ready:
                page = self.ready.popleft()
                if page not in self.pending:
                    continue
                blocker = self._blocker(page)
                if blocker is None:
                    self._go(page, self.pending.pop(page))
                else:
                    self.waiting.setdefault(blocker, []).append(page)
            if self.pending:
                self._break_circle()
        return self.steps

    def _go(self, page: Handle, spot: Spot | None) -> None:
        if spot is None:
            self.work.delete(page)
        elif page in self.work:
            self.work.move(page, spot.parent, spot.key)
        else:
            self.work.create(page, spot.parent, spot.key or "", "", None)
        self.steps.append(Step(page, spot))
        self.ready.extend(self.waiting.pop(page, ()))

    def _blocker(self, page: Handle) -> Handle | None:
        """A page whose own step has to come first; None when nothing is in the way."""
        spot = self.pending[page]
        if spot is None:
            return next(self.work.children(page), None)
        if spot.parent not in self.work:
            return spot.parent
        if spot.key is not None:
            occupant = self.work.child(spot.parent, spot.key)
            if occupant is not None and occupant != page:
                if occupant not in self.pending:
                    raise PlanError(
                        "key_taken",
                        f"the key {spot.key!r} is taken: {self.work.node(occupant).key!r}"
                        " stands there",
                    )
                return occupant
        above = tuple(self.work.lineage(spot.parent))
        if page in above:
            between = takewhile(lambda other: other != page, above)
            return next(other for other in between if other in self.pending)
        return self._too_deep(page, above)

    def _too_deep(self, page: Handle, above: tuple[Handle, ...]) -> Handle | None:
        """What has to move before the page and all below it fit under its parent."""
        level = len(above) + 1
        below = [(page, level)]
        while below:
            at, level = below.pop()
            if level > NESTING_LEVELS_MAX:
                inner = takewhile(lambda other: other != page, self._lineage(at))
                for other in (*inner, *above):
                    if other in self.pending:
                        return other
                raise PlanError("nesting", f"a page comes deeper than {NESTING_LEVELS_MAX} levels")
            if at in self.work:
                below.extend((child, level + 1) for child in self.work.children(at))
        return None

    def _lineage(self, page: Handle) -> tuple[Handle, ...]:
        return tuple(self.work.lineage(page)) if page in self.work else ()

    def _break_circle(self) -> None:
        """Follows who waits for whom until it repeats, and parks one page of that circle."""
        seen: dict[Handle, None] = {}
        at = next(iter(self.pending))
        while at not in seen:
            seen[at] = None
            blocker = self._blocker(at)
            if blocker is None:  # what it waited for was solved by another step
                self.ready.append(at)
                return
            at = blocker
        circle = [
            page
            for page in dropwhile(lambda page: page != at, seen)
            if self.pending[page] is not None and page not in self.parked
        ]
        if not circle:
            raise AssertionError("a line whose steps cannot be ordered")
        # A new page has no history yet that a detour would show in.
        page = min(circle, key=lambda page: page in self.work)
        self.parked.add(page)
        self._go(page, Spot(None, next(self.spare_keys)))
