"""Terms: what a text is found by, and how a query is split into words.

A term is a maximal run of the folded text without white space, punctuation included. A word
of a query holds no white space either, so a text contains it if and only if one of its terms
does: there is no tokeniser to agree with, in any script. Each character of the text is a term
of its own besides, written as a tab and the character, so that a word of one letter is looked
up instead of searched for in every run.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from kbstore.text.fold import fold

CHARACTER_MARK = "\t"
"""What a term of one character begins with; no run holds it."""

Terms = Mapping[str, int]
"""Terms with how often each stands in a text; characters count 1."""

_RUNS_CACHED_MAX = 65_536
_RUN_CACHED_CHARACTERS_MAX = 40
_DOUBLE_QUOTES = str.maketrans(dict.fromkeys('"“”„‟«»', " "))
_SINGLE_QUOTES = "'‘’‚‛‹›"


class SearchQuery(Struct, frozen=True):
    """A query as it is compared: the distinct words, and all of it as a name may contain it."""

    words: tuple[str, ...]
    phrase: str


def terms_of(text: str) -> Terms:
    """The terms of a text: runs with how often each stands there, characters with 1. Each comes
    where the text has it first, runs before characters: equal texts give equal rows."""
    if text.isascii():
        counts = Counter(text.lower().split())
    else:
        counts = Counter(_folded_runs(text.split()))
    # Not a set, whose order is another one in each process.
    characters = dict.fromkeys("".join(counts))
    counts.update({CHARACTER_MARK + character: 1 for character in characters})
    return counts


def read_query(query: str) -> SearchQuery:
    """The words of a query: folded first, then split at white space and double quotation marks.

    Single quotation marks at the ends of a word are dropped, those inside it stay: `don't` is
    one word. A word that is repeated counts once.
    """
    words = _words(fold(query))
    return SearchQuery(tuple(dict.fromkeys(words)), " ".join(words))


def phrase_of(name: str) -> str:
    """A name as the whole of a query is looked for in it: folded, quotation marks dropped as
    those of a query are, and one space wherever there is white space."""
    return " ".join(_words(fold(name)))


def _words(folded: str) -> list[str]:
    runs = folded.translate(_DOUBLE_QUOTES).split()
    return [word for run in runs if (word := run.strip(_SINGLE_QUOTES))]


def _folded_runs(runs: Iterable[str]) -> Iterable[str]:
    # Folding never joins anything over white space, so runs fold one by one, and mostly they
    # were folded before. One character may become several words, or a space and a mark.
    for run in runs:
        if run.isascii():
            yield run.lower()
        elif len(run) <= _RUN_CACHED_CHARACTERS_MAX:
            yield from _folded_run(run)
        else:
            yield from fold(run).split()


@lru_cache(maxsize=_RUNS_CACHED_MAX)
def _folded_run(run: str) -> tuple[str, ...]:
    return tuple(fold(run).split())
