"""Made-up Markdown: the same for the same seed, bodies of about 2.4 KB."""

import random
from collections.abc import Sequence

BODY_WORDS = 350
_VOCABULARY_WORDS = 5_000
_SYLLABLES = ("ba", "cor", "de", "fin", "gra", "hol", "in", "ker", "lum", "men", "nor", "pas")
_LINKED = 8
"""One body of so many holds a link, by the name of a page."""


class Writer:
    """Writes page names and bodies; words are as unevenly common as in real text."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        vocabulary = random.Random(0)
        self._words = [
            "".join(vocabulary.choices(_SYLLABLES, k=vocabulary.randint(1, 4)))
            for _ in range(_VOCABULARY_WORDS)
        ]
        self._weights = [1 / (rank + 10) for rank in range(_VOCABULARY_WORDS)]

    def body(self, names: Sequence[str] = ()) -> str:
        """A title, two sections and sometimes a link to one of `names`."""
        title, section, *words = self._random.choices(self._words, self._weights, k=BODY_WORDS)
        half = len(words) // 2
        if names and self._random.randrange(_LINKED) == 0:
            words[half] = f"[[{self._random.choice(names)}]]"
        return f"# {title}\n\n{_lines(words[:half])}\n\n## {section}\n\n{_lines(words[half:])}\n"


def _lines(words: Sequence[str]) -> str:
    return "\n".join(" ".join(words[start : start + 12]) for start in range(0, len(words), 12))
