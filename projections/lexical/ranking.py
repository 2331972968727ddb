"""The first results of many, without sorting the rest."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ranked: TypeAlias = tuple[int, int, bytes]
"""Score, time and id, negated where more comes first: what results sort by."""


def first_of(
    subjects: NDArray[np.intp],
    scores: NDArray[np.int64],
    times: NDArray[np.int64],
    ids: Sequence[bytes],
    limit: int,
) -> list[tuple[Ranked, int]]:
    """The best `limit` of the subjects in order, with their numbers: the highest score first,
    then the newest, then the lowest id. Scores and times go with `subjects`."""
    if len(subjects) > limit:
        if limit == 0:
            return []
        chosen = _best(scores, times, limit)
        subjects, scores, times = subjects[chosen], scores[chosen], times[chosen]
    keys = zip((-scores).tolist(), (-times).tolist(), subjects.tolist(), strict=True)
    return sorted(((s, t, ids[number]), number) for s, t, number in keys)[:limit]


def _best(scores: NDArray[np.int64], times: NDArray[np.int64], limit: int) -> NDArray[np.intp]:
    """The places of the first ones, and of those that only their ids tell from the last."""
    lowest = _nth_highest(scores, limit)
    above = np.flatnonzero(scores > lowest)
    level = np.flatnonzero(scores == lowest)
    oldest = _nth_highest(times[level], limit - len(above))
    return np.concatenate((above, level[times[level] >= oldest]))


def _nth_highest(values: NDArray[np.int64], number: int) -> int:
    place = len(values) - number
    return int(np.partition(values, place)[place])
