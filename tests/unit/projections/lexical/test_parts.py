"""Tails, segments and merged ones: each word gives the postings that looking at every term does."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.text.terms import terms_of
from projections.lexical import segments, vocabulary
from projections.lexical.changes import decode_changes, encode_changes
from projections.lexical.growing import Growing
from projections.lexical.postings import (
    CHANGE_BITS,
    DESCRIPTION_SHIFT,
    DOCUMENTS_MAX,
    NAME_SHIFT,
    WEIGHTS,
    postings_of,
)
from projections.lexical.segments import Part, Segment, merged
from projections.lexical.tail import Tail
from tests.unit.projections.lexical.packing import packed

texts = st.lists(st.text("abø数 \t", max_size=12), min_size=1, max_size=12)
LARGE = (1_201, 1_201, 5_600_000)
"""The most that a name, a description and a body can hold of anything."""


def tail_of(written: list[str], first: int = 0) -> Tail:
    tail = Tail(first)
    for text in written:
        data = encode_changes(dict(terms_of(text)))
        if data is None:
            tail.append_nothing()
        else:
            tail.append(*decode_changes(data))
    return tail


def sums(part: Part, word: str) -> dict[int, int]:
    """How often each document has the word, by its number in the index."""
    found: dict[int, int] = defaultdict(int)
    for posting in part.postings_of(word).tolist():
        number = part.first + (posting >> CHANGE_BITS)
        found[number] += int(WEIGHTS[posting & ((1 << CHANGE_BITS) - 1)])
    return dict(found)


def expected(written: list[str], word: str, first: int = 0) -> dict[int, int]:
    found = {}
    for number, text in enumerate(written, start=first):
        if len(word) == 1:
            count = int(word in text)
        else:
            count = sum(word in run for run in text.split())
        if count:
            found[number] = count
    return found


@pytest.mark.parametrize("finds_max", [0, 1, vocabulary._FINDS_MAX])
@pytest.mark.parametrize("mask_part", [0, segments._MASK_PART, 1 << 30])
@given(texts, st.text("abø数", min_size=1, max_size=4))
def test_parts_find_what_is_there(
    finds_max: int, mask_part: int, written: list[str], word: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "_FINDS_MAX", finds_max)
        patch.setattr(segments, "_MASK_PART", mask_part)
        half = len(written) // 2
        whole = tail_of(written).part()
        first, second = tail_of(written[:half]), tail_of(written[half:], half)
        joined = merged([first.part().sealed(), second.part().sealed()])
        for part in (whole, whole.sealed(), joined, merged([joined])):
            assert (part.first, part.count) == (0, len(written))
            assert sums(part, word) == expected(written, word)
        assert sums(second.part(), word) == expected(written[half:], word, half)


def test_a_part_taken_before_stays_as_it_was() -> None:
    tail = tail_of(["one two"])
    before = tail.part()
    for number in range(1_000):
        tail.append(*decode_changes(encode_changes(dict(terms_of(f"one w{number}"))) or b""))
    assert sums(before, "one") == {0: 1}
    assert before.count == 1
    assert len(sums(tail.part(), "one")) == 1_001


def test_segments_that_do_not_follow_each_other_are_not_merged() -> None:
    parts = [tail_of(["a"], first).part().sealed() for first in (0, 2)]
    with pytest.raises(AssertionError):
        merged(parts)


def test_a_segment_holds_no_more_documents_than_postings_can_name() -> None:
    def of_size(first: int, count: int) -> Segment:
        whole = tail_of(["a"], first).part().sealed()
        return Segment(first, count, whole.vocabulary, whole.starts, whole.postings)

    whole = merged([of_size(0, DOCUMENTS_MAX - 1), of_size(DOCUMENTS_MAX - 1, 1)])
    assert whole.count == DOCUMENTS_MAX
    with pytest.raises(AssertionError):
        merged([of_size(0, DOCUMENTS_MAX), of_size(DOCUMENTS_MAX, 1)])


@pytest.mark.parametrize("sign", [1, -1])
@given(st.lists(st.tuples(*(st.integers(0, most) for most in (40, 40, 200))), min_size=1))
def test_large_changes_are_several_postings(sign: int, counts: list[tuple[int, int, int]]) -> None:
    check_postings([tuple(sign * n for n in count) for count in counts])  # type: ignore[misc]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_changes_are_exact(sign: int) -> None:
    name, description, body = (sign * n for n in LARGE)
    check_postings([(1, 1, 1), (name, description, body), (name, 0, 0), (0, 0, 1)])


def check_postings(counts: list[tuple[int, int, int]]) -> None:
    postings, owners = postings_of(5, np.array([packed(*count) for count in counts], np.int64))
    assert set((postings >> np.uint32(CHANGE_BITS)).tolist()) == {5}
    if owners is None:
        owners = np.arange(len(counts))
    weights = WEIGHTS[postings & np.uint32((1 << CHANGE_BITS) - 1)]
    found = np.bincount(owners, weights, minlength=len(counts)).astype(np.int64).tolist()
    assert found == [(n << NAME_SHIFT) + (d << DESCRIPTION_SHIFT) + b for n, d, b in counts]


def test_an_array_grows_and_leaves_its_parts_alone() -> None:
    growing: Growing[np.int64] = Growing(np.int64)
    parts = []
    for number in range(1_000):
        growing.extend([number])
        parts.append(growing.part)
    assert all(part.tolist() == list(range(n)) for n, part in enumerate(parts, start=1))
