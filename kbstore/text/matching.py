"""Which lines two texts share: the alignment that diff and merge are built on.

Myers' greedy algorithm finds the shortest edit of small differences; where that would cost
too much, lines that are unique on both sides (patience) cut the texts into smaller gaps. A
gap that stays too expensive counts as wholly replaced, so the time is bounded for any input.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

STEPS_MAX = 1_000_000
"""Comparisons that one alignment may spend in Myers' algorithm, all gaps together."""

_EDITS_PER_GAP_MAX = 400
_PATIENCE_ROUNDS_MAX = 12


class Edit(Struct, frozen=True, gc=False):
    """Items `start` to `end` (exclusive, from 0) became items `new_start` to `new_end`."""

    start: int
    end: int
    new_start: int
    new_end: int


_Gap = tuple[int, int, int, int]  # a_start, a_end, b_start, b_end


def find_edits(before: Sequence[str], after: Sequence[str]) -> list[Edit]:
    """The edits that make `after` of `before`, ascending, none touching the next.

    Applied, they always give `after`; they are the fewest lines for small differences and may
    be coarser for large ones. The same input always gives the same edits.
    """
    numbers: dict[str, int] = {}
    a = [numbers.setdefault(line, len(numbers)) for line in before]
    b = [numbers.setdefault(line, len(numbers)) for line in after]
    pairs = _Aligner(a, b).pairs()
    edits = []
    i = j = 0
    for next_i, next_j in [*pairs, (len(a), len(b))]:
        if i < next_i or j < next_j:
            edits.append(Edit(i, next_i, j, next_j))
        i, j = next_i + 1, next_j + 1
    return edits


class _Aligner:
    """Two sequences of line numbers and the work left to spend on them."""

    def __init__(self, a: list[int], b: list[int]) -> None:
        self.a, self.b = a, b
        self.steps_left = STEPS_MAX

    def pairs(self) -> list[tuple[int, int]]:
        """Positions of equal items, ascending on both sides."""
        found: list[tuple[int, int]] = []
        gaps: list[_Gap] = [(0, len(self.a), 0, len(self.b))]
        for _ in range(_PATIENCE_ROUNDS_MAX):
            next_gaps: list[_Gap] = []
            for gap in gaps:
                core = self._trim(gap, found)
                if core[0] == core[1] or core[2] == core[3]:
                    continue
                matched = self._myers(core)
                if matched is not None:
                    found.extend(matched)
                    continue
                anchors = self._unique_anchors(core)
                found.extend(anchors)
                if anchors:
                    next_gaps.extend(_between(core, anchors))
            gaps = next_gaps
            if not gaps:
                break
        found.sort()
        return found

    def _trim(self, gap: _Gap, found: list[tuple[int, int]]) -> _Gap:
        """Takes equal items off both ends of a gap."""
        a, b = self.a, self.b
        a_start, a_end, b_start, b_end = gap
        while a_start < a_end and b_start < b_end and a[a_start] == b[b_start]:
            found.append((a_start, b_start))
            a_start, b_start = a_start + 1, b_start + 1
        while a_start < a_end and b_start < b_end and a[a_end - 1] == b[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            found.append((a_end, b_end))
        return a_start, a_end, b_start, b_end

    def _unique_anchors(self, gap: _Gap) -> list[tuple[int, int]]:
        """The longest ascending run of items that stand once on each side of the gap."""
        a_start, a_end, b_start, b_end = gap
        a_counts = Counter(self.a[a_start:a_end])
        b_counts = Counter(self.b[b_start:b_end])
        b_places = {item: b_start + k for k, item in enumerate(self.b[b_start:b_end])}
        candidates = [
            (a_start + k, b_places[item])
            for k, item in enumerate(self.a[a_start:a_end])
            if a_counts[item] == 1 and b_counts.get(item) == 1
        ]
        return _longest_ascending(candidates)

    def _myers(self, gap: _Gap) -> list[tuple[int, int]] | None:
        """The pairs of a shortest edit, or None where it is too long or the work is spent."""
        a_start, a_end, b_start, b_end = gap
        a, b = self.a[a_start:a_end], self.b[b_start:b_end]
        n, m = len(a), len(b)
        reach = {1: 0}  # by diagonal x - y: the furthest x
        history: list[dict[int, int]] = []
        for edits in range(min(n + m, _EDITS_PER_GAP_MAX) + 1):
            history.append(reach)
            reached: dict[int, int] = {}
            for k in range(-edits, edits + 1, 2):
                if k == -edits or (k != edits and reach[k - 1] < reach[k + 1]):
                    x = reach[k + 1]
                else:
                    x = reach[k - 1] + 1
                start = x
                while x < n and 0 <= x - k < m and a[x] == b[x - k]:
                    x += 1
                reached[k] = x
                self.steps_left -= 1 + x - start
                if x >= n and x - k >= m:
                    return _walk_back(history, n, m, a_start, b_start)
            if self.steps_left < 0:
                return None
            reach = reached
        return None


def _walk_back(
    history: list[dict[int, int]], n: int, m: int, a_start: int, b_start: int
) -> list[tuple[int, int]]:
    """The diagonal steps of the path that Myers' rounds took to (n, m)."""
    pairs: list[tuple[int, int]] = []
    x, y = n, m
    for edits in range(len(history) - 1, -1, -1):
        reach = history[edits]
        k = x - y
        if k == -edits or (k != edits and reach[k - 1] < reach[k + 1]):
            previous_k = k + 1
        else:
            previous_k = k - 1
        previous_x = reach[previous_k]
        previous_y = previous_x - previous_k
        while x > max(previous_x, 0) and y > max(previous_y, 0):
            x, y = x - 1, y - 1
            pairs.append((a_start + x, b_start + y))
        x, y = previous_x, previous_y
    return pairs


def _longest_ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest sub-list whose second parts ascend; the first parts already do."""
    tails: list[int] = []  # smallest last second part of a run of each length
    tail_pairs: list[int] = []
    before: list[int | None] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(tails, place)
        before.append(tail_pairs[length - 1] if length else None)
        if length == len(tails):
            tails.append(place)
            tail_pairs.append(index)
        else:
            tails[length] = place
            tail_pairs[length] = index
    run: list[tuple[int, int]] = []
    at = tail_pairs[-1] if tail_pairs else None
    while at is not None:
        run.append(pairs[at])
        at = before[at]
    run.reverse()
    return run


def _between(gap: _Gap, anchors: list[tuple[int, int]]) -> list[_Gap]:
    a_start, a_end, b_start, b_end = gap
    gaps = []
    for i, j in [*anchors, (a_end, b_end)]:
        gaps.append((a_start, i, b_start, j))
        a_start, b_start = i + 1, j + 1
    return gaps
