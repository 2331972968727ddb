"""The links that lead to a page, by the text they stand in and their place in it.

A bound link follows the page's id. An unbound one is resolved for the reader: it counts when
what it names is, among the pages he can read, this page alone. Both ends are under his
access, and a link in a note shows where the note shows.
"""

from typing import cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import ColumnElement, Select, and_, bindparam, or_, select, tuple_

from kbstore.store.statements import Row, Statement
from projections.intervals import of_kb
from projections.link_targets import FOLDER, fold_last_key, fold_wiki
from projections.read.filters import at_revision, page_is_readable
from projections.read.links import resolve_link
from projections.read.notes import note_is_readable, readable_stamps
from projections.read.pages import key_of, labels
from projections.read.refs import standing
from projections.read.rows import PAGE_COLUMNS, PAGES_AND_VERSIONS, PageRow, V, page_row
from projections.read.slices import Slice
from projections.read.standing import Standing, place_of
from projections.snapshot import Parameters, Snapshot
from projections.tables import links, note_stamps, page_versions
from projections.views import BacklinkView

UNBOUND_LOOKED_AT_MAX = 10_000
"""How many unbound links that could name a page are resolved for one part of a list: more than
one text has."""

LinkKey = tuple[UUID, int]
_ORDINAL_MAX = 2**31 - 1
_FIRST: LinkKey = (UUID(int=0), -1)

_L = links.c


def _links(condition: ColumnElement[bool]) -> Select[tuple[object, ...]]:
    return (
        select(*PAGE_COLUMNS, _L.source_note, _L.source_id, _L.ordinal, _L.kind, _L.target, _L.line)
        .select_from(links)
        .join(
            PAGES_AND_VERSIONS,
            and_(V.kb_id == _L.kb_id, V.generation == _L.generation, V.page_id == _L.source_page),
        )
        .where(
            of_kb(links),
            at_revision(links),
            at_revision(page_versions),
            page_is_readable(V.scope),
            or_(_L.source_note.is_(None), note_is_readable(_L.source_note)),
            tuple_(_L.source_id, _L.ordinal) > tuple_(bindparam("source_id"), bindparam("ordinal")),
            condition,
        )
        .order_by(_L.source_id, _L.ordinal)
        .limit(bindparam("limit"))
    )


_LEADS_TO_IT = _L.target_page == bindparam("target_page")
_MAY_NAME_IT = and_(
    _L.target_page.is_(None),
    or_(
        and_(_L.kind == "wiki", _L.target_fold.in_(bindparam("names", expanding=True))),
        and_(_L.kind == "relative", _L.target_fold.in_(bindparam("ends", expanding=True))),
    ),
)


def _stamps(condition: ColumnElement[bool]) -> Statement:
    """The stamps of the notes that some links stand in."""
    return Statement(
        select(note_stamps.c.scope)
        .distinct()
        .select_from(links)
        .join(
            note_stamps,
            and_(
                note_stamps.c.kb_id == _L.kb_id,
                note_stamps.c.generation == _L.generation,
                note_stamps.c.note_id == _L.source_note,
            ),
        )
        .where(of_kb(links), at_revision(links), condition)
    )


_BOUND = Statement(_links(_LEADS_TO_IT))
_BOUND_STAMPS = _stamps(_LEADS_TO_IT)
# A relative path does not leave the scope it stands in.
_MAY_REACH_IT = or_(
    _L.kind == "wiki", V.scope == bindparam("scope"), _L.target_fold == bindparam("own_id")
)
_UNBOUND = Statement(_links(and_(_MAY_NAME_IT, _MAY_REACH_IT)))
_IN_NOTE_ELSEWHERE = and_(_L.source_note.is_not(None), _L.source_page != bindparam("page_id"))
_BOUND_NOTES = Statement(_links(and_(_LEADS_TO_IT, _IN_NOTE_ELSEWHERE)))
_UNBOUND_NOTES = Statement(_links(and_(_MAY_NAME_IT, _MAY_REACH_IT, _IN_NOTE_ELSEWHERE)))
_UNBOUND_STAMPS = _stamps(_MAY_NAME_IT)


class _Link(Struct, frozen=True):
    source: PageRow
    note_id: UUID | None
    key: LinkKey
    kind: str
    target: str
    line: int


def backlinks(
    snapshot: Snapshot, page_id: UUID, after: LinkKey | None, limit: int
) -> Slice[BacklinkView, LinkKey]:
    """The readable links to a page, from the one after `after` on, at most `limit`.

    A key is the id of the page or note the link stands in and the link's number there. Of very
    many unbound links that could name the page a call looks at some, so it may give fewer and
    still go on. Raises NotFoundError as `standing` does.
    """
    page = standing(snapshot, page_id)
    start = after or _FIRST
    unbound, reached = _unbound(snapshot, _UNBOUND, page, start)
    found = _within(unbound + _bound(snapshot, _BOUND, page_id, start, limit + 1), reached)
    if len(found) > limit:
        found, reached = found[:limit], found[limit - 1].key
    return Slice(items=tuple(_view(snapshot, link) for link in found), after=reached)


def mentioning_notes(
    snapshot: Snapshot, page: Standing, after: UUID | None, limit: int
) -> Slice[UUID, UUID]:
    """The readable notes on other pages that have a link to this one, oldest first; like
    `backlinks` it may give fewer and still go on."""
    start = _FIRST if after is None else (after, _ORDINAL_MAX)
    unbound, reached = _unbound(snapshot, _UNBOUND_NOTES, page, start)
    bound: list[_Link] = []
    while len({link.key[0] for link in bound}) <= limit:
        # A note may have several links to the page: what comes after it is asked for again.
        part = _bound(snapshot, _BOUND_NOTES, page.page_id, start, limit + 1)
        bound += part
        if len(part) <= limit:
            break
        start = (part[-1].key[0], _ORDINAL_MAX)
    end = None
    if reached is not None:
        # The note that was reached may have links that were not looked at: it comes next.
        end = UUID(int=reached[0].int - 1)
        reached = end, _ORDINAL_MAX
    notes = list(dict.fromkeys(link.key[0] for link in _within(unbound + bound, reached)))
    if len(notes) > limit:
        notes, end = notes[:limit], notes[limit - 1]
    return Slice(items=tuple(notes), after=end)


def _within(found: list[_Link], reached: LinkKey | None) -> list[_Link]:
    """The links in their order, as far as all kinds of them were looked at."""
    found.sort(key=lambda link: link.key)
    return [link for link in found if reached is None or link.key <= reached]


def _bound(
    snapshot: Snapshot, statement: Statement, page_id: UUID, start: LinkKey, limit: int
) -> list[_Link]:
    values: Parameters = {"target_page": page_id.bytes, "page_id": page_id.bytes}
    rows = snapshot.all(
        statement,
        **values,
        **_from(start, limit),
        **snapshot.filters,
        stamps=readable_stamps(snapshot, snapshot.all(_BOUND_STAMPS, **values)),
    )
    return [_link(row) for row in rows]


def _unbound(
    snapshot: Snapshot, statement: Statement, page: Standing, start: LinkKey
) -> tuple[list[_Link], LinkKey | None]:
    """The unbound links that lead to a page, of the first that could; and the last of those
    looked at, None where those were all."""
    name, _ = labels(snapshot, page)
    ref = place_of(snapshot, page).ref
    key = key_of(page)
    own_id = str(page.page_id)
    values: Parameters = {
        "names": [fold_wiki(name), fold_wiki(ref), own_id],
        "ends": [FOLDER if key is None else fold_last_key(key), FOLDER, own_id],
    }
    rows = snapshot.all(
        statement,
        **values,
        **_from(start, UNBOUND_LOOKED_AT_MAX),
        **snapshot.filters,
        scope=page.scope,
        own_id=own_id,
        page_id=page.page_id.bytes,
        stamps=readable_stamps(snapshot, snapshot.all(_UNBOUND_STAMPS, **values)),
    )
    resolved: dict[str, UUID | None] = {}
    found = []
    for row in rows:
        link = _link(row)
        if link.kind == "wiki":
            # What a wiki link names does not depend on where it stands.
            if link.target not in resolved:
                resolved[link.target] = resolve_link(snapshot, link.source, "wiki", link.target)
            leads_to = resolved[link.target]
        else:
            leads_to = resolve_link(snapshot, link.source, link.kind, link.target)
        if leads_to == page.page_id:
            found.append(link)
    is_whole = len(rows) < UNBOUND_LOOKED_AT_MAX
    return found, None if is_whole else _link(rows[-1]).key


def _from(start: LinkKey, limit: int) -> Parameters:
    return {"source_id": start[0].bytes, "ordinal": start[1], "limit": limit}


def _link(row: Row) -> _Link:
    note, source_id, ordinal, kind, target, line = cast(
        tuple[bytes | None, bytes, int, str, str, int], row[len(PAGE_COLUMNS) :]
    )
    return _Link(
        source=page_row(row),
        note_id=None if note is None else UUID(bytes=note),
        key=(UUID(bytes=source_id), ordinal),
        kind=kind,
        target=target,
        line=line,
    )


def _view(snapshot: Snapshot, link: _Link) -> BacklinkView:
    name, _ = labels(snapshot, link.source)
    return BacklinkView(
        page=link.source.page_id,
        ref=place_of(snapshot, link.source).ref,
        name=name,
        note=link.note_id,
        kind=link.kind,
        target=link.target,
        line=link.line,
    )
