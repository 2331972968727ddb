"""How tools name pages and scopes in their answers."""

from uuid import UUID

from msgspec import UNSET, UnsetType

from kbstore.access import Role
from projections.read.pages import labels
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.views import View


class PageName(View, frozen=True, kw_only=True):
    """A page by its ref, which every tool takes, and its name."""

    ref: str
    name: str


class PageEntry(PageName, frozen=True, kw_only=True):
    """A page in a list; `children` counts the pages and scopes below it that the run can read."""

    children: int
    description: str | None | UnsetType = UNSET


class ScopeEntry(PageEntry, frozen=True, kw_only=True):
    """A scope, and what the run can do there: `role` is null where it holds the scope and has
    no role on it."""

    held: bool
    role: str | None
    can: tuple[str, ...]


_READ = ("read",)
_CONTRIBUTE = (*_READ, "create pages", "add notes")
_EDIT = (*_CONTRIBUTE, "edit and move pages", "restamp and remove notes", "pin pages")
_OWN = (*_EDIT, "move pages to other scopes", "merge and delete pages")
_CAN = {
    Role.VIEWER: _READ,
    Role.CONTRIBUTOR: _CONTRIBUTE,
    Role.EDITOR: _EDIT,
    Role.OWNER: _OWN,
}


def page_name(snapshot: Snapshot, page: Standing) -> PageName:
    return PageName(ref=place_of(snapshot, page).ref, name=labels(snapshot, page)[0])


def page_entry(
    snapshot: Snapshot, page: Standing, counts: dict[UUID, int], *, described: bool = True
) -> PageEntry:
    """The entry of a page that the run was found to be allowed to read."""
    name, description = labels(snapshot, page)
    return PageEntry(
        ref=place_of(snapshot, page).ref,
        name=name,
        children=counts[page.page_id],
        description=description if described and description is not None else UNSET,
    )


def scope_entry(snapshot: Snapshot, page: Standing, counts: dict[UUID, int]) -> ScopeEntry:
    """The entry of a scope by its page."""
    name, description = labels(snapshot, page)
    role = snapshot.access.role(page.scope)
    return ScopeEntry(
        ref=page.scope,
        name=name,
        children=counts[page.page_id],
        description=UNSET if description is None else description,
        held=page.scope in snapshot.access.caller.held,
        role=None if role is None else role.word,
        can=can(role),
    )


def unreadable_scope(address: str) -> ScopeEntry:
    """The entry of a scope that the run holds without a role on it, or that is undeclared."""
    return ScopeEntry(ref=address, name=address, children=0, held=True, role=None, can=())


def can(role: Role | None) -> tuple[str, ...]:
    """What a role allows, in words for a model."""
    return () if role is None else _CAN[role]
