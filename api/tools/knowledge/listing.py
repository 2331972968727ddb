"""knowledge_list: the page tree under a starting point."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType, field

from api.answers import encode
from api.parameters import Cursor
from api.tools.knowledge.entries import PageName, page_name
from api.tools.references import page_to_read
from api.tools.tool import ReadArguments, Reading, Result, reads
from api.tools.walking import Stand, walk_of
from kbstore.errors import AmbiguousReferenceError, NotFoundError, StaleCursorError
from kbstore.limits import LIST_TOKENS_MAX, TOOL_TEXT_CHARACTERS_MAX
from kbstore.text import estimate_tokens
from projections.read.pages import labels
from projections.read.standing import place_of
from projections.read.tree import Entry, Tree
from projections.snapshot import Snapshot

ENTRIES_DEFAULT = 50
ENTRIES_MAX = 100
DEPTH_MAX = 3
LEFT_OUT_COUNTED_MAX = 1_000
"""How many entries past the end of an answer are counted."""

_READ_AT_ONCE = 50

Reference = Annotated[str, Meta(max_length=TOOL_TEXT_CHARACTERS_MAX)]


class KnowledgeListArguments(ReadArguments, frozen=True, kw_only=True):
    """Where to start, and how far to go."""

    from_: Annotated[
        Reference | None,
        Meta(
            description="Where to start: a page id, scope address, page path or exact name. "
            "Without it, the scopes the run can read are listed."
        ),
    ] = field(default=None, name="from")
    depth: Annotated[
        Annotated[int, Meta(ge=1, le=DEPTH_MAX)] | None,
        Meta(description="Levels below `from` to list, 1 by default."),
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=ENTRIES_MAX)] | None,
        Meta(description=f"Maximum entries, {ENTRIES_DEFAULT} by default."),
    ] = None
    descriptions: Annotated[bool, Meta(description="Add each page's description.")] = False
    cursor: Annotated[
        Cursor | None,
        Meta(
            description="The nextCursor of the result before. Pass the same `from`; depth and "
            "limit are kept."
        ),
    ] = None

    @property
    def resumed(self) -> str | None:
        return self.cursor


class ListEntry(PageName, frozen=True, kw_only=True):
    """A page or, where `scope` is true, a scope with the run's role there. `depth` is 1 directly
    below the start; `children` counts what the run can read below it."""

    depth: int
    children: int
    scope: bool | UnsetType = UNSET
    role: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


class KnowledgeListResult(Result, frozen=True, kw_only=True):
    """`more` says what was left out, and how to go on."""

    from_: PageName | UnsetType = field(default=UNSET, name="from")
    entries: tuple[ListEntry, ...]
    next_cursor: str | UnsetType = UNSET
    more: tuple[str, ...] | UnsetType = UNSET


@reads(
    "knowledge_list",
    "List the page tree",
    "List the page tree under a starting point, to see how a scope or a section is organised "
    "before searching or reading. Without `from` it lists the scopes this run can read, with "
    "its role in each.",
    arguments=KnowledgeListArguments,
    result=KnowledgeListResult,
    errors=(NotFoundError, AmbiguousReferenceError, StaleCursorError),
)
def knowledge_list(reading: Reading, given: KnowledgeListArguments) -> KnowledgeListResult:
    snapshot, tree = reading.snapshot, Tree(reading.snapshot)
    start = None if given.from_ is None else page_to_read(snapshot, given.from_)
    walk = walk_of(
        reading,
        "knowledge_list",
        str(start.page_id) if start else None,
        given.descriptions,
        cursor=given.cursor,
    )
    stand = walk.stand
    depth = given.depth or (stand.depth if stand else 1)
    limit = given.limit or (stand.limit if stand else ENTRIES_DEFAULT)
    found = tree.walk(start, depth, stand.after if stand else None)
    entries, rest = _fitting(snapshot, tree, found, limit, described=given.descriptions)
    more = _more(rest)
    cursor = walk.next(Stand(limit, depth, entries[-1][0])) if more else None
    return KnowledgeListResult(
        revision=reading.state.revision,
        from_=UNSET if start is None else page_name(snapshot, start),
        entries=tuple(entry for _, entry in entries),
        next_cursor=UNSET if cursor is None else cursor,
        more=(f'{more} Read on with cursor: "{cursor}".',) if more else UNSET,
    )


def _fitting(
    snapshot: Snapshot, tree: Tree, found: Iterator[Entry], limit: int, *, described: bool
) -> tuple[list[tuple[UUID, ListEntry]], Iterator[Entry]]:
    """The first entries, as many as the limit and the tokens of one result allow and at least
    one; and those after them."""
    shown: list[tuple[UUID, ListEntry]] = []
    tokens = 0
    while part := list(islice(found, min(_READ_AT_ONCE, limit - len(shown)))):
        counts = tree.counts(tuple(entry.page for entry in part))
        for index, entry in enumerate(part):
            view = _view(snapshot, entry, counts[entry.page.page_id], described=described)
            tokens += estimate_tokens(encode(view).decode())
            if shown and tokens > LIST_TOKENS_MAX:
                return shown, chain(part[index:], found)
            shown.append((entry.page.page_id, view))
    return shown, found


def _view(snapshot: Snapshot, entry: Entry, children: int, *, described: bool) -> ListEntry:
    page = entry.page
    name, description = labels(snapshot, page)
    role = snapshot.access.role(page.scope) if entry.is_scope else None
    return ListEntry(
        ref=place_of(snapshot, page).ref,
        name=name,
        depth=entry.depth,
        children=children,
        scope=True if entry.is_scope else UNSET,
        role=UNSET if role is None else role.word,
        description=description if described and description else UNSET,
    )


def _more(rest: Iterator[Entry]) -> str | None:
    """What is said of the entries that were left out; None for none."""
    count = sum(1 for _ in islice(rest, LEFT_OUT_COUNTED_MAX + 1))
    if count == 0:
        return None
    if count > LEFT_OUT_COUNTED_MAX:
        return f"entries: more than {LEFT_OUT_COUNTED_MAX} left out."
    return f"entries: {count} left out."
