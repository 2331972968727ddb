"""Terms and queries: what a text is found by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.text.fold import fold
from kbstore.text.terms import CHARACTER_MARK, phrase_of, read_query, terms_of

texts = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
        st.sampled_from(" \n\t\u00a0\u3000\u2028\u00a8\u00b4\ufdfa\u0301é한क्षİßΣς\"'"),
    ),
    max_size=60,
)


def test_runs_are_counted_and_characters_are_not() -> None:
    assert dict(terms_of("To be, or not to BE")) == {
        "to": 2,
        "be,": 1,
        "or": 1,
        "not": 1,
        "be": 1,
        **{CHARACTER_MARK + character: 1 for character in "tobe,rn"},
    }


def test_terms_come_in_the_order_of_the_text() -> None:
    """In every process: rows are compared byte for byte with those that a replay gives."""
    words = [f"w{chr(0x4E00 + number)}{number}" for number in range(200)]
    characters = dict.fromkeys("".join(words))
    expected = [*words, *(CHARACTER_MARK + character for character in characters)]
    assert list(terms_of(" ".join(words))) == expected


@pytest.mark.parametrize("text", ["", " \n\t", "\u3000"])
def test_a_text_without_runs_has_no_terms(text: str) -> None:
    assert not terms_of(text)


@given(texts)
def test_runs_fold_one_by_one_as_the_whole_text_does(text: str) -> None:
    terms = terms_of(text)
    runs = fold(text).split()
    assert {t: n for t, n in terms.items() if t[0] != CHARACTER_MARK} == {
        run: runs.count(run) for run in runs
    }
    characters = {t[1:]: n for t, n in terms.items() if t[0] == CHARACTER_MARK}
    assert characters == dict.fromkeys(set("".join(runs)), 1)


@given(texts, st.data())
def test_a_word_is_in_a_text_if_and_only_if_it_is_in_a_run(text: str, data: st.DataObject) -> None:
    folded = fold(text)
    begin = data.draw(st.integers(0, len(folded)))
    piece = folded[begin : begin + data.draw(st.integers(1, 5))]
    runs = [term for term in terms_of(text) if term[0] != CHARACTER_MARK]
    for word in piece.split():
        assert any(word in run for run in runs)


@pytest.mark.parametrize(
    ("query", "words", "phrase"),
    [
        ("", (), ""),
        (" \t\u3000", (), ""),
        ("\"' ''", (), ""),
        ("Refund  POLICY", ("refund", "policy"), "refund policy"),
        ("t t", ("t",), "t t"),
        ("T t", ("t",), "t t"),
        ('say "hi', ("say", "hi"), "say hi"),
        ('a="b"', ("a=", "b"), "a= b"),
        ("«Rust» “x”", ("rust", "x"), "rust x"),
        ("'quoted' don't ‘so’", ("quoted", "don't", "so"), "quoted don't so"),
        ("Straße", ("strasse",), "strasse"),
        # Folded first: one character becomes several words.
        ("\ufdfa", tuple(fold("\ufdfa").split()), fold("\ufdfa")),
        ("a\u00a8b", ("a", "b"), "a b"),
        ("C++ --help e.g. ()", ("c++", "--help", "e.g.", "()"), "c++ --help e.g. ()"),
    ],
)
def test_queries(query: str, words: tuple[str, ...], phrase: str) -> None:
    asked = read_query(query)
    assert (asked.words, asked.phrase) == (words, phrase)


@given(texts, texts, texts)
def test_a_name_contains_its_own_words_as_a_phrase(before: str, query: str, after: str) -> None:
    """Also where quotation marks stand at the ends of words."""
    asked = read_query(query)
    assert asked.phrase in phrase_of(f"{before} {query} {after}")
    assert phrase_of(phrase_of(query)) == phrase_of(query)
