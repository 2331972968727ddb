"""Readable pages that are called nearly what somebody asked for."""

from rapidfuzz import fuzz, process
from sqlalchemy import bindparam, select

from kbstore.store.statements import Statement
from kbstore.text.fold import fold
from projections.intervals import of_kb
from projections.read.declared import declaration, listed_addresses, way_down
from projections.read.filters import at_revision, page_is_readable
from projections.read.pages import key_of, labels
from projections.read.rows import PAGE_COLUMNS, PAGES_AND_VERSIONS, V, page_row
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


def close_matches(snapshot: Snapshot, given: str) -> tuple[str, ...]:
    """The refs of up to three readable pages whose name, or whose path, is close to a text;
    the closest first. Takes a few milliseconds for each thousand pages."""
    asked = fold(given[:_GIVEN_CHARACTERS_MAX])
    pages = _candidates(snapshot)
    names = {index: fold(labels(snapshot, page)[0]) for index, page in enumerate(pages)}
    paths = {
        index: fold(path) for index, page in enumerate(pages) if (path := key_of(page)) is not None
    }
    asked_key = asked.rpartition("/")[2].rpartition("#")[2]
    # The plain ratio costs a fortieth of the one that also looks at parts and at word order.
    shortlist = {
        match[2]: None
        for query, choices in ((asked, names), (asked_key, names), (asked_key, paths))
        for match in process.extract(query, choices, scorer=fuzz.ratio, limit=_SHORTLIST)
    }
    scored = sorted(
        (-_score(asked, asked_key, names[index], paths.get(index)), index) for index in shortlist
    )
    close = [index for score, index in scored if -score >= _SCORE_MIN]
    return tuple(place_of(snapshot, pages[index]).ref for index in close[:SHOWN_MAX])


def _score(asked: str, asked_key: str, name: str, key: str | None) -> float:
    best = max(fuzz.WRatio(asked, name), fuzz.WRatio(asked_key, name))
    return best if key is None else max(best, fuzz.WRatio(asked_key, key))


def _candidates(snapshot: Snapshot) -> list[Standing]:
    rows = snapshot.all(_NEWEST, limit=PAGES_COMPARED_MAX, **snapshot.filters)
    found: list[Standing] = [page_row(row) for row in rows]
    known = {page.page_id for page in found}
    for scope in listed_addresses(snapshot)[:PAGES_COMPARED_MAX]:
        declared = declaration(snapshot, scope)
        paths = () if declared is None else tuple(page.path for page in declared.templates.pages)
        for path in ((), *paths):
            way = way_down(snapshot, scope, path)
            if way is not None and way[-1].page_id not in known:
                found.append(way[-1])
                known.add(way[-1].page_id)
    return found
