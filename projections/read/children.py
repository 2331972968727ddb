"""The pages directly below a page, by folded name, then id; declared ones among them."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, func, select, tuple_

from kbstore.ids import id_from_bytes
from kbstore.store.statements import Statement
from kbstore.text.fold import fold
from projections.intervals import is_current, of_kb
from projections.read.declared import declaration, declared_children
from projections.read.filters import at_revision, page_is_readable
from projections.read.pages import key_of, labels, times, version_of
from projections.read.refs import standing
from projections.read.rows import (
    PAGE_COLUMNS,
    PAGES_AND_VERSIONS,
    PageRow,
    V,
    page_row,
    row_of,
)
from projections.read.slices import Slice, stale_key
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.tables import page_versions
from projections.views import PageSummary

SortKey = tuple[str, bytes]
_FIRST: SortKey = ("", b"")

_LISTED = (
    select(*PAGE_COLUMNS)
    .select_from(PAGES_AND_VERSIONS)
    .where(
        of_kb(page_versions),
        V.parent_id == bindparam("parent_id"),
        tuple_(V.name_fold, V.page_id) > tuple_(bindparam("name_fold"), bindparam("page_id")),
        page_is_readable(V.scope),
    )
    .order_by(V.name_fold, V.page_id)
    .limit(bindparam("limit"))
)
_LISTED_NOW = Statement(_LISTED.where(is_current(page_versions)))
_LISTED_AT = Statement(_LISTED.where(at_revision(page_versions)))

_COUNTED = (
    select(V.parent_id, func.count())
    .select_from(PAGES_AND_VERSIONS)
    .where(
        of_kb(page_versions),
        V.parent_id.in_(bindparam("parent_ids", expanding=True)),
        page_is_readable(V.scope),
    )
    .group_by(V.parent_id)
)
_COUNTED_NOW = Statement(_COUNTED.where(is_current(page_versions)))
_COUNTED_AT = Statement(_COUNTED.where(at_revision(page_versions)))


def children(
    snapshot: Snapshot, page_id: UUID, after: UUID | None, limit: int
) -> Slice[PageSummary, UUID]:
    """The readable children of a page from the one after `after` on, at most `limit`.

    Raises NotFoundError for a page that is missing or hidden.
    """
    parent = standing(snapshot, page_id)
    found = children_of(snapshot, parent, after, limit)
    return Slice(items=summaries(snapshot, found.items), after=found.after)


def children_of(
    snapshot: Snapshot, parent: Standing, after: UUID | None, limit: int
) -> Slice[Standing, UUID]:
    """As `children`, for a page at hand, and without making views of them."""
    declared = declared_children(snapshot, parent)
    start = _FIRST if after is None else _key_of_child(snapshot, declared, after)
    found: list[Standing] = [page for page in declared if sort_key(page) > start]
    if isinstance(parent, PageRow):
        rows = snapshot.all(
            _LISTED_NOW if snapshot.is_head else _LISTED_AT,
            parent_id=parent.page_id.bytes,
            name_fold=start[0],
            page_id=start[1],
            limit=limit + 1,
            **snapshot.filters,
        )
        for row in rows:
            child = page_row(row)
            snapshot.rows_read.setdefault(child.page_id, child)
            found.append(child)
    found.sort(key=sort_key)
    more = len(found) > limit
    found = found[:limit]
    return Slice(items=tuple(found), after=found[-1].page_id if more else None)


def summaries(snapshot: Snapshot, pages: tuple[Standing, ...]) -> tuple[PageSummary, ...]:
    """The list views of pages that the caller was found to be allowed to read."""
    counts = child_counts(snapshot, pages)
    return tuple(_summary(snapshot, page, counts[page.page_id]) for page in pages)


def child_counts(snapshot: Snapshot, pages: tuple[Standing, ...]) -> dict[UUID, int]:
    """How many readable children each page has, virtual ones counted."""
    counts = {page.page_id: 0 for page in pages}
    written = [page.page_id.bytes for page in pages if isinstance(page, PageRow)]
    if written:
        rows = snapshot.all(
            _COUNTED_NOW if snapshot.is_head else _COUNTED_AT,
            parent_ids=written,
            **snapshot.filters,
        )
        for parent_id, count in rows:
            counts[id_from_bytes(cast(bytes, parent_id))] = cast(int, count)
    may_declare: dict[UUID | None, bool] = {}
    for page in pages:
        # Templates are declared inside each other: what holds for the page above settles it.
        above = page.parent_id
        if above is None or above not in may_declare:
            may_declare[above] = _is_declared(snapshot, page.scope, above)
        if may_declare[above]:
            counts[page.page_id] += len(declared_children(snapshot, page))
    return counts


def sort_key(page: Standing) -> SortKey:
    """What siblings are listed by."""
    name_fold = page.name_fold if isinstance(page, PageRow) else fold(page.name)
    return name_fold, page.page_id.bytes


def _key_of_child(snapshot: Snapshot, declared: Sequence[Standing], page_id: UUID) -> SortKey:
    """The key of the page a list stopped at, whether or not the caller can still read it."""
    for page in declared:
        if page.page_id == page_id:
            return sort_key(page)
    row = row_of(snapshot, page_id)
    if row is None:
        raise stale_key()
    return sort_key(row)


def _is_declared(snapshot: Snapshot, scope: str, page_id: UUID | None) -> bool:
    """Whether a template page may stand below a page: a scope page (`page_id` None or its
    own), or one at a declared place. True where it is not known."""
    declared = declaration(snapshot, scope)
    if declared is None or not declared.templates.pages:
        return False
    row = None if page_id is None else row_of(snapshot, page_id)
    keys = None if row is None else place_of(snapshot, row).keys
    return not keys or declared.templates.page(keys) is not None


def _summary(snapshot: Snapshot, page: Standing, count: int) -> PageSummary:
    place = place_of(snapshot, page)
    name, description = labels(snapshot, page)
    created_at, updated_at, updated_by = times(snapshot, page)
    return PageSummary(
        id=page.page_id,
        ref=place.ref,
        scope=page.scope,
        key=key_of(page),
        name=name,
        description=description,
        version=version_of(page),
        parent=place.parent_id,
        path=place.path,
        children=count,
        created_at=created_at,
        updated_at=updated_at,
        updated_by=updated_by,
    )
