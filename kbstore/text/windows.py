"""Windows: the part of a body that one read shows, within a cap of tokens (reference 2).

A body that fits is shown whole. Of a longer one a window shows numbered lines, `12│text`, and
what it covers is a range that can be written back.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from kbstore.text.lines import LineRange, Position
from kbstore.text.tokens import count_cjk, estimate_tokens, tokens_of

MARK = "│"
"""What parts the number of a line from its text: U+2502, without a space."""

_NUMBERED = re.compile(rf"\d+{MARK}")


class Window(Struct, frozen=True):
    """Numbered lines, the range they cover, and where to read on: None at the end.

    Lines are whole, unless a single one is too long for a read: then the window is a part of
    it, and its range has columns.
    """

    lines: tuple[str, ...]
    range: LineRange
    next: Position | None


class Tally:
    """Tokens of lines as they are added, counted together: a line alone would be rounded up."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._other = 0
        self._cjk = 0

    def takes(self, *lines: str, tokens: int = 0) -> bool:
        """Adds lines, each with its line end, and what `tokens` besides, unless that would be
        over the cap."""
        length = sum(map(len, lines)) + len(lines)
        cjk = sum(map(count_cjk, lines))
        if tokens_of(self._other + length - cjk, self._cjk + cjk + tokens) > self.cap:
            return False
        self._other += length - cjk
        # A CJK character is a token, whatever stands beside it.
        self._cjk += cjk + tokens
        return True

    @property
    def tokens(self) -> int:
        return tokens_of(self._other, self._cjk)

    @property
    def left(self) -> int:
        return self.cap - self.tokens


def fits(body: str, cap: int) -> bool:
    """Whether one read shows the whole body."""
    # A token is four characters at most.
    return len(body) <= 4 * cap and estimate_tokens(body) <= cap


def numbered(line: int, text: str) -> str:
    """A line as a window shows it."""
    return f"{line}{MARK}{text}"


def is_numbered(text: str) -> bool:
    """Whether a text still has the numbers of a read: each of its lines that is not empty."""
    lines = [line for line in text.split("\n") if line]
    return bool(lines) and all(map(_NUMBERED.match, lines))


def window(lines: Sequence[str], start: Position, last_line: int, cap: int) -> Window:
    """The lines of a body from `start` on, not past `last_line`, as many as the cap allows.

    `start` lies in the body. A line whose part from the column on is too long is cut.
    """
    tally = Tally(cap)
    shown: list[str] = []
    col = start.col or 0
    line = start.line
    while line <= last_line:
        text = numbered(line, lines[line - 1][col:])
        if not tally.takes(text):
            break
        shown.append(text)
        line, col = line + 1, 0
    if not shown:
        return _part_of_line(lines, start, last_line, cap)
    end = line - 1
    return Window(
        tuple(shown),
        # Past the beginning of its first line a range has to say where it begins.
        LineRange(Position(start.line, start.col or None), Position(end)),
        Position(line) if line <= last_line else None,
    )


def last_line_of_read(lines: Sequence[str], start_line: int, cap: int) -> int:
    """The last line that a read from a line on shows whole; the line itself where it is cut."""
    shown = window(lines, Position(start_line), len(lines), cap)
    return shown.range.end.line


def is_one_read(body: str, lines: Sequence[str], range: LineRange, cap: int) -> bool:
    """Whether a range is no more than one read from its first line shows."""
    if fits(body, cap):
        return True
    shown = window(lines, range.start, len(lines), cap).range.end
    end = range.end
    if shown.col is None:
        return end.line <= shown.line
    # The first line is too long for a read: only a part of it can have been shown.
    return end.line == shown.line and end.col is not None and end.col <= shown.col


def cut(text: str, tokens: int) -> str:
    """The beginning of a text that is no more than some tokens."""
    end = min(len(text), 4 * tokens)
    while end and estimate_tokens(text[:end]) > tokens:
        # Each CJK character is a token; the rest is four characters each.
        end = min(end - 1, max(0, end - (estimate_tokens(text[:end]) - tokens)))
    return text[:end]


def _part_of_line(lines: Sequence[str], start: Position, last_line: int, cap: int) -> Window:
    whole = lines[start.line - 1]
    col = start.col or 0
    # The number and the mark take a few tokens, which a cap always has room for.
    part = cut(whole[col:], max(1, cap - estimate_tokens(numbered(start.line, "")) - 1))
    end = col + len(part)
    if end < len(whole):
        following: Position | None = Position(start.line, end)
    else:
        following = Position(start.line + 1) if start.line < last_line else None
    return Window(
        (numbered(start.line, part),),
        LineRange(Position(start.line, col), Position(start.line, end)),
        following,
    )
