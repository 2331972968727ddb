"""Lines that hold a term, with the lines around them, as `grep -C` shows them (reference 2)."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from kbstore.text.lines import LineRange, Position
from kbstore.text.windows import Tally, cut, numbered

_RANGE_TOKENS = 15
"""What the range of a group costs."""

_BEFORE_CHARACTERS = 40
"""What is shown before a term in a line that is too long for one read."""


class Match(Struct, frozen=True):
    """Neighbouring lines of which at least one holds a term; their range has columns where a
    single line was too long for a read."""

    range: LineRange
    lines: tuple[str, ...]


class Matches(Struct, frozen=True):
    """What one read shows, and where it goes on: None when that was all."""

    found: tuple[Match, ...]
    next: Position | None


def find_lines(
    lines: Sequence[str], terms: Sequence[str], context: int, start: Position, cap: int
) -> Matches:
    """The lines from `start` on that hold one of the terms, whatever their case, with `context`
    lines before and after; as many as the cap allows, and some of the first in any case."""
    pattern = re.compile("|".join(re.escape(term) for term in terms), re.IGNORECASE)
    tally = Tally(cap)
    found: list[Match] = []
    for first, last, hit in _groups(lines, pattern, context, start):
        group = [numbered(line, lines[line - 1]) for line in range(first, last + 1)]
        if not tally.takes(*group, tokens=_RANGE_TOKENS):
            if found:
                return Matches(tuple(found), Position(hit))
            return _first_of(lines, pattern, start, first, last, cap)
        found.append(Match(LineRange(Position(first), Position(last)), tuple(group)))
    return Matches(tuple(found), None)


def _groups(
    lines: Sequence[str], pattern: re.Pattern[str], context: int, start: Position
) -> Iterator[tuple[int, int, int]]:
    """First and last line of each group of lines that touch, and its first line with a term."""
    group: tuple[int, int, int] | None = None
    for line in range(start.line, len(lines) + 1):
        text = lines[line - 1]
        if not pattern.search(text, (start.col or 0) if line == start.line else 0):
            continue
        first, last = max(start.line, line - context), min(len(lines), line + context)
        if group is not None and first <= group[1] + 1:
            group = group[0], last, group[2]
        else:
            if group is not None:
                yield group
            group = first, last, line
    if group is not None:
        yield group


def _first_of(
    lines: Sequence[str],
    pattern: re.Pattern[str],
    start: Position,
    first: int,
    last: int,
    cap: int,
) -> Matches:
    """As much of a group as a read shows: whole lines, or a part of the line with the term."""
    tally = Tally(cap)
    shown: list[str] = []
    line = first
    while line <= last and tally.takes(numbered(line, lines[line - 1])):
        shown.append(numbered(line, lines[line - 1]))
        line += 1
    if any(map(pattern.search, lines[first - 1 : line - 1])):
        match = Match(LineRange(Position(first), Position(line - 1)), tuple(shown))
        return Matches((match,), _next_hit(lines, pattern, Position(line)))
    col = (start.col or 0) if first == start.line else 0
    while line <= last:
        hit = pattern.search(lines[line - 1], col if line == start.line else 0)
        if hit is not None:
            return _part(lines, pattern, Position(line, hit.start()), cap)
        line += 1
    raise AssertionError("a group has a line with a term")


def _part(lines: Sequence[str], pattern: re.Pattern[str], hit: Position, cap: int) -> Matches:
    """The part of a long line around a term."""
    text = lines[hit.line - 1]
    begin = max(0, (hit.col or 0) - _BEFORE_CHARACTERS)
    part = cut(text[begin:], max(1, cap - _BEFORE_CHARACTERS // 4))
    end = begin + len(part)
    match = Match(
        LineRange(Position(hit.line, begin), Position(hit.line, end)),
        (numbered(hit.line, part),),
    )
    return Matches((match,), _next_hit(lines, pattern, Position(hit.line, end)))


def _next_hit(lines: Sequence[str], pattern: re.Pattern[str], start: Position) -> Position | None:
    """Where the next term stands; the column only within the line that was being shown."""
    col = start.col or 0
    for line in range(start.line, len(lines) + 1):
        hit = pattern.search(lines[line - 1], col)
        if hit is not None:
            return Position(line, hit.start() if col else None)
        col = 0
    return None
