"""Cursors: what is written is read back, and nothing else is."""

import base64
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.cursors import CURSOR_CHARACTERS, After, Place, Signer, stale
from kbstore.access import Caller
from kbstore.errors import ValidationError
from kbstore.limits import CURSOR_CHARACTERS_MAX, REVISION_MAX
from kbstore.store.catalogue import KnowledgeBase

KB = KnowledgeBase(UUID(int=1), "handbook", 0, b"k" * 32)
CALLER = Caller(principal="user:ann", held=frozenset({"org:acme", "team:acme:sales"}))
SIGNER = Signer(KB, "listChildren", CALLER, ("shape", 1, True, None))

afters: st.SearchStrategy[After] = st.one_of(
    st.tuples(st.binary(min_size=16, max_size=16)),
    st.tuples(st.integers(0, REVISION_MAX)),
    st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, REVISION_MAX)),
)
places = st.builds(
    Place,
    revision=st.integers(1, REVISION_MAX),
    is_pinned=st.booleans(),
    limit=st.integers(1, 200),
    after=afters,
)


def reason_of(signer: Signer, cursor: str) -> object:
    with pytest.raises(ValidationError) as refusal:
        signer.read(cursor)
    assert refusal.value.details["field"] == "cursor"
    return refusal.value.details["reason"]


@given(places)
def test_a_cursor_leads_back_to_its_place(place: Place) -> None:
    assert SIGNER.read(SIGNER.write(place)) == place


@given(places)
def test_every_cursor_has_one_length(place: Place) -> None:
    cursor = SIGNER.write(place)
    assert len(cursor) == CURSOR_CHARACTERS <= CURSOR_CHARACTERS_MAX
    assert cursor.isascii()
    assert not set(cursor) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(places, st.integers(0, CURSOR_CHARACTERS * 6 - 1))
def test_any_altered_bit_is_malformed(place: Place, bit: int) -> None:
    raw = bytearray(base64.urlsafe_b64decode(SIGNER.write(place)))
    raw[bit // 8] ^= 1 << bit % 8
    assert reason_of(SIGNER, base64.urlsafe_b64encode(raw).decode()) == "malformed"


@given(places, st.integers(0, CURSOR_CHARACTERS - 1), st.characters())
def test_any_altered_character_is_malformed(place: Place, index: int, other: str) -> None:
    cursor = SIGNER.write(place)
    altered = cursor[:index] + other + cursor[index + 1 :]
    if altered != cursor:
        assert reason_of(SIGNER, altered) == "malformed"


@given(st.text(max_size=200))
def test_any_other_text_is_malformed(text: str) -> None:
    assert reason_of(SIGNER, text) == "malformed"


@pytest.mark.parametrize(
    "other",
    [
        Signer(KB, "listNotes", CALLER, ("shape", 1, True, None)),
        Signer(KB, "listChildren", CALLER, ("shape", 2, True, None)),
        Signer(KB, "listChildren", CALLER, ("shape", 1, False, None)),
        Signer(KB, "listChildren", CALLER, ("shape", 1, True)),
        Signer(KB, "listChildren", CALLER.narrow(["org:acme"]), ("shape", 1, True, None)),
        Signer(
            KB,
            "listChildren",
            Caller(principal="user:bob", held=CALLER.held),
            ("shape", 1, True, None),
        ),
    ],
    ids=["operation", "number", "flag", "fewer", "scopes", "principal"],
)
def test_a_cursor_of_another_list_is_a_mismatch(other: Signer) -> None:
    cursor = other.write(Place(3, False, 50, (b"x" * 16,)))
    assert reason_of(SIGNER, cursor) == "mismatch"


def test_a_cursor_of_another_knowledge_base_is_refused() -> None:
    foreign = Signer(
        KnowledgeBase(UUID(int=2), "other", 0, b"o" * 32), "listChildren", CALLER, ("shape",)
    )
    assert reason_of(SIGNER, foreign.write(Place(3, False, 50, (1,)))) == "malformed"
    same_key = Signer(
        KnowledgeBase(UUID(int=2), "other", 0, KB.cursor_key),
        "listChildren",
        CALLER,
        ("shape", 1, True, None),
    )
    assert reason_of(SIGNER, same_key.write(Place(3, False, 50, (1,)))) == "mismatch"


def test_the_order_in_which_scopes_are_held_does_not_matter() -> None:
    turned = Caller(principal=CALLER.principal, held=frozenset(sorted(CALLER.held, reverse=True)))
    other = Signer(KB, "listChildren", turned, ("shape", 1, True, None))
    place = Place(3, True, 50, (7,))
    assert SIGNER.read(other.write(place)) == place


def test_a_stale_walk_says_how_to_go_on() -> None:
    error = stale(Place(3, False, 50, (7,)), 9)
    assert error.details == {
        "field": "cursor",
        "cursorRevision": 3,
        "activeContentRevision": 9,
        "restart": True,
    }
