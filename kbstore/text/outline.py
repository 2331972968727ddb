"""The outline of a body: its headings and the sections under them."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from kbstore.text.markdown import HeadingBlock
from kbstore.text.tokens import count_cjk, tokens_of


class Heading(Struct, frozen=True, gc=False):
    """A heading and its section: lines `line` to `end_line`, subsections included.

    `level` is 1 to 6, `tokens` the estimate for the whole section, `anchor` a name for links
    that no other heading of the body has.
    """

    level: int
    text: str
    line: int
    end_line: int
    tokens: int
    anchor: str


def build_outline(lines: Sequence[str], headings: Sequence[HeadingBlock]) -> tuple[Heading, ...]:
    """The outline over the lines of a body; linear in the body.

    Every heading of the parse is in it, also one inside a quote or a list item. A section
    ends above the next heading of its level or a higher one.
    """
    if not headings:
        return ()
    end_lines = _section_ends([h.level for h in headings], [h.line for h in headings], len(lines))
    others, cjks = [0], [0]
    starts = [*(h.line for h in headings), len(lines) + 1]
    for start, stop in pairwise(starts):
        part = "\n".join(lines[start - 1 : stop - 1]) + "\n"
        cjk = count_cjk(part)
        others.append(others[-1] + len(part) - cjk)
        cjks.append(cjks[-1] + cjk)
    index_of_start = {start: index for index, start in enumerate(starts)}
    anchors = _Anchors()
    outline = []
    for index, (heading, end_line) in enumerate(zip(headings, end_lines, strict=True)):
        end = index_of_start[end_line + 1]
        # The last line of a section has no line end of its own.
        tokens = tokens_of(others[end] - others[index] - 1, cjks[end] - cjks[index])
        outline.append(
            Heading(
                heading.level,
                heading.text,
                heading.line,
                end_line,
                tokens,
                anchors.unique(heading.text),
            )
        )
    return tuple(outline)


def _section_ends(levels: Sequence[int], starts: Sequence[int], line_count: int) -> list[int]:
    """For each heading the last line of its section, from the bottom up."""
    ends = [0] * len(levels)
    next_start = dict.fromkeys(range(1, 7), line_count + 1)
    for index in range(len(levels) - 1, -1, -1):
        level = levels[index]
        ends[index] = next_start[level] - 1
        for lower in range(level, 7):
            next_start[lower] = starts[index]
    return ends


class _Anchors:
    """Anchors as code hosts make them: lower case, hyphens for spaces, `-1`, `-2` for repeats."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._repeats: dict[str, int] = {}

    def unique(self, text: str) -> str:
        base = slug(text)
        anchor, repeat = base, self._repeats.get(base, 0)
        while anchor in self._taken:
            repeat += 1
            anchor = f"{base}-{repeat}"
        self._repeats[base] = repeat
        self._taken.add(anchor)
        return anchor


def slug(text: str) -> str:
    """The text in lower case, letters and digits of any script kept, `section` if none is left."""
    kept = "".join(
        c if c.isalnum() or c in "-_" else " " if c.isspace() else "" for c in text.lower()
    )
    return "-".join(kept.split()) or "section"
