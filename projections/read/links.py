"""Where unbound links lead for a reader: to the one page he can read that they name.

The rules are those by which a writer's links are bound (`kbstore.domain.linking`), applied to
a snapshot: declared pages that were never written can be led to as well.
"""

from uuid import UUID

from kbstore.domain.declared import KeyPath
from kbstore.ids import parse_uuid
from projections.link_targets import parse_ref, parse_relative
from projections.read.declared import declared_by_id, way_down
from projections.read.names import pages_named
from projections.read.rows import PageRow, child_row, readable_row
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot


def resolve_link(snapshot: Snapshot, source: PageRow, kind: str, target: str) -> UUID | None:
    """The page that a link on `source` (its text or a note's) names for the reader.

    `[[id]]`, `[[scope#key/key]]`, `[[Page Name]]` where one page has it; `c.md`, `../x`,
    `sub/y` from the page above the source, or from a scope page itself.
    """
    page = _wiki(snapshot, target) if kind == "wiki" else _relative(snapshot, source, target)
    return None if page is None else page.page_id


def _wiki(snapshot: Snapshot, target: str) -> Standing | None:
    page_id = parse_uuid(target)
    if page_id is not None:
        return _page(snapshot, page_id)
    place = parse_ref(target)
    way = way_down(snapshot, *place) if place is not None else None
    if way is not None:
        return way[-1]
    named = pages_named(snapshot, target, 2)
    return named[0] if len(named) == 1 else None


def _relative(snapshot: Snapshot, source: PageRow, target: str) -> Standing | None:
    path = parse_relative(target)
    if isinstance(path, UUID):
        return _page(snapshot, path)
    if path is None:
        return None
    folder = _above(snapshot, source, path.up if source.parent_id is None else path.up + 1)
    return None if folder is None else _down(snapshot, folder, path.keys)


def _page(snapshot: Snapshot, page_id: UUID) -> Standing | None:
    return readable_row(snapshot, page_id) or declared_by_id(snapshot, page_id)


def _above(snapshot: Snapshot, page: PageRow, levels: int) -> PageRow | None:
    here: PageRow | None = page
    for _ in range(levels):
        if here is None or here.parent_id is None:
            return None
        here = readable_row(snapshot, here.parent_id)
    return here


def _down(snapshot: Snapshot, folder: PageRow, keys: KeyPath) -> Standing | None:
    above = place_of(snapshot, folder).shown_keys
    if above is not None:
        way = way_down(snapshot, folder.scope, (*above, *keys))
        return way[-1] if way is not None else None
    here: PageRow | None = folder
    for key in keys:
        here = child_row(snapshot, here.page_id, key) if here is not None else None
    return here
