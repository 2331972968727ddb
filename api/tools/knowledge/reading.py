"""knowledge_read: a page, a part of its body, or the notes on it."""

from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType, field

from api.bodies import Body
from api.parameters import Cursor
from api.tools.knowledge.body import BodyPart, MatchEntry, OutlineEntry, Span, Text
from api.tools.knowledge.caps import read_cap
from api.tools.knowledge.entries import (
    PageEntry,
    ScopeEntry,
    page_entry,
    scope_entry,
    unreadable_scope,
)
from api.tools.knowledge.listing import Reference
from api.tools.knowledge.note_lists import (
    ITEMS_DEFAULT,
    NoteItem,
    NotePart,
    mentions_part,
    notes_part,
)
from api.tools.references import page_to_read
from api.tools.tool import ReadArguments, Reading, Result, reads
from kbstore.errors import (
    AmbiguousReferenceError,
    NotFoundError,
    StaleCursorError,
    ValidationError,
)
from kbstore.limits import (
    BODY_BYTES_MAX,
    MATCH_CONTEXT_LINES_MAX,
    MATCH_TERMS_MAX,
    TOOL_TEXT_CHARACTERS_MAX,
)
from kbstore.text import Position
from projections.read.bodies import body_text, outline
from projections.read.children import child_counts, children_of
from projections.read.declared import is_there, scope_page
from projections.read.pages import labels, times, version_of
from projections.read.rows import PageRow
from projections.read.standing import Standing, place_of
from projections.read.tree import Tree
from projections.snapshot import Snapshot
from projections.views import View

ITEMS_MAX = 50
CONTEXT_LINES_DEFAULT = 2

Term = Annotated[str, Meta(min_length=1, max_length=TOOL_TEXT_CHARACTERS_MAX)]


class SpotArgument(Body, frozen=True, kw_only=True):
    """Where to start: a line from 1, and in it a column from 0."""

    line: Annotated[int, Meta(ge=1, le=BODY_BYTES_MAX + 1)]
    col: Annotated[int, Meta(ge=0, le=BODY_BYTES_MAX)] | None = None


class KnowledgeReadArguments(ReadArguments, frozen=True, kw_only=True):
    """Which page, and which part of it."""

    page: Annotated[
        Reference | None,
        Meta(
            description="A page id, scope address, page path or exact name. Without it, the "
            "scopes the run holds are listed."
        ),
    ] = None
    outline: Annotated[
        bool, Meta(description="Return the headings, with level, line and size, not the body.")
    ] = False
    section: Annotated[
        Term | None,
        Meta(
            description="Return only the section under this heading, subsections included. A "
            "unique part of the title works."
        ),
    ] = None
    match: Annotated[
        Term | Annotated[tuple[Term, ...], Meta(min_length=1, max_length=MATCH_TERMS_MAX)] | None,
        Meta(
            description="Return only the lines that contain this term, or any of these, "
            "whatever their case, with context lines around each."
        ),
    ] = None
    context: Annotated[
        int,
        Meta(
            ge=0,
            le=MATCH_CONTEXT_LINES_MAX,
            description="With match: lines to show before and after each matching line.",
        ),
    ] = CONTEXT_LINES_DEFAULT
    from_: Annotated[
        SpotArgument | None,
        Meta(
            description="Where to start reading, or to go on: in the section, the matches, the "
            "outline, otherwise in the body. `more` gives it when a result is cut short."
        ),
    ] = field(default=None, name="from")
    notes: Annotated[
        bool, Meta(description="Return only the page's notes, however long, without the body.")
    ] = False
    mentioned_in: Annotated[
        bool,
        Meta(
            description="Return only the notes on other pages that mention this page, however "
            "long, without the body."
        ),
    ] = False
    cursor: Annotated[
        Cursor | None,
        Meta(description="The nextCursor of the result before: returns only the next notes."),
    ] = None
    mentioned_in_cursor: Annotated[
        Cursor | None,
        Meta(
            description="The mentionedInCursor of the result before: returns only the next "
            "notes that mention this page."
        ),
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=ITEMS_MAX)] | None,
        Meta(
            description="Maximum notes, child pages and mentioning notes, "
            f"{ITEMS_DEFAULT} by default."
        ),
    ] = None

    def check(self) -> None:
        options = self.body_options
        of_notes = self.reads_notes or self.reads_mentions
        if of_notes and (options or self.from_ is not None):
            raise ValidationError(
                "knowledge_read: read notes or mentionedIn on their own, without outline, "
                "section, match or from.",
                field="notes" if self.reads_notes else "mentionedIn",
                reason="exclusive",
            )
        if len(options) > 1:
            raise ValidationError(
                "knowledge_read: pass at most one of outline, section and match.",
                field=options[1],
                reason="exclusive",
            )
        if self.page is None and (of_notes or options or self.from_ is not None):
            raise ValidationError(
                "knowledge_read: name the page to read a part of.", field="page", reason="missing"
            )

    @property
    def resumed(self) -> str | None:
        return self.cursor or self.mentioned_in_cursor

    @property
    def reads_notes(self) -> bool:
        return self.notes or self.cursor is not None

    @property
    def reads_mentions(self) -> bool:
        return self.mentioned_in or self.mentioned_in_cursor is not None

    @property
    def body_options(self) -> list[str]:
        """Those of outline, section and match that were given."""
        given = (
            ("outline", self.outline),
            ("section", self.section is not None),
            ("match", self.match is not None),
        )
        return [name for name, is_given in given if is_given]


class ReadPage(View, frozen=True, kw_only=True):
    """A page, or the part of it that was asked for. `version` is what `expectedVersion` takes,
    `role` the run's on the page's scope. A body that fits is `body`; of a longer one `lines`
    are numbered, and `range` covers them where they can be written back."""

    id: UUID
    ref: str
    scope: str
    name: str
    description: str | UnsetType = UNSET
    version: int
    role: str
    updated_at: str
    updated_by: str
    body: str | None | UnsetType = UNSET
    lines: tuple[str, ...] | UnsetType = UNSET
    range: Span | UnsetType = UNSET
    line_count: int | UnsetType = UNSET
    outline: tuple[OutlineEntry, ...] | UnsetType = UNSET


class KnowledgeReadResult(Result, frozen=True, kw_only=True):
    """`more` names whatever was cut short, and how to get the rest."""

    page: ReadPage | UnsetType = UNSET
    matches: tuple[MatchEntry, ...] | UnsetType = UNSET
    notes: tuple[NoteItem, ...] | UnsetType = UNSET
    notes_left_out: int | UnsetType = UNSET
    next_cursor: str | UnsetType = UNSET
    children: tuple[PageEntry, ...] | UnsetType = UNSET
    child_scopes: tuple[ScopeEntry, ...] | UnsetType = UNSET
    mentioned_in: tuple[NoteItem, ...] | UnsetType = UNSET
    mentioned_in_left_out: int | UnsetType = UNSET
    mentioned_in_cursor: str | UnsetType = UNSET
    scopes: tuple[ScopeEntry, ...] | UnsetType = UNSET
    more: tuple[str, ...] | UnsetType = UNSET


@reads(
    "knowledge_read",
    "Read a page",
    "Read a page: its body, notes, child pages, and the notes on other pages that mention it. "
    "A scope address reads that scope's page. Without `page`, lists the scopes this run holds, "
    "with its role in each. A long page comes back at a glance first; read on by section, or "
    "from a line. Whatever is cut short is named in `more`.",
    arguments=KnowledgeReadArguments,
    result=KnowledgeReadResult,
    errors=(NotFoundError, AmbiguousReferenceError, StaleCursorError),
)
def knowledge_read(reading: Reading, given: KnowledgeReadArguments) -> KnowledgeReadResult:
    if given.page is None:
        return _held_scopes(reading)
    page = page_to_read(reading.snapshot, given.page)
    if given.reads_notes or given.reads_mentions:
        return _notes_alone(reading, page, given)
    body = _text(reading.snapshot, page)
    if given.body_options or given.from_ is not None:
        return _answer(reading, page, _part(body, given))
    return _whole(reading, page, body.whole(), given.limit)


def _part(body: Text, given: KnowledgeReadArguments) -> BodyPart:
    start = None if given.from_ is None else Position(given.from_.line, given.from_.col)
    if given.outline:
        return body.headings(start)
    if given.section is not None:
        return body.section(given.section, start)
    if given.match is not None:
        terms = (given.match,) if isinstance(given.match, str) else given.match
        return body.match(terms, given.context, start)
    assert start is not None
    return body.from_spot(start)


def _text(snapshot: Snapshot, page: Standing) -> Text:
    if isinstance(page, PageRow):
        body_ref, body = page.body_ref, body_text(snapshot, page.body_ref)
    else:
        body_ref, body = None, page.body
    return Text(body, () if body is None else outline(body_ref, body), read_cap(snapshot))


def _answer(reading: Reading, page: Standing, part: BodyPart) -> KnowledgeReadResult:
    return KnowledgeReadResult(
        revision=reading.state.revision,
        page=_view(reading.snapshot, page, part),
        matches=part.matches,
        more=part.more or UNSET,
    )


def _whole(
    reading: Reading, page: Standing, part: BodyPart, limit: int | None
) -> KnowledgeReadResult:
    snapshot, tree = reading.snapshot, Tree(reading.snapshot)
    notes = notes_part(reading, page, None, limit, is_whole=True)
    mentions = mentions_part(reading, page, None, limit, is_whole=True)
    count = limit or ITEMS_DEFAULT
    children = children_of(snapshot, page, None, count)
    counts = tree.counts(children.items)
    more = [*part.more, *notes.more, *mentions.more]
    if children.after is not None:
        total = child_counts(snapshot, (page,))[page.page_id]
        more.append(_list_them("children", count, total, place_of(snapshot, page).ref))
    scopes: tuple[ScopeEntry, ...] | UnsetType = UNSET
    if page.parent_id is None:
        below = tree.scopes_below(page.scope)
        counts_below = tree.counts(tuple(below[:count]))
        scopes = tuple(scope_entry(snapshot, each, counts_below) for each in below[:count])
        if len(below) > count:
            more.append(_list_them("childScopes", count, len(below), page.scope))
    return KnowledgeReadResult(
        revision=reading.state.revision,
        page=_view(snapshot, page, part),
        notes=notes.items,
        notes_left_out=notes.left_out,
        next_cursor=notes.cursor,
        children=tuple(page_entry(snapshot, child, counts) for child in children.items),
        child_scopes=scopes or UNSET,
        mentioned_in=mentions.items,
        mentioned_in_left_out=mentions.left_out,
        mentioned_in_cursor=mentions.cursor,
        more=tuple(more) or UNSET,
    )


def _list_them(what: str, shown: int, total: int, ref: str) -> str:
    return f'{what}: showing {shown} of {total}. List them with knowledge_list and from: "{ref}".'


def _notes_alone(
    reading: Reading, page: Standing, given: KnowledgeReadArguments
) -> KnowledgeReadResult:
    notes = mentions = NotePart()
    if given.reads_notes:
        notes = notes_part(reading, page, given.cursor, given.limit, is_whole=False)
    if given.reads_mentions:
        cursor = given.mentioned_in_cursor
        mentions = mentions_part(reading, page, cursor, given.limit, is_whole=False)
    return KnowledgeReadResult(
        revision=reading.state.revision,
        page=_view(reading.snapshot, page, BodyPart()),
        notes=notes.items,
        next_cursor=notes.cursor,
        mentioned_in=mentions.items,
        mentioned_in_cursor=mentions.cursor,
        more=(*notes.more, *mentions.more) or UNSET,
    )


def _held_scopes(reading: Reading) -> KnowledgeReadResult:
    """The scopes the run holds, also those that nothing was ever written to."""
    snapshot, tree = reading.snapshot, Tree(reading.snapshot)
    held = sorted(snapshot.access.caller.held)
    pages = {address: _scope_page(snapshot, address) for address in held}
    counts = tree.counts(tuple(page for page in pages.values() if page is not None))
    return KnowledgeReadResult(
        revision=reading.state.revision,
        scopes=tuple(
            unreadable_scope(address) if page is None else scope_entry(snapshot, page, counts)
            for address, page in pages.items()
        ),
    )


def _scope_page(snapshot: Snapshot, address: str) -> Standing | None:
    return scope_page(snapshot, address) if is_there(snapshot, address) else None


def _view(snapshot: Snapshot, page: Standing, part: BodyPart) -> ReadPage:
    name, description = labels(snapshot, page)
    _, updated_at, updated_by = times(snapshot, page)
    return ReadPage(
        id=page.page_id,
        ref=place_of(snapshot, page).ref,
        scope=page.scope,
        name=name,
        description=UNSET if description is None else description,
        version=version_of(page),
        role=snapshot.access.standing(page.scope),
        updated_at=updated_at,
        updated_by=updated_by,
        body=part.body,
        lines=part.lines,
        range=part.range,
        line_count=part.line_count,
        outline=part.outline,
    )
