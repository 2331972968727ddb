"""How many tokens a text is: an estimate that needs no tokenizer and never changes."""

import re

_CJK = re.compile(
    "["
    "\u1100-\u11ff"  # Hangul jamo
    "\u2e80-\u9fff"  # radicals, punctuation, kana, bopomofo, compatibility, Han
    "\ua960-\ua97f"  # Hangul jamo extended A
    "\uac00-\ud7ff"  # Hangul syllables, jamo extended B
    "\uf900-\ufaff"  # Han compatibility
    "\ufe30-\ufe4f"  # vertical forms
    "\uff00-\uffef"  # half and full width forms
    "\U0001aff0-\U0001b16f"  # kana extensions
    "\U0001f200-\U0001f2ff"  # enclosed ideographs
    "\U00020000-\U0003ffff"  # Han on planes 2 and 3
    "]+"
)
"""A CJK character is one code point of these blocks: Han, kana, bopomofo and Hangul with the
punctuation and the width forms that go with them."""


def estimate_tokens(text: str) -> int:
    """`ceil(other code points / 4)` + CJK code points: the one token estimate of the store."""
    cjk = count_cjk(text)
    return tokens_of(len(text) - cjk, cjk)


def count_cjk(text: str) -> int:
    """The number of CJK code points; linear, and next to nothing for ASCII."""
    if text.isascii():
        return 0
    return sum(map(len, _CJK.findall(text)))


def tokens_of(other: int, cjk: int) -> int:
    """The estimate from two counts, so that counts of parts can be added up first."""
    return -(-other // 4) + cjk
