"""Lines and ranges of lines: `body.split("\\n")`, and nothing else ends a line."""

from msgspec import Struct

from kbstore.errors import ValidationError


class Position(Struct, frozen=True, omit_defaults=True):
    """A place in a body: `line` counts from 1, `col` from 0, in code points."""

    line: int
    col: int | None = None


class LineRange(Struct, frozen=True):
    """The lines from `start` to `end`, both included (reference 2, `range`).

    Without columns the lines are whole. `start.col` is the first code point of the range,
    `end.col` the first one after it; only a line too long for one read has them.
    """

    start: Position
    end: Position

    @property
    def whole_lines(self) -> bool:
        """True when the range begins where a line begins and has no end column."""
        return not self.start.col and self.end.col is None


def split_lines(body: str) -> list[str]:
    """The lines of a body, without line ends; a final line end gives an empty last line."""
    return body.split("\n")


def count_lines(body: str) -> int:
    """`len(split_lines(body))`, without the list."""
    return body.count("\n") + 1


def check_range(body_lines: list[str], range: LineRange) -> None:
    """Raises ValidationError, field `range`, unless the range lies in the body.

    `reason` is malformed (a line below 1, a column below 0), startAfterEnd or pastEnd.
    """
    start, end = range.start, range.end
    start_col = start.col or 0
    if start.line < 1 or end.line < 1 or start_col < 0 or (end.col is not None and end.col < 0):
        raise _refusal("a range counts lines from 1 and columns from 0", "malformed")
    backwards = end.col is not None and start.line == end.line and start_col > end.col
    if start.line > end.line or backwards:
        raise _refusal("the range starts after it ends", "startAfterEnd")
    line_count = len(body_lines)
    if end.line > line_count:
        raise _refusal(
            f"the range runs past the end of the body, which has {line_count} lines",
            "pastEnd",
            line_count,
        )
    for position in (start, end):
        length = len(body_lines[position.line - 1])
        if (position.col or 0) > length:
            raise _refusal(
                f"the range runs past the end of line {position.line}, "
                f"which has {length} characters",
                "pastEnd",
                line_count,
            )


def text_of_range(body: str, range: LineRange) -> str:
    """The text a range covers, without the line end after it; raises as `check_range`."""
    lines = split_lines(body)
    check_range(lines, range)
    covered = lines[range.start.line - 1 : range.end.line]
    if range.end.col is not None:
        covered[-1] = covered[-1][: range.end.col]
    covered[0] = covered[0][range.start.col or 0 :]
    return "\n".join(covered)


def replace_range(body: str, range: LineRange, replacement: str) -> str:
    """The body with the range replaced; an empty replacement of whole lines removes them.

    With columns only the text between them is replaced, so an empty one leaves the rest of
    its line. Raises ValidationError, field `range`, as `check_range` does.
    """
    lines = split_lines(body)
    check_range(lines, range)
    first, last = range.start.line - 1, range.end.line
    if range.whole_lines and not replacement:
        return "\n".join(lines[:first] + lines[last:])
    before = lines[first][: range.start.col or 0]
    after = "" if range.end.col is None else lines[last - 1][range.end.col :]
    return "\n".join([*lines[:first], before + replacement + after, *lines[last:]])


def _refusal(message: str, reason: str, line_count: int | None = None) -> ValidationError:
    return ValidationError(message, field="range", reason=reason, lineCount=line_count)
