import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.text import estimate_tokens
from kbstore.text.tokens import count_cjk


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("測", 1),
        ("測試", 2),
        ("測試a", 3),
        ("測試abcde", 4),
        ("テスト、한국어。", 8),
        ("ＡＢ", 2),
        ("𠀀", 1),
        ("ééééé", 2),
        ("🤔🤔🤔🤔", 1),
        ("हिन्दी", 2),
    ],
)
def test_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("character", "ᄀ⺀々。あアㄅㇰ㐀一鿿ꥠ가豈︰＀ﾊ𛀀𠀀")
def test_cjk_characters(character: str) -> None:
    assert count_cjk(character) == 1


@pytest.mark.parametrize("character", "aéя\u0e01ꀀᠠ🤔†\ue000")
def test_other_characters(character: str) -> None:
    assert count_cjk(character) == 0


@given(st.text(), st.text())
def test_counts_add_up(one: str, other: str) -> None:
    assert count_cjk(one + other) == count_cjk(one) + count_cjk(other)
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)
