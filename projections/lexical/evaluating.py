"""Which pages and notes hold which words of a query, as numbers to rank by.

A subject's score holds, from its upper bits down, how many distinct words it contains, and how
many its name, its description and its body do; 0 where it contains none.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from projections.lexical.index import Deadline, View
from projections.lexical.postings import CHANGE_BITS, DESCRIPTION_SHIFT, NAME_SHIFT, WEIGHTS

Scores: TypeAlias = NDArray[np.int64]

WORDS_SHIFT, IN_NAME_SHIFT, IN_DESCRIPTION_SHIFT = 24, 16, 8
WHOLE_SHIFT = 32
"""The bit of pages whose name contains the whole query, above all counts."""

_CHANGE_MASK = np.uint32((1 << CHANGE_BITS) - 1)
_DESCRIPTION_MASK = (1 << (NAME_SHIFT - DESCRIPTION_SHIFT)) - 1
_BODY_MASK = (1 << DESCRIPTION_SHIFT) - 1


class Labels(Struct, frozen=True):
    """Folded names and descriptions that no row holds, those of scope pages, by subject."""

    subjects: NDArray[np.intp]
    names: Sequence[str]
    descriptions: Sequence[str]


def score(*, words: int, in_name: int, in_description: int, in_body: int) -> int:
    """The score of these counts, each at most 255."""
    counted = words << WORDS_SHIFT | in_name << IN_NAME_SHIFT
    return counted | in_description << IN_DESCRIPTION_SHIFT | in_body


def scores_of(
    view: View, documents: int, words: Sequence[str], labels: Labels, deadline: Deadline
) -> Scores:
    """The scores of all subjects over the first so many documents.

    Raises SearchTimeoutError; the deadline is looked at after each part.
    """
    known = view.documents
    subjects = known.subjects_up_to(documents)
    scores = np.zeros(subjects, np.int64)
    for word in words:
        sums = _sums(view, documents, word, subjects, deadline)
        in_name = sums >> NAME_SHIFT > 0
        in_description = (sums >> DESCRIPTION_SHIFT) & _DESCRIPTION_MASK > 0
        in_body = sums & _BODY_MASK > 0
        if len(labels.subjects):
            in_name[labels.subjects] |= [word in name for name in labels.names]
            in_description[labels.subjects] |= [word in text for text in labels.descriptions]
        scores += (in_name | in_description | in_body).astype(np.int64) << WORDS_SHIFT
        scores += in_name.astype(np.int64) << IN_NAME_SHIFT
        scores += in_description.astype(np.int64) << IN_DESCRIPTION_SHIFT
        scores += in_body
    return scores


def _sums(view: View, documents: int, word: str, subjects: int, deadline: Deadline) -> Scores:
    """How often each field of each subject has the word, packed as WEIGHTS are."""
    owners: list[NDArray[np.int32]] = []
    weights: list[NDArray[np.float64]] = []
    for part in view.parts:
        if part.first >= documents:
            break
        postings = part.postings_of(word)
        numbers = (postings >> np.uint32(CHANGE_BITS)).astype(np.intp) + part.first
        if part.first + part.count > documents:
            before = numbers < documents
            postings, numbers = postings[before], numbers[before]
        owners.append(view.documents.subjects[numbers])
        weights.append(WEIGHTS[postings & _CHANGE_MASK])
        deadline.check()
    if not owners:
        return np.zeros(subjects, np.int64)
    sums = np.bincount(np.concatenate(owners), np.concatenate(weights), minlength=subjects)
    return sums.astype(np.int64)
