"""Passages: pieces of a body of about 2,000 characters that are found and embedded on their own."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

from kbstore.text.markdown import Blocks

PASSAGE_CHARACTERS_MAX = 2_000
"""What a passage holds at most, unless a single line is longer: a line is never cut."""


class Passage(Struct, frozen=True, gc=False):
    """Lines `start_line` to `end_line` of a body and their text.

    `heading` is the index in the outline of the heading the passage stands under, None above
    the first one.
    """

    start_line: int
    end_line: int
    heading: int | None
    text: str


_Piece = tuple[int, int]
"""First line and the line after the last one."""


def build_passages(
    lines: Sequence[str], blocks: Blocks, lines_above: int = 0
) -> tuple[Passage, ...]:
    """The passages below the front matter, `lines_above` lines; linear in the body.

    Each line is in exactly one passage, in order, so their texts joined by "\\n" are the
    Markdown of the body; only a Markdown of nothing but white space has none. A passage ends
    where a section ends and, before it grows over 2,000 characters, on the border of a
    block, of an inner block or of a line, the first of these that will do.
    """
    ends = [0, *accumulate(len(line) + 1 for line in lines)]
    first, stop = lines_above + 1, len(lines) + 1
    headings = [heading.line for heading in blocks.headings]
    found: list[tuple[int, int, int]] = []
    blank_from: int | None = None
    for index, (start, end) in enumerate(pairwise([first, *headings, stop]), -1):
        for piece_start, piece_end in _pack(_pieces(start, end, blocks, ends), ends):
            if not any(map(str.strip, lines[piece_start - 1 : piece_end - 1])):
                blank_from = piece_start if blank_from is None else blank_from
                continue
            found.append((piece_start if blank_from is None else blank_from, piece_end, index))
            blank_from = None
    if blank_from is not None and found:
        found[-1] = (found[-1][0], stop, found[-1][2])
    return tuple(
        Passage(start, end - 1, None if index < 0 else index, "\n".join(lines[start - 1 : end - 1]))
        for start, end, index in found
    )


def _pieces(start: int, end: int, blocks: Blocks, ends: Sequence[int]) -> Iterator[_Piece]:
    """The smallest pieces a passage may be made of: blocks, or what an oversize one is made of."""
    for block in _cut(start, end, blocks.borders):
        if _size(block, ends) <= PASSAGE_CHARACTERS_MAX:
            yield block
            continue
        for inner in _cut(*block, blocks.inner_borders):
            if _size(inner, ends) <= PASSAGE_CHARACTERS_MAX:
                yield inner
            else:
                yield from pairwise(range(inner[0], inner[1] + 1))


def _cut(start: int, end: int, borders: Sequence[int]) -> Iterator[_Piece]:
    inside = borders[bisect_right(borders, start) : bisect_left(borders, end)]
    return ((a, b) for a, b in pairwise([start, *inside, end]) if a < b)


def _pack(pieces: Iterator[_Piece], ends: Sequence[int]) -> Iterator[_Piece]:
    """Neighbouring pieces put together as long as they stay within a passage's size."""
    packed: _Piece | None = None
    for piece in pieces:
        if packed is None:
            packed = piece
        elif _size((packed[0], piece[1]), ends) <= PASSAGE_CHARACTERS_MAX:
            packed = (packed[0], piece[1])
        else:
            yield packed
            packed = piece
    if packed is not None:
        yield packed


def _size(piece: _Piece, ends: Sequence[int]) -> int:
    """Its characters, without the line end after it."""
    return ends[piece[1] - 1] - ends[piece[0] - 1] - 1
