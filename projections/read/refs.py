"""Refs: from what people and models write to the page it names.

    ref = page id | scope address [ "#" key *( "/" key ) ]

Right of "#" leading, trailing and doubled slashes are dropped. Keys compare folded.
"""

from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, select

from kbstore.domain.declared import KeyPath
from kbstore.errors import NotFoundError
from kbstore.ids import parse_uuid
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.store.statements import Statement
from projections.intervals import of_kb
from projections.link_targets import parse_ref
from projections.read.declared import declared_by_id, way_down
from projections.read.rows import children_before, last_row, readable_row, row_of
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.tables import activity, pages

_SHOWN_CHARACTERS_MAX = 400

_MERGED_INTO_NOW = Statement(
    select(pages.c.merged_into).where(of_kb(pages), pages.c.page_id == bindparam("page_id"))
)
_MERGED_INTO = Statement(
    select(activity.c.other_page_id)
    .where(
        of_kb(activity),
        activity.c.page_id == bindparam("page_id"),
        activity.c.topic == "page.merged_away",
        activity.c.revision <= bindparam("revision"),
    )
    .order_by(activity.c.position.desc())
    .limit(1)
)


def standing(snapshot: Snapshot, page_id: UUID) -> Standing:
    """The live page with this id, written or declared.

    Raises NotFoundError for one that is missing, hidden or gone; `details.mergedInto` is the
    id of the page that took over, where the caller may read it.
    """
    page = readable_row(snapshot, page_id) or declared_by_id(snapshot, page_id)
    if page is None:
        raise page_not_found(str(page_id), mergedInto=_successor(snapshot, page_id))
    return page


def standing_at(snapshot: Snapshot, ref: str) -> Standing:
    """The live page that a ref names.

    Raises NotFoundError as `standing` does; a place that a page was moved away from carries
    `details.movedTo`, its ref now. Text that can be no ref names nothing either.
    """
    page_id = parse_uuid(ref)
    if page_id is not None:
        return standing(snapshot, page_id)
    place = parse_ref(ref)
    if place is None:
        raise page_not_found(ref)
    way = way_down(snapshot, *place)
    if way is not None:
        return way[-1]
    page_id = _last_at(snapshot, *place)
    if page_id is None:
        raise page_not_found(ref)
    row = readable_row(snapshot, page_id)
    if row is not None:
        raise page_not_found(ref, movedTo=place_of(snapshot, row).ref)
    raise page_not_found(ref, mergedInto=_successor(snapshot, page_id))


def page_not_found(given: str, **details: str | None) -> NotFoundError:
    shown = given[:_SHOWN_CHARACTERS_MAX].encode("utf-8", "backslashreplace").decode()
    return NotFoundError(f'Knowledge page "{shown}" not found.', **details)


def _last_at(snapshot: Snapshot, scope: str, keys: KeyPath) -> UUID | None:
    """The page that last stood at a place as far as this reader may know, wherever it is now.

    Follows identities down: where `a/b` was asked and `a` has moved, `b` is still below it.
    None as soon as a level never was, or was not for this reader to see.
    """
    if len(keys) > NESTING_LEVELS_MAX:
        return None
    way = way_down(snapshot, scope, ())
    if way is None or row_of(snapshot, way[0].page_id) is None:
        return None
    here = way[0].page_id
    for key in keys:
        before = children_before(snapshot, here, key)
        below = next((each for each in before if _is_known(snapshot, each)), None)
        if below is None:
            return None
        here = below
    return here


def _is_known(snapshot: Snapshot, page_id: UUID) -> bool:
    """Whether the reader may know that the page was: he reads it, or the scope it ended in
    and the page that took over. A merge tells where to go on, a deletion tells nothing."""
    row = last_row(snapshot, page_id)
    if row is None:
        return False
    if row.to_revision > snapshot.revision:
        return readable_row(snapshot, page_id) is not None
    return _successor(snapshot, page_id) is not None


def _successor(snapshot: Snapshot, page_id: UUID) -> str | None:
    """The id of the live, readable page at the end of the merges that began with this one."""
    page = last_row(snapshot, page_id)
    if page is None or not (
        snapshot.access.is_auditor or {page.scope, page.scope_now} <= snapshot.access.readable
    ):
        return None
    last = _end_of_merges(snapshot, page_id)
    found = None if last is None else readable_row(snapshot, last)
    return None if found is None else str(found.page_id)


def _end_of_merges(snapshot: Snapshot, page_id: UUID) -> UUID | None:
    """The page that took over in the end, perhaps gone since; None where the page was not
    merged."""
    if snapshot.is_head:
        row = snapshot.one(_MERGED_INTO_NOW, page_id=page_id.bytes)
        into = None if row is None else cast(bytes | None, row[0])
        return None if into is None else UUID(bytes=into)
    last: UUID | None = None
    # A merged page never comes back, so each one is met once.
    while (row := snapshot.one(_MERGED_INTO, page_id=(last or page_id).bytes)) is not None:
        last = UUID(bytes=cast(bytes, row[0]))
    return last
