"""Pages by their exact name, as tools let a model write it."""

from collections.abc import Iterator

from sqlalchemy import bindparam, select

from kbstore.access import TemplateTree
from kbstore.domain.declared import DeclaredPage
from kbstore.errors import AmbiguousReferenceError
from kbstore.store.statements import Statement
from projections.intervals import of_kb
from projections.read.declared import declaration, listed_addresses, way_down
from projections.read.filters import at_revision, page_is_readable
from projections.read.refs import page_not_found
from projections.read.rows import PAGE_COLUMNS, PAGES_AND_VERSIONS, V, page_row
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.tables import page_versions

CANDIDATES_SHOWN_MAX = 20

_NAMED = Statement(
    select(*PAGE_COLUMNS)
    .select_from(PAGES_AND_VERSIONS)
    .where(
        of_kb(page_versions),
        V.name == bindparam("name"),
        # The name of a scope page is the configuration's business.
        V.parent_id.is_not(None),
        at_revision(page_versions),
        page_is_readable(V.scope),
    )
    .order_by(V.page_id)
    .limit(bindparam("limit"))
)


def resolve_name(snapshot: Snapshot, name: str) -> Standing:
    """The one readable page with exactly this name, written or declared.

    Raises NotFoundError without one, and AmbiguousReferenceError for several, whose
    `details.candidates` are the refs of the first twenty.
    """
    found = pages_named(snapshot, name, CANDIDATES_SHOWN_MAX)
    if not found:
        raise page_not_found(name)
    if len(found) == 1:
        return found[0]
    refs = sorted(place_of(snapshot, page).ref for page in found)
    raise AmbiguousReferenceError(
        f'Knowledge page name "{name}" is ambiguous; use one of these refs: {", ".join(refs)}.',
        candidates=refs,
    )


def pages_named(snapshot: Snapshot, name: str, limit: int) -> list[Standing]:
    """Up to `limit` readable pages with exactly this name."""
    if "\0" in name:
        # No name holds one, and PostgreSQL takes no such question.
        return []
    rows = snapshot.all(_NAMED, name=name, limit=limit, **snapshot.filters)
    found: list[Standing] = [page_row(row) for row in rows]
    if len(found) < limit:
        for page in _declared(snapshot, name):
            found.append(page)
            if len(found) == limit:
                break
    return found


def _declared(snapshot: Snapshot, name: str) -> Iterator[Standing]:
    """Scope pages with this name, and template pages with it that are not written."""
    # Scopes of one pattern share their templates: each tree is looked through once.
    places: dict[TemplateTree, list[tuple[str, ...]]] = {}
    for scope in listed_addresses(snapshot):
        declared = declaration(snapshot, scope)
        if declared is None:
            continue
        if declared.name == name:
            yield from way_down(snapshot, scope, ()) or ()
        templates = declared.templates
        if templates not in places:
            places[templates] = [page.path for page in templates.pages if page.name == name]
        for path in places[templates]:
            way = way_down(snapshot, scope, path)
            if way is not None and isinstance(way[-1], DeclaredPage):
                yield way[-1]
