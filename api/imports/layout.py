"""Which page stands at each path after a line: the rules of identity.

- A page whose live children all move along, or that has none, goes where its file goes.
- Where a child stays, the page stays as its folder; the file becomes a new page.
- A page that only groups goes where all its children go, so that a renamed folder is one move.
- A page whose file goes to a path where another page groups takes that page's children over.
- A path that returns is a new page; a folder that is empty goes.
- A page at a declared place stays there, whatever its file does: a file that comes there is
  written onto it, and without a file it only groups.
"""

from collections.abc import Iterator
from itertools import count
from uuid import UUID

from msgspec import Struct

from api.imports.folding import Files
from api.imports.paths import Keys
from api.imports.plan import Handle
from api.imports.tree import FolderTree
from kbstore.limits import PAGES_PER_OPERATION_MAX


class Layout(Struct, frozen=True):
    """`places` holds every path the line is about, parents first; an int is a page to create.

    `dead` are the pages to delete, `adopted` the keyless pages that get another parent.
    """

    places: dict[Keys, Handle]
    dead: tuple[UUID, ...]
    adopted: dict[UUID, Handle]


def lay_out(tree: FolderTree, files: Files) -> Layout:
    """Decides which page stands where once `files` hold what they say."""
    return _Settlement(tree, files).settle()


class _Settlement:
    def __init__(self, tree: FolderTree, files: Files) -> None:
        self.tree = tree
        self.files = files
        self.paths: dict[Handle, Keys] = {}
        """Where each page stood that loses its file's place, and each page above one."""
        self.wants: dict[Handle, Keys] = {}
        """Where a page goes unless it has to stay: where its file, or all its children, go."""
        self.staying: set[Handle] = set()
        self.evicted: set[Handle] = set()
        self.claims: dict[Keys, Handle] = {}

    def settle(self) -> Layout:
        self._find_displaced()
        for page in sorted(self.paths, key=lambda page: -len(self.paths[page])):
            self._decide(page)
        self._claim_for_files()
        self._claim_for_folders()
        places = self._fill()
        standing = set(places.values())
        gone = [page for page in (*self.paths, *self.evicted) if page not in standing]
        dead = tuple(dict.fromkeys(page for page in gone if isinstance(page, UUID)))
        return Layout(places, dead, self._adopt(dead, places))

    def _find_displaced(self) -> None:
        for keys, file in self.files.items():
            before = self.tree.find(keys)
            if before is not None and self._has_file(before) and not self._keeps(before, keys):
                for page in self.tree.lineage(before):
                    self.paths.setdefault(page, self.tree.path(page))
            origin = file.origin if file else None
            if origin is not None and origin != before:
                self.wants[origin] = keys

    def _keeps(self, page: Handle, keys: Keys) -> bool:
        """Whether a page's file is still where it was."""
        if keys not in self.files:
            return True
        file = self.files[keys]
        return file is not None and file.origin == page

    def _has_file(self, page: Handle) -> bool:
        return self.tree.node(page).body_sha256 is not None

    def _holds(self, page: Handle) -> bool:
        """Whether a page stays where it is."""
        if page in self.evicted:
            return False
        return page not in self.paths or page in self.staying

    def _decide(self, page: Handle) -> None:
        """Stay or go; what lies below has decided already, and nothing declared goes."""
        node, path = self.tree.node(page), self.paths[page]
        children = tuple(node.children.values())
        is_file = self._has_file(page)
        keeps_file = is_file and self._keeps(page, path)
        is_bound = keeps_file or self.tree.is_declared(page)
        if is_bound or any(self._holds(child) for child in children):
            self.staying.add(page)
        elif not is_file and (goal := self._common_goal(path, children)):
            self.wants[page] = goal
        # A page without a key has no path: nobody asked for it to go.
        elif node.keyless and page not in self.wants:
            self.staying.add(page)

    def _common_goal(self, path: Keys, children: tuple[Handle, ...]) -> Keys | None:
        """Where a folder goes: to where all its children go that do not end, under their keys."""
        goals = set()
        for child in children:
            goal = self.wants.get(child)
            if goal is None:
                continue
            if goal[-1] != self.tree.node(child).key:
                return None
            goals.add(goal[:-1])
        if len(goals) != 1:
            return None
        goal = goals.pop()
        return None if goal[: len(path)] == path else goal

    def _claim_for_files(self) -> None:
        """A moved file's page has the first right to its path, unless a page is declared there;
        a page that only groups there hands over its children."""
        open_claims = [
            (self.wants[page], page)
            for page in self.paths
            if page in self.wants and page not in self.staying and self._has_file(page)
        ]
        while open_claims:
            goal, page = open_claims.pop()
            other = self.tree.find(goal)
            if other is not None and self.tree.is_declared(other):
                continue
            self.claims[goal] = page
            if other is None or other == page or not self._holds(other):
                continue
            self.evicted.add(other)
            # Nothing holds it any more: it can go where its own file goes.
            if self._has_file(other) and other in self.wants:
                open_claims.append((self.wants[other], other))

    def _claim_for_folders(self) -> None:
        folders = [
            page for page in self.paths if not self._has_file(page) and page not in self.staying
        ]
        # Where two folders become one, the larger one saves more moves.
        folders.sort(key=lambda page: (-len(self.tree.node(page).children), self.paths[page]))
        for page in folders:
            goal = self.wants.get(page)
            if goal is None or goal in self.claims or self._is_too_large(page):
                continue
            other = self.tree.find(goal)
            if other is None or not self._holds(other):
                self.claims[goal] = page

    def _is_too_large(self, folder: Handle) -> bool:
        """Whether more pages would go along than the store moves at once."""
        found = [folder]
        for page in found:
            found.extend(self.tree.children(page))
            if len(found) > PAGES_PER_OPERATION_MAX:
                return True
        return False

    def _fill(self) -> dict[Keys, Handle]:
        """A page for every path that needs one, parents first."""
        needed = {keys[:length] for keys in self._needed() for length in range(1, len(keys) + 1)}
        claimed = set(self.claims.values())
        tokens = count()
        places: dict[Keys, Handle] = {}
        for keys in sorted(needed, key=lambda keys: (len(keys), keys)):
            holder = self.claims.get(keys)
            if holder is None:
                page = self.tree.find(keys)
                if page is not None and page not in claimed and self._serves(page, keys):
                    holder = page
            places[keys] = next(tokens) if holder is None else holder
        return places

    def _needed(self) -> Iterator[Keys]:
        yield from (keys for keys, file in self.files.items() if file is not None)
        yield from (self.paths[page] for page in self.staying)
        for page in self.evicted:
            path = self.tree.path(page)
            for child in self.tree.node(page).children.values():
                if self._holds(child):
                    yield (*path, self.tree.node(child).key or "")

    def _serves(self, page: UUID, keys: Keys) -> bool:
        """Whether the page that stood at a path can go on there."""
        if page in self.evicted:
            return False
        returns = self.files.get(keys) is not None and self._has_file(page)
        return self._holds(page) or not returns

    def _adopt(self, dead: tuple[UUID, ...], places: dict[Keys, Handle]) -> dict[UUID, Handle]:
        """Keyless pages under a page that ends go to whoever took its path or its children."""
        adopted: dict[UUID, Handle] = {}
        for page in dead:
            keyless = self.tree.node(page).keyless
            if not keyless:
                continue
            evicted = page in self.evicted
            heir = places[self.tree.path(page) if evicted else self.wants[page]]
            for child in sorted(child for child in keyless if isinstance(child, UUID)):
                adopted[child] = heir
        return adopted
