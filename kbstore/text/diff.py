"""Differences between two bodies, and the merge of two edits of one."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kbstore.limits import DIFF_BYTES_MAX
from kbstore.text.matching import Edit, find_edits

CONTEXT_LINES = 3

_NO_LINE_END = "\\ No newline at end of file\n"


def unified_diff(before: str, after: str, from_label: str, to_label: str) -> str:
    """The unified diff that turns one body into the other, with three lines of context.

    Empty when they are equal. A last line without line end is marked as `diff` marks it, so
    the diff applies exactly. When a body is over 256 KiB of UTF-8 the hunks are left out: a
    line beginning with `\\ Diff left out` says so and which lines changed as a whole.
    """
    if before == after:
        return ""
    head = f"--- {from_label}\n+++ {to_label}\n"
    old, new = _terminated(before), _terminated(after)
    if _too_large(before) or _too_large(after):
        return head + _summary(old, new)
    parts = [head]
    for hunk in _hunks(find_edits(old, new)):
        parts.extend(_print_hunk(hunk, old, new))
    return "".join(parts)


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """The base with the edits of both sides, or None where they cannot both stand.

    Edits that change the same line are refused, as are two that touch when one of them only
    inserts, because their order would be a guess; the same edit made by both stands once.
    None also when a text is over 256 KiB of UTF-8. The two sides may be swapped.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if any(map(_too_large, (base, ours, theirs))):
        return None
    lines = base.split("\n")
    patches = sorted(
        {*_patches(lines, ours.split("\n")), *_patches(lines, theirs.split("\n"))},
        key=lambda patch: (patch.start, patch.end),
    )
    merged: list[str] = []
    done = 0
    previous: _Patch | None = None
    for patch in patches:
        if previous is not None and _clash(previous, patch):
            return None
        merged += lines[done : patch.start]
        merged += patch.lines
        done = patch.end
        previous = patch
    return "\n".join(merged + lines[done:])


class _Patch(Struct, frozen=True):
    """Lines `start` to `end` (exclusive, from 0) of the base become `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]


def _patches(base: list[str], side: list[str]) -> list[_Patch]:
    return [
        _Patch(edit.start, edit.end, tuple(side[edit.new_start : edit.new_end]))
        for edit in find_edits(base, side)
    ]


def _clash(first: _Patch, second: _Patch) -> bool:
    """Whether two patches of a sorted list overlap, or touch and one of them is an insertion."""
    if first.start == first.end or second.start == second.end:
        return first.end >= second.start
    return first.end > second.start


def _too_large(body: str) -> bool:
    if len(body) > DIFF_BYTES_MAX:
        return True
    return not body.isascii() and len(body.encode("utf-8", "surrogatepass")) > DIFF_BYTES_MAX


def _terminated(body: str) -> list[str]:
    """The lines with their line ends; only a last line that is not empty may lack one."""
    lines = [line + "\n" for line in body.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _summary(old: Sequence[str], new: Sequence[str]) -> str:
    """The one changed stretch of two large bodies: what is left without equal ends."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return (
        f"\\ Diff left out: a body is over {DIFF_BYTES_MAX} bytes. "
        f"Changed: -{_span(head, len(old) - tail)} +{_span(head, len(new) - tail)}\n"
    )


def _hunks(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    """Edits whose contexts meet, together."""
    hunk: list[Edit] = []
    for edit in edits:
        if hunk and edit.start - hunk[-1].end > 2 * CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(edit)
    if hunk:
        yield hunk


def _print_hunk(hunk: list[Edit], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    above = min(CONTEXT_LINES, hunk[0].start)
    below = min(CONTEXT_LINES, len(old) - hunk[-1].end)
    start, end = hunk[0].start - above, hunk[-1].end + below
    new_start, new_end = hunk[0].new_start - above, hunk[-1].new_end + below
    yield f"@@ -{_span(start, end)} +{_span(new_start, new_end)} @@\n"
    at = start
    for edit in hunk:
        yield from _prefixed(" ", old[at : edit.start])
        yield from _prefixed("-", old[edit.start : edit.end])
        yield from _prefixed("+", new[edit.new_start : edit.new_end])
        at = edit.end
    yield from _prefixed(" ", old[at:end])


def _prefixed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line
        if not line.endswith("\n"):
            yield "\n" + _NO_LINE_END


def _span(start: int, end: int) -> str:
    """A range as hunk headers write it: first line and length, the line above for length 0."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
