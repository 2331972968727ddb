"""The parts of an index: sealed segments, and what a tail looks like to a reader.

A part covers the documents from `first` on, `count` of them.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from projections.lexical.postings import CHANGE_BITS, DOCUMENTS_MAX
from projections.lexical.vocabulary import Vocabulary

_MASK_PART = 3
"""Above one in so many of the postings, all are looked through instead of picked one by one."""


_NUMBERED_TERM_BYTES = 150
"""What a term costs in the dictionary of a tail."""


class Part(Protocol):
    """What a word is looked for in."""

    @property
    def first(self) -> int: ...

    @property
    def count(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        ...

    def postings_of(self, word: str) -> NDArray[np.uint32]:
        """The postings of all terms that contain a word, in any order."""


class Segment(Struct, frozen=True):
    """Postings sorted by term, then document: those of term `n` lie from `starts[n]` up to
    `starts[n + 1]`."""

    first: int
    count: int
    vocabulary: Vocabulary
    starts: NDArray[np.int64]
    postings: NDArray[np.uint32]

    @property
    def nbytes(self) -> int:
        return self.vocabulary.nbytes + self.starts.nbytes + self.postings.nbytes

    def postings_of(self, word: str) -> NDArray[np.uint32]:
        terms = self.vocabulary.containing(word)
        if not len(terms):
            return self.postings[:0]
        begin = self.starts[terms]
        lengths = self.starts[terms + 1] - begin
        total = int(lengths.sum())
        if total * _MASK_PART > len(self.postings):
            wanted = np.zeros(len(self.starts) - 1, np.bool_)
            wanted[terms] = True
            return self.postings[np.repeat(wanted, np.diff(self.starts))]
        # Each place is that of the one before plus one, but where a term begins.
        places = np.arange(total) + np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
        found: NDArray[np.uint32] = self.postings[places]
        return found


class TailPart(Struct, frozen=True):
    """Postings in the order they came, each with the number of its term."""

    first: int
    count: int
    vocabulary: Vocabulary
    terms: NDArray[np.uint32]
    postings: NDArray[np.uint32]

    @property
    def nbytes(self) -> int:
        numbered = _NUMBERED_TERM_BYTES * len(self.vocabulary.starts)
        return self.vocabulary.nbytes + numbered + self.terms.nbytes + self.postings.nbytes

    def postings_of(self, word: str) -> NDArray[np.uint32]:
        terms = self.vocabulary.containing(word)
        if not len(terms):
            return self.postings[:0]
        wanted = np.zeros(len(self.vocabulary.starts), np.bool_)
        wanted[terms] = True
        return self.postings[wanted[self.terms]]

    def sealed(self) -> Segment:
        """The same as a segment."""
        order = np.argsort(self.terms, kind="stable")
        starts = np.zeros(len(self.vocabulary.starts) + 1, np.int64)
        np.cumsum(np.bincount(self.terms, minlength=len(self.vocabulary.starts)), out=starts[1:])
        text = self.vocabulary.text.copy()
        vocabulary = Vocabulary(text, self.vocabulary.starts.copy())
        return Segment(self.first, self.count, vocabulary, starts, self.postings[order])


def merged(segments: Sequence[Segment]) -> Segment:
    """One segment for several that follow each other. Raises AssertionError where they do not,
    or hold more than DOCUMENTS_MAX documents."""
    first = segments[0].first
    end = first
    for segment in segments:
        assert segment.first == end, "segments that are merged follow each other"
        end += segment.count
    assert end - first <= DOCUMENTS_MAX, "a segment holds no more documents"
    numbers: dict[bytes, int] = {}
    owners, postings = [], []
    for segment in segments:
        terms = segment.vocabulary.terms()
        own = np.fromiter(
            (numbers.setdefault(term, len(numbers)) for term in terms), np.int64, len(terms)
        )
        owners.append(np.repeat(own, np.diff(segment.starts)))
        shift = np.uint32((segment.first - first) << CHANGE_BITS)
        postings.append(segment.postings + shift)
    return _built(first, end - first, numbers, np.concatenate(owners), np.concatenate(postings))


def _built(
    first: int,
    count: int,
    numbers: dict[bytes, int],
    owners: NDArray[np.int64],
    postings: NDArray[np.uint32],
) -> Segment:
    """A segment of postings that come with their documents ascending."""
    # A posting stays with its term and its document when both are sorted as one number.
    keys = np.sort((owners.astype(np.uint64) << np.uint64(32)) | postings)
    starts = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=len(numbers)), out=starts[1:])
    lines = b"\n".join(chain((b"",), numbers, (b"",)))
    sizes = np.fromiter(map(len, numbers), np.int64, len(numbers)) + 1
    begin = np.cumsum(sizes) - sizes + 1
    text = np.frombuffer(lines, np.uint8)
    vocabulary = Vocabulary(text, begin)
    return Segment(first, count, vocabulary, starts, keys.astype(np.uint32))
