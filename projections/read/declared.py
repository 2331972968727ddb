"""Declared pages at a revision: found by place or by id, virtual where nothing was written.

A page the caller may not read counts as not written: the declared page shows in its place,
as it would if there had never been another.
"""

from functools import lru_cache
from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, func, select

from kbstore.access import (
    Configuration,
    ResolvedScope,
    declaration_of,
    declared_concrete_addresses,
)
from kbstore.domain.declared import DeclaredPage, KeyPath
from kbstore.ids import DECLARED_PAGE_ID_VERSION, declared_page_id
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.store.statements import Statement
from kbstore.text.normalise import fold_key
from projections.intervals import of_kb
from projections.read.rows import PageRow, child_row, last_row, row_of, scope_page_row
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.tables import pages, scopes

_SCOPES_CACHED_MAX = 20_000

_WRITTEN_FROM = Statement(
    select(pages.c.page_id).where(
        of_kb(pages),
        pages.c.template_scope == bindparam("scope"),
        pages.c.template_path == bindparam("path"),
    )
)
_OWNING_PAGES = Statement(
    select(scopes.c.scope).where(of_kb(scopes), scopes.c.since <= bindparam("revision"))
)
_TEMPLATES_WRITTEN = Statement(
    select(pages.c.template_scope, pages.c.template_path, func.count())
    .where(of_kb(pages), pages.c.template_path.is_not(None))
    .group_by(pages.c.template_scope, pages.c.template_path)
)


def declaration(snapshot: Snapshot, scope: str) -> ResolvedScope | None:
    """The scope as declared at the revision."""
    return declaration_of(snapshot.configuration, scope)


def is_there(snapshot: Snapshot, address: str) -> bool:
    """Whether the scope is declared at the revision and the caller has a role on it today."""
    return snapshot.access.can_read(address) and declaration(snapshot, address) is not None


def listed_addresses(snapshot: Snapshot) -> list[str]:
    """The scopes that are there for the caller and concrete, held by him or owning a page,
    sorted: what can be found without knowing an address."""
    return sorted(address for address in known_addresses(snapshot) if is_there(snapshot, address))


def known_addresses(snapshot: Snapshot) -> set[str]:
    """As `listed_addresses`, whether or not the caller has a role there today: at a revision
    always the same for one caller's held scopes."""
    candidates = {*declared_concrete_addresses(snapshot.configuration)}
    candidates |= snapshot.access.caller.held
    if snapshot.is_head:
        candidates |= snapshot.scopes_written
    else:
        candidates.update(cast(str, row[0]) for row in snapshot.all(_OWNING_PAGES))
    return candidates


def way_down(snapshot: Snapshot, scope: str, keys: KeyPath) -> tuple[Standing, ...] | None:
    """What stands from the scope page to this place; None where the caller finds nothing."""
    if len(keys) > NESTING_LEVELS_MAX or not snapshot.access.can_read(scope):
        return None
    declared = declaration(snapshot, scope)
    top: Standing | None = scope_page_row(snapshot, scope)
    if top is None:
        if declared is None:
            return None
        top = _declare(snapshot, declared, (), None)
    way = [top]
    for levels in range(1, len(keys) + 1):
        here = _child(snapshot, declared, way[-1], keys[:levels])
        if here is None:
            return None
        way.append(here)
    return tuple(way)


def scope_page(snapshot: Snapshot, scope: str) -> Standing | None:
    """The page at the top of a scope, written or not."""
    way = way_down(snapshot, scope, ())
    return way[0] if way else None


def declared_children(snapshot: Snapshot, parent: Standing) -> list[DeclaredPage]:
    """The virtual pages directly below a page, in the order they are declared in."""
    declared = declaration(snapshot, parent.scope)
    if declared is None or not declared.templates.pages:
        return []
    keys = place_of(snapshot, parent).shown_keys
    if keys is None:
        return []
    found = []
    for template in declared.templates.below(keys):
        here = _child(snapshot, declared, parent, template.path)
        if isinstance(here, DeclaredPage):
            found.append(here)
    return found


def declared_by_id(snapshot: Snapshot, page_id: UUID) -> DeclaredPage | None:
    """The virtual page with this id, in a listed scope."""
    if page_id.version != DECLARED_PAGE_ID_VERSION:
        return None
    place = _first_place(snapshot, page_id) or _later_place(snapshot, page_id)
    if place is None:
        return None
    way = way_down(snapshot, *place)
    here = way[-1] if way else None
    return here if isinstance(here, DeclaredPage) and here.page_id == page_id else None


def _child(
    snapshot: Snapshot, declared: ResolvedScope | None, parent: Standing, path: KeyPath
) -> Standing | None:
    # Nothing is ever written below a page that is not.
    if isinstance(parent, PageRow):
        row = child_row(snapshot, parent.page_id, path[-1])
        if row is not None:
            return row
    if declared is None or declared.templates.page(path) is None:
        return None
    return _declare(snapshot, declared, path, parent)


def _declare(
    snapshot: Snapshot, declared: ResolvedScope, path: KeyPath, parent: Standing | None
) -> DeclaredPage:
    template = declared.templates.page(path) if path else None
    template_path = () if template is None else template.path
    occurrence = _gone(snapshot, declared.address, template_path)
    source = declared if template is None else template
    return DeclaredPage(
        page_id=declared_page_id(snapshot.kb_id, declared.address, template_path, occurrence),
        scope=declared.address,
        path=_place(snapshot, template_path, parent),
        occurrence=occurrence,
        parent_id=None if parent is None else parent.page_id,
        name=source.name,
        description=source.description,
        body=None if template is None else template.body,
    )


def _place(snapshot: Snapshot, template_path: KeyPath, parent: Standing | None) -> KeyPath:
    """The keys that lead to a virtual page: an adopted page above has its own spelling."""
    if parent is None:
        return ()
    above = place_of(snapshot, parent).keys
    assert above is not None, "what is declared stands below pages with keys"
    return (*above, template_path[-1])


def _gone(snapshot: Snapshot, scope: str, path: KeyPath) -> int:
    """How many pages written from this declaration stood there no more at the revision."""
    if scope not in snapshot.scopes_written:
        return 0
    rows = snapshot.all(_WRITTEN_FROM, scope=scope, path="/".join(path))
    ids = [UUID(bytes=cast(bytes, row[0])) for row in rows]
    return sum(
        1
        for page_id in ids
        if last_row(snapshot, page_id) is not None
        and not _stands_at(snapshot, row_of(snapshot, page_id), scope, path)
    )


def _stands_at(snapshot: Snapshot, row: PageRow | None, scope: str, path: KeyPath) -> bool:
    if row is None or row.scope != scope:
        return False
    keys = place_of(snapshot, row).keys
    return keys is not None and _folded(keys) == _folded(path)


def _folded(path: KeyPath) -> KeyPath:
    return tuple(fold_key(key) for key in path)


Place = tuple[str, KeyPath]


def _first_place(snapshot: Snapshot, page_id: UUID) -> Place | None:
    """The place whose first page has this id."""
    for scope in listed_addresses(snapshot):
        path = _first_ids(snapshot.kb_id, snapshot.configuration, scope).get(page_id)
        if path is not None:
            return scope, path
    return None


def _later_place(snapshot: Snapshot, page_id: UUID) -> Place | None:
    """The place whose second or a later page has this id: one that pages left."""
    for row in snapshot.all(_TEMPLATES_WRITTEN):
        scope, joined, written = cast(tuple[str, str, int], row)
        if scope not in snapshot.access.readable:
            continue
        path = tuple(joined.split("/")) if joined else ()
        for occurrence in range(1, written + 1):
            if declared_page_id(snapshot.kb_id, scope, path, occurrence) == page_id:
                return scope, path
    return None


@lru_cache(maxsize=_SCOPES_CACHED_MAX)
def _first_ids(kb_id: UUID, configuration: Configuration, scope: str) -> dict[UUID, KeyPath]:
    declared = declaration_of(configuration, scope)
    if declared is None:
        return {}
    paths = [(), *(page.path for page in declared.templates.pages)]
    return {declared_page_id(kb_id, scope, path, 0): path for path in paths}
