"""Readable pages that are called nearly what somebody asked for."""

from msgspec import Struct
from rapidfuzz import fuzz, process
from sqlalchemy import bindparam, select

from kbstore.domain.declared import DeclaredPage, KeyPath
from kbstore.store.statements import Statement
from kbstore.text.fold import fold
from projections.intervals import of_kb
from projections.read.declared import declaration, listed_addresses, way_down
from projections.read.filters import at_revision, page_is_readable
from projections.read.pages import labels
from projections.read.rows import PAGE_COLUMNS, PAGES_AND_VERSIONS, PageRow, V, page_row
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.tables import page_versions

SHOWN_MAX = 3
PAGES_COMPARED_MAX = 20_000
"""The newest pages; in a larger knowledge base an older one is not suggested."""

_SCORE_MIN = 60.0
_SHORTLIST = 50
_GIVEN_CHARACTERS_MAX = 300

_NEWEST = Statement(
    select(*PAGE_COLUMNS)
    .select_from(PAGES_AND_VERSIONS)
    .where(of_kb(page_versions), at_revision(page_versions), page_is_readable(V.scope))
    .order_by(V.page_id.desc())
    .limit(bindparam("limit"))
)


class _Candidate(Struct, frozen=True):
    """What a page is compared by, and the page; of a declared one the place to look for it."""

    name: str
    key: str | None
    found: Standing | tuple[str, KeyPath]


def close_matches(snapshot: Snapshot, given: str) -> tuple[str, ...]:
    """The refs of up to three readable pages whose name, or whose path, is close to a text;
    the closest first. Takes a few milliseconds for each thousand pages."""
    asked = fold(given[:_GIVEN_CHARACTERS_MAX])
    candidates = _candidates(snapshot)
    names = {index: each.name for index, each in enumerate(candidates)}
    keys = {index: each.key for index, each in enumerate(candidates) if each.key is not None}
    asked_key = asked.rpartition("/")[2].rpartition("#")[2]
    # The plain ratio costs a fortieth of the one that also looks at parts and at word order.
    shortlist = {
        match[2]: None
        for query, choices in ((asked, names), (asked_key, names), (asked_key, keys))
        for match in process.extract(query, choices, scorer=fuzz.ratio, limit=_SHORTLIST)
    }
    scored = sorted(
        (-_score(asked, asked_key, names[index], keys.get(index)), index) for index in shortlist
    )
    refs: dict[str, None] = {}
    for score, index in scored:
        page = _page(snapshot, candidates[index]) if -score >= _SCORE_MIN else None
        if page is not None:
            refs[place_of(snapshot, page).ref] = None
        if len(refs) == SHOWN_MAX:
            break
    return tuple(refs)


def _score(asked: str, asked_key: str, name: str, key: str | None) -> float:
    best = max(fuzz.WRatio(asked, name), fuzz.WRatio(asked_key, name))
    return best if key is None else max(best, fuzz.WRatio(asked_key, key))


def _candidates(snapshot: Snapshot) -> list[_Candidate]:
    rows = snapshot.all(_NEWEST, limit=PAGES_COMPARED_MAX, **snapshot.filters)
    found = [_written(snapshot, page_row(row)) for row in rows]
    for scope in listed_addresses(snapshot)[:PAGES_COMPARED_MAX]:
        declared = declaration(snapshot, scope)
        if declared is None:
            continue
        found.append(_Candidate(fold(declared.name), None, (scope, ())))
        found += [
            _Candidate(fold(page.name), fold(page.path[-1]), (scope, page.path))
            for page in declared.templates.pages
        ]
    return found


def _written(snapshot: Snapshot, page: PageRow) -> _Candidate:
    key = None if page.key is None else fold(page.key)
    return _Candidate(fold(labels(snapshot, page)[0]), key, page)


def _page(snapshot: Snapshot, candidate: _Candidate) -> Standing | None:
    """The page; of a declared place only what is not written there, which has another name and
    is a candidate by itself."""
    if not isinstance(candidate.found, tuple):
        return candidate.found
    way = way_down(snapshot, *candidate.found)
    page = None if way is None else way[-1]
    return page if isinstance(page, DeclaredPage) else None
