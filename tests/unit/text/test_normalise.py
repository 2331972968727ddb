"""Cleaning: what is refused, what is changed, and each limit at n and n + 1."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.errors import ValidationError
from kbstore.limits import (
    BODY_BYTES_MAX,
    DESCRIPTION_TOKENS_MAX,
    KEY_CODE_POINTS_MAX,
    NAME_CODE_POINTS_MAX,
    NOTE_TOKENS_MAX,
)
from kbstore.text import (
    clean_body,
    clean_description,
    clean_key,
    clean_name,
    clean_note_text,
    clean_text,
    fold_key,
)

Clean = Callable[[str], str]


def refusal(clean: Clean, value: str) -> dict[str, object]:
    with pytest.raises(ValidationError) as caught:
        clean(value)
    assert caught.value.code == "VALIDATION_ERROR"
    return caught.value.details


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\nb"),
        ("a\r\r\nb\n\r", "a\n\nb\n\n"),
        ("a\n\tb  \x0c\x85\u2028", "a\n\tb  \x0c\x85\u2028"),
        ("cafe\u0301", "cafe\u0301"),
        ("", ""),
    ],
)
def test_only_line_ends_change(sent: str, kept: str) -> None:
    assert clean_text(sent, "body") == kept
    assert clean_body(sent) == kept


@pytest.mark.parametrize(
    ("clean", "field"),
    [
        (clean_key, "key"),
        (clean_name, "name"),
        (clean_description, "description"),
        (clean_note_text, "text"),
        (clean_body, "body"),
    ],
)
@pytest.mark.parametrize(
    ("value", "reason", "position"),
    [("ab\0c", "nul", 2), ("a\ud800", "surrogate", 1), ("\udfffa", "surrogate", 0)],
)
def test_nul_and_lone_surrogates_are_refused(
    clean: Clean, field: str, value: str, reason: str, position: int
) -> None:
    assert refusal(clean, value) == {"field": field, "reason": reason, "position": position}


@pytest.mark.parametrize("key", ["🤔", "测试", "テスト", "---", "👩‍💻", "con", "...", "a b", "É"])
def test_keys_of_any_script_are_kept(key: str) -> None:
    assert clean_key(key) == key


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("\u3000", "empty"),
        (".", "reserved"),
        ("..", "reserved"),
        ("a/b", "character"),
        ("a#b", "character"),
        ("50%", "character"),
        ("a\tb", "control"),
        ("a\nb", "control"),
        ("a\x7f", "control"),
        ("a\x85b", "control"),
    ],
)
def test_keys_that_could_not_stand_in_a_path_are_refused(key: str, reason: str) -> None:
    details = refusal(clean_key, key)
    assert (details["field"], details["reason"]) == ("key", reason)


def test_keys_and_names_are_nfc() -> None:
    assert clean_key("cafe\u0301") == "caf\u00e9"
    assert clean_name("cafe\u0301") == "caf\u00e9"


def test_the_key_limit_counts_code_points_after_nfc() -> None:
    assert clean_key("e\u0301" * KEY_CODE_POINTS_MAX) == "é" * KEY_CODE_POINTS_MAX
    assert clean_key("🤔" * KEY_CODE_POINTS_MAX) == "🤔" * KEY_CODE_POINTS_MAX
    assert refusal(clean_key, "k" * (KEY_CODE_POINTS_MAX + 1)) == {
        "field": "key",
        "reason": "tooLong",
        "limit": KEY_CODE_POINTS_MAX,
        "actual": KEY_CODE_POINTS_MAX + 1,
    }


def test_names_are_one_line_with_text_in_it() -> None:
    assert clean_name("  Refund / policy #1 50%\n") == "Refund / policy #1 50%"
    assert refusal(clean_name, " \n ")["reason"] == "empty"
    assert refusal(clean_name, "a\nb")["reason"] == "control"
    assert refusal(clean_name, "a\u2028b")["reason"] == "control"


def test_the_name_limit() -> None:
    assert clean_name(" " + "n" * NAME_CODE_POINTS_MAX + " ") == "n" * NAME_CODE_POINTS_MAX
    assert refusal(clean_name, "n" * (NAME_CODE_POINTS_MAX + 1))["reason"] == "tooLong"


@pytest.mark.parametrize(
    ("clean", "limit", "sentence"),
    [
        (
            clean_description,
            DESCRIPTION_TOKENS_MAX,
            "Knowledge page description exceeds the 100 token limit; "
            "put long-form text in the page body",
        ),
        (
            clean_note_text,
            NOTE_TOKENS_MAX,
            "Knowledge note text exceeds the 250 token limit; "
            "split it into separate notes or put long-form text in the page body",
        ),
    ],
)
def test_the_token_limits(clean: Clean, limit: int, sentence: str) -> None:
    for text in ("a" * 4 * limit, "測" * limit):
        assert clean(text) == text
        with pytest.raises(ValidationError) as caught:
            clean(text + "a" if text[0] == "a" else text + "測")
        assert caught.value.message == sentence
        assert caught.value.details["actual"] == limit + 1


def test_an_empty_description_is_kept_and_an_empty_note_is_not() -> None:
    assert clean_description("") == ""
    assert refusal(clean_note_text, " \n")["reason"] == "empty"


@pytest.mark.parametrize("character", ["a", "é", "🤔"])
def test_the_body_limit_counts_bytes(character: str) -> None:
    body = character * (BODY_BYTES_MAX // len(character.encode()))
    assert clean_body(body) == body
    details = refusal(clean_body, body + "a")
    assert (details["field"], details["reason"]) == ("body", "tooLong")
    assert details["actual"] == BODY_BYTES_MAX + 1


def test_the_body_limit_counts_line_ends_once() -> None:
    assert len(clean_body("\r\n" * BODY_BYTES_MAX)) == BODY_BYTES_MAX


@pytest.mark.parametrize(
    ("one", "other"),
    [("Café", "cafe\u0301"), ("STRASSE", "straße"), ("FAQ", "faq"), ("ΑΣ", "ας")],
)
def test_sibling_keys_fold_together(one: str, other: str) -> None:
    assert fold_key(one) == fold_key(other)


def test_diacritics_keep_keys_apart() -> None:
    assert fold_key("cafe") != fold_key("café")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_fold_key_is_the_rule_it_is_written_from(key: str) -> None:
    nfc = unicodedata.normalize("NFC", key)
    assert fold_key(key) == unicodedata.normalize("NFC", nfc.casefold())
