"""A mirror of the pages of one scope, kept in step with what the import commits."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from uuid import UUID

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from api.imports.paths import Keys
from api.imports.plan import Handle, Plan, PlanCreate, PlanEdit, PlanMove
from kbstore.text import fold_key


class ExistingPage(Struct, frozen=True):
    """A live page of the scope. `parent_id` is None right under the scope page;
    `body_sha256` is the plain SHA-256 of the body's UTF-8, None where there is no body;
    `version` is 0 for a declared page that nothing was written to yet."""

    page_id: UUID
    parent_id: UUID | None
    key: str | None
    name: str
    body_sha256: bytes | None
    version: int

    def below(self, tops: Collection[UUID]) -> "ExistingPage":
        """The page in a tree that begins under these pages."""
        return replace(self, parent_id=None) if self.parent_id in tops else self


class Node(Struct):
    """A page as the mirror holds it; `children` is by folded key."""

    parent: Handle | None
    key: str | None
    name: str
    body_sha256: bytes | None
    version: int
    children: dict[str, Handle] = field(default_factory=dict)
    keyless: set[Handle] = field(default_factory=set)

    def copy(self) -> "Node":
        return Node(
            self.parent,
            self.key,
            self.name,
            self.body_sha256,
            self.version,
            dict(self.children),
            set(self.keyless),
        )


class FolderTree:
    """The live pages of a scope; None stands for its scope page, which is always there.

    `declared` are the places where the configuration declares a page.
    """

    def __init__(self, pages: Iterable[ExistingPage] = (), declared: Iterable[Keys] = ()) -> None:
        self._base: FolderTree | None = None
        self._declared = frozenset(tuple(map(fold_key, keys)) for keys in declared)
        self._gone: set[Handle] = set()
        self._nodes: dict[Handle | None, Node] = {None: Node(None, None, "", None, 0)}
        listed = list(pages)
        for page in listed:
            self._nodes[page.page_id] = Node(
                page.parent_id, page.key, page.name, page.body_sha256, page.version
            )
        for page in listed:
            self._attach(page.page_id, page.parent_id, page.key)

    def fork(self) -> "FolderTree":
        """A copy to try things on; it copies a node only when it changes it."""
        copy = FolderTree.__new__(FolderTree)
        copy._base, copy._gone, copy._nodes = self, set(), {}
        copy._declared = self._declared
        return copy

    # --- looking ---------------------------------------------------------------------------

    def __contains__(self, handle: Handle | None) -> bool:
        if handle in self._nodes:
            return True
        return self._base is not None and handle not in self._gone and handle in self._base

    def node(self, handle: Handle | None) -> Node:
        """The page's entry, not to be changed from outside. Raises KeyError."""
        own = self._nodes.get(handle)
        if own is not None:
            return own
        if self._base is None or handle in self._gone:
            raise KeyError(handle)
        return self._base.node(handle)

    def child(self, parent: Handle | None, key: str) -> Handle | None:
        """The child with this key, compared folded."""
        return self.node(parent).children.get(fold_key(key))

    def children(self, handle: Handle | None) -> Iterator[Handle]:
        """All children by key, those without one last: the same order after a restart."""
        node = self.node(handle)
        yield from (page for _, page in sorted(node.children.items()))
        yield from sorted(node.keyless, key=str)

    def find(self, keys: Keys) -> UUID | None:
        """The page whose path is exactly this, in every letter's case."""
        at: Handle | None = None
        for key in keys:
            at = self.child(at, key)
            if at is None or self.node(at).key != key:
                return None
        return at if isinstance(at, UUID) else None

    def resolve(self, keys: Keys) -> Keys:
        """The keys as the existing pages spell them, as far as there are any (folded)."""
        at: Handle | None = None
        spelled: list[str] = []
        for position, key in enumerate(keys):
            at = self.child(at, key)
            if at is None:
                return (*spelled, *keys[position:])
            spelled.append(self.node(at).key or key)
        return tuple(spelled)

    def lineage(self, handle: Handle | None) -> Iterator[Handle]:
        """The page itself, its parent, and so on up to the top of the scope."""
        while handle is not None:
            yield handle
            handle = self.node(handle).parent

    def level(self, handle: Handle | None) -> int:
        """How many levels below the scope page this one lies; 0 is the scope page."""
        return sum(1 for _ in self.lineage(handle))

    def is_declared(self, handle: Handle) -> bool:
        """Whether the configuration declares a page where this one stands: then it stays."""
        keys = [self.node(at).key for at in self.lineage(handle)]
        return tuple(key and fold_key(key) for key in reversed(keys)) in self._declared

    def path(self, handle: Handle) -> Keys:
        """The keys from the top; a page without a key has no path (ValueError)."""
        keys = []
        for at in self.lineage(handle):
            key = self.node(at).key
            if key is None:
                raise ValueError(f"page {handle} lies below a page without a key")
            keys.append(key)
        return tuple(reversed(keys))

    # --- changing --------------------------------------------------------------------------

    def create(
        self, handle: Handle, parent: Handle | None, key: str, name: str, body: str | None
    ) -> None:
        self._nodes[handle] = Node(parent, key, name, hash_of(body), 1)
        self._attach(handle, parent, key)

    def move(self, handle: Handle, parent: Handle | None, key: str | None) -> None:
        node = self._own(handle)
        self._detach(handle, node)
        node.parent, node.key = parent, key
        node.version += 1
        self._attach(handle, parent, key)

    def edit(self, operation: PlanEdit) -> None:
        node = self._own(operation.page)
        node.version += 1
        if operation.name is not UNSET:
            node.name = operation.name
        if operation.body is not UNSET:
            node.body_sha256 = hash_of(operation.body)

    def delete(self, handle: Handle) -> None:
        node = self.node(handle)
        if node.children or node.keyless:
            raise AssertionError(f"page {handle} still has children")
        self._detach(handle, node)
        self._nodes.pop(handle, None)
        self._gone.add(handle)

    def apply(self, plan: Plan, ids: Mapping[int, UUID]) -> None:
        """Brings the mirror to where the plan leads; `ids` gives each created page its id.

        Versions rise by one for each operation, as they do in the store, where a declared page
        is written as it was declared before anything happens to it or comes to stand below.
        """

        def real(handle: Handle) -> UUID:
            return ids[handle] if isinstance(handle, int) else handle

        def written(handle: Handle | None) -> UUID | None:
            page = None if handle is None else real(handle)
            for at in tuple(self.lineage(page)):
                if self.node(at).version == 0:
                    self._own(at).version = 1
            return page

        for step in plan.operations:
            match step:
                case PlanCreate():
                    parent = written(step.parent)
                    self.create(real(step.token), parent, step.key, step.name, step.body)
                case PlanMove():
                    self.move(real(step.page), written(step.parent), step.key)
                case PlanEdit():
                    written(step.page)
                    self.edit(step)
                case _:
                    self.delete(step.page)

    def _own(self, handle: Handle | None) -> Node:
        node = self._nodes.get(handle)
        if node is None:
            node = self._nodes[handle] = self.node(handle).copy()
        return node

    def _attach(self, handle: Handle, parent: Handle | None, key: str | None) -> None:
        if parent not in self:
            raise ValueError(f"page {handle} lies under a page that is not in the tree")
        above = self._own(parent)
        if key is None:
            above.keyless.add(handle)
        elif above.children.setdefault(fold_key(key), handle) != handle:
            raise ValueError(f"two pages under {parent} have the key {key!r}")

    def _detach(self, handle: Handle, node: Node) -> None:
        above = self._own(node.parent)
        if node.key is None:
            above.keyless.discard(handle)
        else:
            del above.children[fold_key(node.key)]


def hash_of(body: str | None) -> bytes | None:
    """SHA-256 of the body's UTF-8; None where there is no body."""
    return None if body is None else sha256(body.encode()).digest()
