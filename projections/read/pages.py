"""Whole pages: by id, by ref, at any version."""

from functools import lru_cache
from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from kbstore.clock import format_time
from kbstore.domain.declared import DeclaredPage
from kbstore.domain.events import CONFIG_AUTHOR
from kbstore.errors import NotFoundError
from projections.read.bodies import body_text, front_matter
from projections.read.declared import declaration
from projections.read.refs import standing, standing_at
from projections.read.rows import PageRow, row_of_version
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.views import PageView

_TIMES_CACHED_MAX = 16_384

shown_time = lru_cache(maxsize=_TIMES_CACHED_MAX)(format_time)
"""`format_time`, kept: the rows of a list were mostly written by few commits."""


def page(snapshot: Snapshot, page_id: UUID) -> PageView:
    """The live page with this id. Raises NotFoundError, with `mergedInto` where it helps."""
    return page_view(snapshot, standing(snapshot, page_id))


def page_by_ref(snapshot: Snapshot, ref: str) -> PageView:
    """The live page a ref names. Raises NotFoundError, with `movedTo` where it helps."""
    return page_view(snapshot, standing_at(snapshot, ref))


def page_at_version(snapshot: Snapshot, page_id: UUID, version: int) -> PageView:
    """What this version of a page said, at the place where the page stands at the revision.

    Raises NotFoundError for a version that is not, or whose scope the reader may not read.
    """
    return page_view(snapshot, standing_at_version(snapshot, page_id, version))


def standing_at_version(snapshot: Snapshot, page_id: UUID, version: int) -> Standing:
    """As `page_at_version`, before a view is made."""
    here = standing(snapshot, page_id)
    if version_of(here) == version:
        return here
    row = None
    if isinstance(here, PageRow):
        row = row_of_version(snapshot, page_id, version)
    if row is None or not isinstance(here, PageRow):
        raise NotFoundError(f'Knowledge page "{page_id}" has no version {version}.')
    return replace(row, scope=here.scope, parent_id=here.parent_id, key=here.key)


def page_view(snapshot: Snapshot, page: Standing) -> PageView:
    """The view of a page that the caller was found to be allowed to read."""
    place = place_of(snapshot, page)
    name, description = labels(snapshot, page)
    if isinstance(page, PageRow):
        body_ref = page.body_ref
        body = body_text(snapshot, body_ref)
    else:
        body_ref, body = None, page.body
    front = front_matter(body_ref, body)
    created_at, updated_at, updated_by = times(snapshot, page)
    return PageView(
        id=page.page_id,
        ref=place.ref,
        scope=page.scope,
        key=key_of(page),
        name=name,
        description=description,
        version=version_of(page),
        parent=place.parent_id,
        path=place.path,
        body=body,
        frontmatter=front.values,
        created_at=created_at,
        updated_at=updated_at,
        updated_by=updated_by,
        frontmatter_error=UNSET if front.error is None else front.error,
    )


def labels(snapshot: Snapshot, page: Standing) -> tuple[str, str | None]:
    """Name and description; those of a scope page as configured at the revision."""
    if isinstance(page, DeclaredPage):
        return page.name, page.description or None
    if page.parent_id is not None:
        return page.name, page.description
    declared = declaration(snapshot, page.scope)
    if declared is None:
        return page.name, page.description
    return declared.name, declared.description or None


def key_of(page: Standing) -> str | None:
    if isinstance(page, PageRow):
        return page.key
    return page.path[-1] if page.path else None


def version_of(page: Standing) -> int:
    return page.version if isinstance(page, PageRow) else 0


def times(snapshot: Snapshot, page: Standing) -> tuple[str, str, str]:
    """When the page was created and updated, and by whom; a virtual one by its declaration."""
    if isinstance(page, PageRow):
        return shown_time(page.created_at), shown_time(page.updated_at), page.updated_by
    configured = shown_time(snapshot.configured_time)
    return configured, configured, CONFIG_AUTHOR
