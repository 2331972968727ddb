"""knowledge_search: pages and notes by the words they contain."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from api.tools.knowledge.entries import PageName, page_name
from api.tools.knowledge.listing import Reference
from api.tools.knowledge.note_lists import NoteItem, note_item
from api.tools.references import is_page_path
from api.tools.tool import ReadArguments, Reading, Result, reads
from kbstore.access import parse_address
from kbstore.errors import NotFoundError, SearchTimeoutError, ValidationError
from kbstore.limits import HELD_SCOPES_MAX, TOOL_TEXT_CHARACTERS_MAX
from kbstore.text import clean_text, fold, split_lines
from kbstore.text.terms import read_query
from kbstore.text.windows import cut
from projections.read.bodies import body_text
from projections.read.declared import is_there
from projections.read.notes import note
from projections.read.pages import version_of
from projections.read.refs import page_not_found
from projections.read.rows import PageRow
from projections.read.search import NoteHit, PageHit, search
from projections.read.standing import Standing
from projections.snapshot import Snapshot
from projections.views import View

RESULTS_DEFAULT = 10
RESULTS_MAX = 50
LINE_TOKENS_MAX = 30
"""What is shown of the line that matches best."""

_LOOKED_AT_CHARACTERS_MAX = 100_000
"""How much of a body is looked through for that line."""


class KnowledgeSearchArguments(ReadArguments, frozen=True, kw_only=True):
    """What to look for, and where."""

    query: Annotated[
        str,
        Meta(
            max_length=TOOL_TEXT_CHARACTERS_MAX,
            description="Words to look for. A result contains at least one of them, whatever "
            "its case and as part of any word.",
        ),
    ]
    scope: Annotated[
        Annotated[tuple[Reference, ...], Meta(max_length=HELD_SCOPES_MAX)] | None,
        Meta(description="Only search pages in these scope addresses."),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=RESULTS_MAX, description="Maximum results.")] = (
        RESULTS_DEFAULT
    )


class FoundLine(View, frozen=True, kw_only=True):
    """The line of the body with the most words of the query; read on from there."""

    line: int
    text: str


class FoundPage(PageName, frozen=True, kw_only=True):
    """A page that was found, or the page of a note that was. `match` is absent where the body
    has none of the words."""

    version: int
    match: FoundLine | UnsetType = UNSET


class SearchResult(View, frozen=True, kw_only=True):
    """A result: a page or, of the `type` note, a note with its page."""

    type: Literal["page", "note"]
    page: FoundPage
    note: NoteItem | UnsetType = UNSET


class KnowledgeSearchResult(Result, frozen=True, kw_only=True):
    """The best results first; `total` counts all of them."""

    results: tuple[SearchResult, ...]
    total: int
    more: tuple[str, ...] | UnsetType = UNSET


@reads(
    "knowledge_search",
    "Search pages and notes",
    "Search the pages and notes this run can read. The query is split into words; a page or "
    "note is found when it contains at least one of them, and the more of them the better. "
    "Use key words, not questions.",
    arguments=KnowledgeSearchArguments,
    result=KnowledgeSearchResult,
    errors=(NotFoundError, SearchTimeoutError),
)
def knowledge_search(reading: Reading, given: KnowledgeSearchArguments) -> KnowledgeSearchResult:
    snapshot = reading.snapshot
    scopes = None if given.scope is None else _scopes(snapshot, given.scope)
    query = clean_text(given.query, "query")
    found = search(snapshot, query, scopes, given.limit)
    words = read_query(query).words
    more: tuple[str, ...] | UnsetType = UNSET
    if not found.hits:
        more = (
            f'results: no page or note contains any word of "{given.query}". Search again with '
            "different key words, or browse with knowledge_list.",
        )
    elif len(found.hits) == given.limit:
        more = (
            f"results: showing {len(found.hits)} of {found.total}. When none of them fits, "
            f"narrow the query or raise limit (up to {RESULTS_MAX}).",
        )
    return KnowledgeSearchResult(
        revision=reading.state.revision,
        results=tuple(_result(snapshot, hit, words) for hit in found.hits),
        total=found.total,
        more=more,
    )


def _scopes(snapshot: Snapshot, given: Sequence[str]) -> frozenset[str]:
    """The addresses of scopes that are there for the run; a page in their place is refused."""
    found = []
    for each in given:
        if is_page_path(each):
            raise ValidationError(
                f'knowledge_search: scope takes scope addresses, and "{each}" names a page. '
                "List what stands under it with knowledge_list.",
                field="scope",
                reason="notAScope",
            )
        address = parse_address(each, "scope")
        if not is_there(snapshot, address):
            raise page_not_found(each)
        found.append(address)
    return frozenset(found)


def _result(snapshot: Snapshot, hit: PageHit | NoteHit, words: Sequence[str]) -> SearchResult:
    name, version = page_name(snapshot, hit.page), version_of(hit.page)
    if isinstance(hit, NoteHit):
        page = FoundPage(ref=name.ref, name=name.name, version=version)
        view = note(snapshot, hit.note_id)
        return SearchResult(type="note", page=page, note=note_item(view, hit.page))
    line = _best_line(_body(snapshot, hit.page), words)
    return SearchResult(
        type="page",
        page=FoundPage(
            ref=name.ref,
            name=name.name,
            version=version,
            match=UNSET if line is None else line,
        ),
    )


def _body(snapshot: Snapshot, page: Standing) -> str | None:
    return body_text(snapshot, page.body_ref) if isinstance(page, PageRow) else page.body


def _best_line(body: str | None, words: Sequence[str]) -> FoundLine | None:
    """The first of the lines with the most words, around the first of them."""
    if body is None:
        return None
    best, most = None, 0
    for number, line in enumerate(split_lines(body[:_LOOKED_AT_CHARACTERS_MAX]), 1):
        folded = fold(line)
        count = sum(word in folded for word in words)
        if count > most:
            best, most = FoundLine(line=number, text=_shown(line, folded, words)), count
    return best


def _shown(line: str, folded: str, words: Sequence[str]) -> str:
    """A line, or what is about its first word. Folding may move a word a little."""
    first = min(folded.find(word) for word in words if word in folded)
    start = max(0, first - 2 * LINE_TOKENS_MAX) if first > 3 * LINE_TOKENS_MAX else 0
    part = cut(line[start:], LINE_TOKENS_MAX)
    before = "…" if start else ""
    return f"{before}{part}{'…' if start + len(part) < len(line) else ''}"
