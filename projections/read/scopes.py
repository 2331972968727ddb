"""Scopes: which are listed, and what they are at a revision."""

from kbstore.errors import NotFoundError
from projections.read.children import child_counts
from projections.read.declared import declaration, is_there, listed_addresses, scope_page
from projections.read.pages import labels, version_of
from projections.read.slices import Slice
from projections.read.standing import Standing
from projections.snapshot import Snapshot
from projections.views import ScopeView


def list_scopes(snapshot: Snapshot, after: str | None, limit: int) -> Slice[ScopeView, str]:
    """The scopes there are for the caller, by address, from the one after `after` on.

    A scope is listed when it matches a declaration of the revision and is concrete, held by
    the caller or owns a page; and he has a role on it today.
    """
    addresses = [a for a in listed_addresses(snapshot) if after is None or a > after]
    more = len(addresses) > limit
    addresses = addresses[:limit]
    return Slice(items=_views(snapshot, addresses), after=addresses[-1] if more else None)


def scope(snapshot: Snapshot, address: str) -> ScopeView:
    """A scope by its address, listed or not. Raises NotFoundError where it is undeclared or
    the caller has no role on it."""
    if not is_there(snapshot, address):
        raise NotFoundError(f'Knowledge page "{address}" not found.')
    return _views(snapshot, [address])[0]


def child_scopes(snapshot: Snapshot, address: str) -> tuple[ScopeView, ...]:
    """The template child scopes of a scope that the caller has a role on, by address."""
    declared = declaration(snapshot, address)
    if declared is None or not snapshot.access.can_read(address):
        return ()
    return _views(snapshot, [a for a in declared.children if is_there(snapshot, a)])


def _views(snapshot: Snapshot, addresses: list[str]) -> tuple[ScopeView, ...]:
    tops = [scope_page(snapshot, address) for address in addresses]
    pages = tuple(top for top in tops if top is not None)
    counts = child_counts(snapshot, pages)
    return tuple(_view(snapshot, page, counts[page.page_id]) for page in pages)


def _view(snapshot: Snapshot, page: Standing, children: int) -> ScopeView:
    access = snapshot.access
    role = access.role(page.scope)
    declared = declaration(snapshot, page.scope)
    assert role is not None, "only scopes with a role are listed"
    assert declared is not None, "only declared scopes are listed"
    name, description = labels(snapshot, page)
    above = declared.belongs_to
    return ScopeView(
        scope=page.scope,
        page=page.page_id,
        name=name,
        description=description,
        belongs_to=above if above is not None and access.can_read(above) else None,
        role=role.word,
        held=page.scope in access.caller.held,
        version=version_of(page),
        children=children,
    )
