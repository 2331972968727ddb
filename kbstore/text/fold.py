"""Folding for search: what a query and a text are turned into before they are compared."""

import re
import unicodedata

_MARKS = re.compile(
    "["
    "\u0300-\u036f"  # combining diacritical marks: Latin, Greek, Cyrillic
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points and accents
    "\u064b-\u0652\u0670"  # Arabic vowel marks; madda and hamza make letters and stay
    "]+"
)


def fold(text: str) -> str:
    """The text as search compares it; folding twice is folding once.

    NFKC, case-folded, diacritics removed (U+0300 to U+036F, Hebrew points, Arabic vowel
    marks), NFC again. Vowel signs of Indic and other scripts stay: there they are letters.
    The length may change, so positions in the result are not positions in the text.
    """
    if text.isascii():
        return text.lower()
    # Case-folding can undo a normal form and removing a mark can make a new pair compose, so
    # each step starts from the form it needs: marks are only seen in decomposed text.
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", folded))
    return unicodedata.normalize("NFC", bare)
