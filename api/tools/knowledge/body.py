"""Reading a body: whole, at a glance, or a part of it, within the cap of one read."""

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from kbstore.errors import NotFoundError, ValidationError
from kbstore.limits import OUTLINE_TOKENS_MAX
from kbstore.text import (
    Heading,
    LineRange,
    Position,
    clean_text,
    estimate_tokens,
    fold,
    split_lines,
)
from kbstore.text.finding import find_lines
from kbstore.text.glance import glance
from kbstore.text.windows import Window, fits, window
from projections.views import View

CANDIDATES_SHOWN_MAX = 10


class Spot(View, frozen=True, kw_only=True, omit_defaults=True):
    """A line, counted from 1; `col`, from 0 in code points, only inside a line too long for one
    read."""

    line: int
    col: int | UnsetType = UNSET


class Span(View, frozen=True, kw_only=True):
    """The lines from `start` to `end`, both included; `end.col` is the first column outside."""

    start: Spot
    end: Spot


class OutlineEntry(View, frozen=True, kw_only=True):
    """A heading; `tokens` is the size of its section, subsections included."""

    level: int
    title: str
    line: int
    tokens: int


class MatchEntry(View, frozen=True, kw_only=True):
    """Lines that match with those around them, and the range they are."""

    range: Span
    lines: tuple[str, ...]


class BodyPart(Struct, frozen=True, kw_only=True):
    """What a read shows of a body, and what it says of the rest."""

    body: str | None | UnsetType = UNSET
    lines: tuple[str, ...] | UnsetType = UNSET
    range: Span | UnsetType = UNSET
    line_count: int | UnsetType = UNSET
    outline: tuple[OutlineEntry, ...] | UnsetType = UNSET
    matches: tuple[MatchEntry, ...] | UnsetType = UNSET
    more: tuple[str, ...] = ()


class Text:
    """A body with its lines and its headings; one that there is not has no lines."""

    def __init__(self, body: str | None, outline: Sequence[Heading], cap: int) -> None:
        self.body = body
        self.lines = [] if body is None else split_lines(body)
        self.outline = outline
        self.cap = cap

    # --- a plain read ---------------------------------------------------------------------

    def whole(self) -> BodyPart:
        """The body where it fits, else every heading and the first lines under each; where the
        headings do not fit either, the first lines."""
        if self.body is None or fits(self.body, self.cap):
            return BodyPart(body=self.body)
        shown = glance(self.lines, self.outline, self.cap)
        if shown is None:
            return self._first_lines()
        count = len(self.lines)
        return BodyPart(
            lines=shown,
            line_count=count,
            more=(
                f"body: showing the headings and the first lines under each, of {count} lines. "
                "Read a section with section, or read on with from: {line}.",
            ),
        )

    def _first_lines(self) -> BodyPart:
        first = self.from_spot(Position(1))
        reached = first.range.end.line if isinstance(first.range, Span) else 0
        left = [heading for heading in self.outline if heading.line > reached]
        if not left:
            return first
        entries, following = _entries(left, OUTLINE_TOKENS_MAX)
        more = first.more
        if following is not None:
            more = (*more, _more_headings(len(left) - len(entries), following))
        return BodyPart(
            lines=first.lines,
            range=first.range,
            line_count=first.line_count,
            outline=entries,
            more=more,
        )

    # --- parts ----------------------------------------------------------------------------

    def from_spot(self, start: Position) -> BodyPart:
        """The lines from a place on."""
        self._check_spot(start)
        return self._window(start, len(self.lines), "body", "")

    def section(self, title: str, start: Position | None) -> BodyPart:
        """The section under a heading, subsections included, or the rest of it."""
        heading = self._heading(title)
        if start is not None:
            self._check_spot(start)
            if not heading.line <= start.line <= heading.end_line:
                raise ValidationError(
                    f"knowledge_read: line {start.line} is outside the section "
                    f'"{heading.text}", which has lines {heading.line}–{heading.end_line}.',
                    field="from",
                    reason="outsideSection",
                )
        at = start or Position(heading.line)
        return self._window(at, heading.end_line, "section", "the same section and ")

    def headings(self, start: Position | None) -> BodyPart:
        """The outline, from a line on."""
        first = 1 if start is None else start.line
        left = [heading for heading in self.outline if heading.line >= first]
        entries, following = _entries(left, self.cap)
        more: tuple[str, ...] = ()
        if following is not None:
            more = (_more_headings(len(left) - len(entries), following),)
        return BodyPart(line_count=len(self.lines), outline=entries, more=more)

    def match(self, terms: Sequence[str], context: int, start: Position | None) -> BodyPart:
        """The lines that hold a term; what no body can hold is refused."""
        terms = [clean_text(term, "match") for term in terms]
        if start is not None:
            self._check_spot(start)
        found = find_lines(self.lines, terms, context, start or Position(1), self.cap)
        more: tuple[str, ...] = ()
        if found.next is not None:
            more = (
                f"match: stopped at about {self.cap:,} tokens; more matches from line "
                f"{found.next.line}. Read again with the same match and "
                f"from: {_shown(found.next)}.",
            )
        elif not found.found:
            named = ", ".join(f'"{term}"' for term in terms)
            more = (f"match: no line contains {named}.",)
        return BodyPart(
            line_count=len(self.lines),
            matches=tuple(
                MatchEntry(range=_span(match.range), lines=match.lines) for match in found.found
            ),
            more=more,
        )

    def _window(self, start: Position, last: int, what: str, with_: str) -> BodyPart:
        shown = window(self.lines, start, last, self.cap)
        more: tuple[str, ...] = ()
        if shown.next is not None:
            more = (
                f"{what}: showing {_lines_of(shown)} of {len(self.lines)}. "
                f"Read on with {with_}from: {_shown(shown.next)}.",
            )
        return BodyPart(
            lines=shown.lines,
            range=_span(shown.range),
            line_count=len(self.lines),
            more=more,
        )

    def _check_spot(self, spot: Position) -> None:
        count = len(self.lines)
        if spot.line > count:
            has = f"which has {count} lines" if count else "which is empty"
            raise ValidationError(
                f"knowledge_read: line {spot.line} is past the end of the body, {has}.",
                field="from",
                reason="pastEnd",
                lineCount=count,
            )
        length = len(self.lines[spot.line - 1])
        if (spot.col or 0) > length:
            raise ValidationError(
                f"knowledge_read: column {spot.col} is past the end of line {spot.line}, which "
                f"has {length} characters.",
                field="from",
                reason="pastEnd",
                lineCount=count,
            )

    def _heading(self, title: str) -> Heading:
        """The heading with this title or anchor, else the one that has it as a part."""
        asked = fold(title).strip()
        for fit in (
            [heading for heading in self.outline if fold(heading.text).strip() == asked],
            [heading for heading in self.outline if heading.anchor == title.strip().lstrip("#")],
            [heading for heading in self.outline if asked and asked in fold(heading.text)],
        ):
            if len(fit) == 1:
                return fit[0]
            if fit:
                raise ValidationError(
                    f'knowledge_read: section "{title}" matches several headings: '
                    f"{_named(fit)}. Pass one of these titles or anchors.",
                    field="section",
                    reason="ambiguous",
                    candidates=[heading.anchor for heading in fit[:CANDIDATES_SHOWN_MAX]],
                )
        known = f" Its headings: {_named(self.outline)}." if self.outline else " It has none."
        raise NotFoundError(
            f'knowledge_read: no heading of the page matches section "{title}".{known}',
            field="section",
            candidates=[heading.anchor for heading in self.outline[:CANDIDATES_SHOWN_MAX]],
        )


def _entries(
    headings: Sequence[Heading], cap: int
) -> tuple[tuple[OutlineEntry, ...], Heading | None]:
    """The first headings, as many as some tokens allow and at least one, and the next one."""
    shown: list[OutlineEntry] = []
    tokens = 0
    for heading in headings:
        tokens += estimate_tokens(heading.text) + 8  # the other fields of an entry
        if shown and tokens > cap:
            return tuple(shown), heading
        shown.append(
            OutlineEntry(
                level=heading.level,
                title=heading.text,
                line=heading.line,
                tokens=heading.tokens,
            )
        )
    return tuple(shown), None


def _more_headings(count: int, following: Heading) -> str:
    return (
        f"outline: {count} more headings. Read them with outline: true and "
        f'from: {{"line":{following.line}}}.'
    )


def _named(headings: Sequence[Heading]) -> str:
    shown = ", ".join(
        f'"{heading.text}" (line {heading.line}, #{heading.anchor})'
        for heading in headings[:CANDIDATES_SHOWN_MAX]
    )
    left = len(headings) - CANDIDATES_SHOWN_MAX
    return f"{shown} and {left} more" if left > 0 else shown


def _lines_of(shown: Window) -> str:
    start, end = shown.range.start, shown.range.end
    if end.col is not None:
        return f"characters {start.col}–{end.col} of line {start.line}"
    return f"line {start.line}" if start.line == end.line else f"lines {start.line}–{end.line}"


def _shown(spot: Position) -> str:
    col = "" if spot.col is None else f',"col":{spot.col}'
    return f'{{"line":{spot.line}{col}}}'


def _span(range: LineRange) -> Span:
    return Span(start=_spot(range.start), end=_spot(range.end))


def _spot(position: Position) -> Spot:
    return Spot(line=position.line, col=UNSET if position.col is None else position.col)
