"""A store of pages in memory that decides a plan's operations one by one, by the store's rules.

It shares no code with the planner, so that it can say whether a plan is one the store accepts
and where it leads.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from unicodedata import normalize
from uuid import UUID

from msgspec import UNSET

from api.imports.plan import Handle, Plan, PlanCreate, PlanDelete, PlanEdit, PlanMove
from api.imports.planner import ExistingPage
from tests.oplog_model import State

LEVELS_MAX = 10


@dataclass(frozen=True)
class Page:
    parent: UUID | None
    key: str | None
    name: str
    body: str | None
    version: int


@dataclass
class PageStore:
    pages: dict[UUID, Page] = field(default_factory=dict)
    gone: set[UUID] = field(default_factory=set)
    made: int = 0

    def commit(self, plan: Plan) -> dict[int, UUID]:
        """All operations in order; returns the ids of the pages they created."""
        before = dict(self.pages)
        ids: dict[int, UUID] = {}

        def real(handle: Handle) -> UUID:
            return ids[handle] if isinstance(handle, int) else handle

        for index, operation in enumerate(plan.operations):
            match operation:
                case PlanCreate():
                    assert operation.token == index
                    parent = None if operation.parent is None else real(operation.parent)
                    ids[index] = self.create(parent, operation.key, operation.name, operation.body)
                case PlanMove():
                    page = real(operation.page)
                    if isinstance(operation.page, UUID):
                        assert operation.version == before[page].version
                    parent = None if operation.parent is None else real(operation.parent)
                    self.move(page, parent, operation.key)
                case PlanEdit():
                    assert operation.version == before[operation.page].version
                    self.edit(operation)
                case PlanDelete():
                    assert operation.version == before[operation.page].version
                    self.delete(operation.page)
        return ids

    def create(self, parent: UUID | None, key: str | None, name: str, body: str | None) -> UUID:
        self.made += 1
        page = UUID(int=self.made)
        self.pages[page] = Page(parent, key, name, body, 1)
        self._check_spot(page)
        return page

    def move(self, page: UUID, parent: UUID | None, key: str | None) -> None:
        old = self.pages[page]
        assert (old.parent, old.key) != (parent, key), "a move that changes nothing"
        self.pages[page] = replace(old, parent=parent, key=key, version=old.version + 1)
        self._check_spot(page)

    def edit(self, operation: PlanEdit) -> None:
        old = self.pages[operation.page]
        name = old.name if operation.name is UNSET else operation.name
        body = old.body if operation.body is UNSET else operation.body
        assert (name, body) != (old.name, old.body), "an edit that changes nothing"
        assert name
        self.pages[operation.page] = replace(old, name=name, body=body, version=old.version + 1)

    def delete(self, page: UUID) -> None:
        assert not self.children(page), "PAGE_HAS_CHILDREN"
        del self.pages[page]
        self.gone.add(page)

    def children(self, page: UUID | None) -> list[UUID]:
        return [other for other, held in self.pages.items() if held.parent == page]

    def lineage(self, page: UUID) -> list[UUID]:
        found: list[UUID] = []
        at: UUID | None = page
        while at is not None:
            assert at in self.pages, "PARENT_NOT_FOUND"
            assert at not in found, "WOULD_CREATE_CYCLE"
            found.append(at)
            at = self.pages[at].parent
        return found

    def levels_below(self, page: UUID) -> int:
        return 1 + max((self.levels_below(child) for child in self.children(page)), default=0)

    def _check_spot(self, page: UUID) -> None:
        held = self.pages[page]
        lineage = self.lineage(page)
        assert len(lineage) - 1 + self.levels_below(page) <= LEVELS_MAX, "NESTING_TOO_DEEP"
        if held.key is None:
            return
        for other in self.children(held.parent):
            key = self.pages[other].key
            taken = other != page and key is not None and fold(key) == fold(held.key)
            assert not taken, f"KEY_TAKEN {key}"

    # --- what it holds ---------------------------------------------------------------------

    def path(self, page: UUID) -> str:
        return "/".join(self.pages[at].key or f"%{at}" for at in reversed(self.lineage(page)))

    def by_path(self) -> dict[str, UUID]:
        return {self.path(page): page for page in self.pages}

    def files(self) -> State:
        return frozenset(
            (f"{self.path(page)}.md", hash_of(held.body))
            for page, held in self.pages.items()
            if held.body is not None
        )

    def existing(self) -> list[ExistingPage]:
        return [
            ExistingPage(
                page,
                held.parent,
                held.key,
                held.name,
                None if held.body is None else sha256(held.body.encode()).digest(),
                held.version,
            )
            for page, held in self.pages.items()
        ]

    def body(self, page: UUID) -> str:
        body = self.pages[page].body
        assert body is not None
        return body


@lru_cache(maxsize=4096)
def hash_of(body: str) -> str:
    return sha256(body.encode()).hexdigest()


def fold(key: str) -> str:
    return normalize("NFC", key).casefold()
