"""A long body at a glance: every heading, and the first lines under each (reference 2)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kbstore.text.outline import Heading
from kbstore.text.tokens import estimate_tokens
from kbstore.text.windows import Tally, cut, numbered

CUT = "…"
HEADING_TOKENS_MAX = 50
"""What is shown of one heading; there are lines of Markdown that long."""

_CUT_TOKENS_MIN = 8
"""A line is not cut to less than this; it is left out."""

_GAP_TOKENS = 6
"""About what a line costs that says which lines are left out."""


def glance(lines: Sequence[str], outline: Sequence[Heading], cap: int) -> tuple[str, ...] | None:
    """Numbered lines: every heading, and of what is left of the cap an even share of lines for
    each section, in order; what a section does not use is shared by those after it.

    `⋯ lines a–b` stands where lines are left out, `…` where a line is cut. None where the
    headings alone are over the cap.
    """
    headings = {
        heading.line: _cut_line(heading.line, lines[heading.line - 1], HEADING_TOKENS_MAX)
        for heading in outline
    }
    tally = Tally(cap)
    if not headings or not tally.takes(*headings.values()):
        return None
    sections = list(_sections(sorted(headings), len(lines)))
    shares = tally.left
    shown: list[str] = []
    for index, (heading, first, last) in enumerate(sections):
        if heading is not None:
            shown.append(headings[heading])
        share = shares // (len(sections) - index)
        part, used = _first_lines(lines, first, last, share)
        shown += part
        shares -= used
    return tuple(shown)


def _sections(headings: Sequence[int], line_count: int) -> Iterator[tuple[int | None, int, int]]:
    """The line of each heading with the first and the last line under it; before the first
    heading there may be lines without one."""
    if headings[0] > 1:
        yield None, 1, headings[0] - 1
    for heading, following in pairwise([*headings, line_count + 1]):
        yield heading, heading + 1, following - 1


def _first_lines(lines: Sequence[str], first: int, last: int, share: int) -> tuple[list[str], int]:
    """The first lines of a section that a share of tokens allows, and what they cost."""
    while last >= first and not lines[last - 1].strip():
        last -= 1
    if last < first:
        return [], 0
    whole = [numbered(line, lines[line - 1]) for line in range(first, last + 1)]
    tally = Tally(share)
    if tally.takes(*whole):
        return whole, tally.tokens
    tally = Tally(max(0, share - _GAP_TOKENS))
    shown: list[str] = []
    line = first
    while line <= last and tally.takes(whole[line - first]):
        shown.append(whole[line - first])
        line += 1
    room = tally.left
    if room >= _CUT_TOKENS_MIN and lines[line - 1].strip():
        shown.append(_cut_line(line, lines[line - 1], room))
        tally.takes(shown[-1])
        line += 1
    if line <= last:
        gap = f"⋯ lines {line}–{last}" if line < last else f"⋯ line {line}"
        shown.append(gap)
        return shown, tally.tokens + _GAP_TOKENS
    return shown, tally.tokens


def _cut_line(line: int, text: str, tokens: int) -> str:
    whole = numbered(line, text)
    return whole if estimate_tokens(whole) <= tokens else cut(whole, tokens - 1) + CUT
