"""What a row holds of an event's terms."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.text.terms import terms_of
from kbstore.texts import COMPRESS_BYTES_MIN
from projections.lexical.changes import (
    BODY_UNIT,
    DESCRIPTION_UNIT,
    NAME_UNIT,
    changes_between,
    decode_changes,
    encode_changes,
    plain_changes,
    unpack,
)
from tests.unit.projections.lexical.packing import packed

counts = st.tuples(
    st.integers(-(1 << 12), 1 << 12),
    st.integers(-(1 << 13), 1 << 13),
    st.integers(-(1 << 25), 1 << 25),
)
terms = st.text(st.characters(exclude_categories=["Cs", "Zs", "Cc", "Zl", "Zp"]), min_size=1)


@given(st.dictionaries(terms, counts, min_size=1, max_size=80))
def test_changes_come_back_as_they_were(wanted: dict[str, tuple[int, int, int]]) -> None:
    changes = {term: packed(*count) for term, count in wanted.items()}
    data = encode_changes(changes)
    assert data is not None
    assert encode_changes(dict(changes)) == data
    found, numbers = decode_changes(data)
    assert [term.decode() for term in found] == list(changes)
    fields = zip(*(field.tolist() for field in unpack(numbers)), strict=True)
    assert list(fields) == list(wanted.values())


def test_a_row_holds_only_what_changed() -> None:
    changes = changes_between(
        [
            (NAME_UNIT, terms_of("Old name"), terms_of("New name")),
            (DESCRIPTION_UNIT, terms_of("same"), terms_of("same")),
            (BODY_UNIT, terms_of("one two two"), terms_of("two three")),
        ]
    )
    runs = {term: change for term, change in changes.items() if term[0] != "\t"}
    assert runs == {"new": NAME_UNIT, "old": -NAME_UNIT, "three": 1, "one": -1, "two": -1}
    # Of characters, those that are new and those that are gone.
    body = {term[1:]: n for term, n in changes.items() if term[0] == "\t" and abs(n) < 9}
    assert body == {"h": 1, "r": 1, "n": -1}


def test_nothing_changed_is_no_data() -> None:
    assert changes_between([(BODY_UNIT, {}, {}), (NAME_UNIT, terms_of("a"), terms_of("A"))]) == {}
    assert encode_changes({}) is None


@given(st.text(), st.text())
def test_there_and_back_is_nothing(one: str, two: str) -> None:
    there = changes_between([(BODY_UNIT, terms_of(one), terms_of(two))])
    back = changes_between([(BODY_UNIT, terms_of(two), terms_of(one))])
    assert there == {term: -change for term, change in back.items()}
    assert changes_between([(BODY_UNIT, {}, terms_of(one))]) == dict(terms_of(one))


@pytest.mark.parametrize("words", [3, COMPRESS_BYTES_MIN])
def test_rows_compare_by_what_was_deflated(words: int) -> None:
    """Another release of zlib, or another level, may give other bytes."""
    data = encode_changes(dict(terms_of(" ".join(map(str, range(words))))))
    assert data is not None
    is_deflated = data[0] == 1
    assert is_deflated == (words > 3)
    if is_deflated:
        other = b"\1" + zlib.compress(zlib.decompress(data[1:]), 9)
        assert other != data
        assert plain_changes(other) == plain_changes(data)
        broken = data[:-1] + bytes([data[-1] ^ 1])
        assert plain_changes(broken) == broken
    else:
        assert plain_changes(data) == data
