"""The newest documents of an index, before they are sealed."""

import numpy as np
from numpy.typing import NDArray

from projections.lexical.growing import Growing
from projections.lexical.postings import postings_of
from projections.lexical.segments import TailPart
from projections.lexical.vocabulary import Vocabulary

_LINE_END = b"\n"


class Tail:
    """Takes documents one by one; one thread at a time may append."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.count = 0
        self._numbers: dict[bytes, int] = {}
        self._text = Growing(np.uint8)
        self._text.extend(np.frombuffer(_LINE_END, np.uint8))
        self._starts = Growing(np.int64)
        self._terms = Growing(np.uint32)
        self._postings = Growing(np.uint32)

    def append(self, terms: list[bytes], packed: NDArray[np.int64]) -> None:
        """The next document, with the changes of its terms."""
        document = self.count
        self.count += 1
        numbers = self._number(terms)
        postings, owners = postings_of(document, packed)
        self._terms.extend(numbers if owners is None else numbers[owners])
        self._postings.extend(postings)

    def append_nothing(self) -> None:
        """The next document, of which no term changed."""
        self.count += 1

    def part(self) -> TailPart:
        """The tail as it is now, for readers: what is appended later leaves it alone."""
        vocabulary = Vocabulary(self._text.part, self._starts.part)
        return TailPart(self.first, self.count, vocabulary, self._terms.part, self._postings.part)

    def _number(self, terms: list[bytes]) -> NDArray[np.uint32]:
        known = self._numbers
        before = len(known)
        numbers = [known.setdefault(term, len(known)) for term in terms]
        if len(known) > before:
            new = [t for t, number in zip(terms, numbers, strict=True) if number >= before]
            sizes = np.fromiter(map(len, new), np.int64, len(new)) + 1
            self._starts.extend(self._text.length + np.cumsum(sizes) - sizes)
            lines = _LINE_END.join(new) + _LINE_END
            self._text.extend(np.frombuffer(lines, np.uint8))
        return np.array(numbers, np.uint32)
