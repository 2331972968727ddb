"""Folding for search (section "Text" of the design)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.text import fold

MARKED = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.characters(categories=["Mn", "Mc"]),
        st.sampled_from("aeioAEßſİıΣςᾳẞﬀǅ\u0345\u0301\u0323\u05b8\u064e\u0654\u3099かハ가가각"),
    ),
    max_size=12,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Refund POLICY", "refund policy"),
        ("Café", "cafe"),
        ("cafe\u0301", "cafe"),
        ("Straße", "strasse"),
        ("ﬁle ① ＡＢＣ", "file 1 abc"),
        ("İstanbul", "istanbul"),
        ("Ὀδυσσεύς", "οδυσσευσ"),
        ("Ёлка", "елка"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("رحمٰن", "رحمن"),
        ("أحمد", "أحمد"),  # hamza makes another letter
        ("हिन्दी", "हिन्दी"),  # vowel signs are letters
        ("ภาษาไทย", "ภาษาไทย".replace("\u0e33", "\u0e4d\u0e32")),
        ("がぎぐ", "がぎぐ"),
        ("ｶﾞ", "ガ"),
        ("한국어", "한국어"),
        ("", ""),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(MARKED)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(MARKED)
def test_equivalent_forms_fold_alike(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, text)) == fold(text)


@given(MARKED)
def test_no_mark_and_no_other_form_is_left(text: str) -> None:
    folded = fold(text)
    assert unicodedata.is_normalized("NFC", folded)
    assert not any("\u0300" <= c <= "\u036f" for c in unicodedata.normalize("NFD", folded))


def test_every_code_point_folds_once() -> None:
    every = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    assert [c for c in every if fold(fold(c)) != fold(c)] == []
