"""What a text is before anything else sees it: clean line ends, NFC names, limits kept."""

import re
import unicodedata

from kbstore.errors import ValidationError
from kbstore.limits import (
    BODY_BYTES_MAX,
    DESCRIPTION_TOKENS_MAX,
    KEY_CODE_POINTS_MAX,
    NAME_CODE_POINTS_MAX,
    NOTE_TOKENS_MAX,
)
from kbstore.text.tokens import estimate_tokens

KEY_CHARACTERS_REFUSED = "/#%"

_NEVER_IN_TEXT = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def clean_text(value: str, field: str) -> str:
    """The text with every `\\r\\n` and `\\r` as `\\n`, otherwise as sent.

    Raises ValidationError for a NUL (`reason` nul) or a lone surrogate (`surrogate`), which
    neither UTF-8 nor the databases can hold.
    """
    bad = _NEVER_IN_TEXT.search(value)
    if bad is not None:
        reason = "nul" if bad[0] == "\0" else "surrogate"
        what = "a NUL character" if reason == "nul" else "half of a surrogate pair"
        raise ValidationError(
            f"{field} contains {what}", field=field, reason=reason, position=bad.start()
        )
    if "\r" in value:
        return value.replace("\r\n", "\n").replace("\r", "\n")
    return value


def clean_name(value: str, field: str = "name") -> str:
    """The name in NFC, without white space around it: 1 to 300 code points, one line.

    Raises ValidationError: `reason` nul, surrogate, control, empty or tooLong.
    """
    name = unicodedata.normalize("NFC", clean_text(value, field)).strip()
    _refuse_control(name, field)
    if not name:
        raise ValidationError(f"{field} is empty", field=field, reason="empty")
    _refuse_long(name, field, NAME_CODE_POINTS_MAX)
    return name


def clean_key(value: str, field: str = "key") -> str:
    """The key in NFC: 1 to 100 code points of any script, none of `/ # %`, no control character.

    White space around it stays. Raises ValidationError: `reason` nul, surrogate, control,
    empty, reserved (`.` and `..`), character or tooLong.
    """
    key = unicodedata.normalize("NFC", clean_text(value, field))
    _refuse_control(key, field)
    if not key.strip():
        raise ValidationError(f"{field} is empty", field=field, reason="empty")
    if key in (".", ".."):
        raise ValidationError(f"{field} must not be {key!r}", field=field, reason="reserved")
    bad = next((c for c in KEY_CHARACTERS_REFUSED if c in key), None)
    if bad is not None:
        raise ValidationError(
            f'Knowledge page key "{key[:KEY_CODE_POINTS_MAX]}" must not contain "/", "#" or "%"',
            field=field,
            reason="character",
            character=bad,
        )
    _refuse_long(key, field, KEY_CODE_POINTS_MAX)
    return key


def fold_key(key: str) -> str:
    """What makes two sibling keys the same: the key in NFC, case-folded, in NFC again."""
    if key.isascii():
        return key.lower()
    nfc = unicodedata.normalize("NFC", key)
    return unicodedata.normalize("NFC", nfc.casefold())


def clean_description(value: str, field: str = "description") -> str:
    """The description as `clean_text` leaves it, at most 100 tokens; an empty one clears it.

    The sentence of the refusal is reference 2's; `reason` is tooLong.
    """
    text = clean_text(value, field)
    _refuse_tokens(
        text,
        field,
        DESCRIPTION_TOKENS_MAX,
        "Knowledge page description exceeds the {limit} token limit; "
        "put long-form text in the page body",
    )
    return text


def clean_note_text(value: str, field: str = "text") -> str:
    """The note's text as `clean_text` leaves it: not blank, at most 250 tokens.

    The sentence of the refusal is reference 2's; `reason` is empty or tooLong.
    """
    text = clean_text(value, field)
    if not text.strip():
        raise ValidationError(f"{field} is empty", field=field, reason="empty")
    _refuse_tokens(
        text,
        field,
        NOTE_TOKENS_MAX,
        "Knowledge note text exceeds the {limit} token limit; "
        "split it into separate notes or put long-form text in the page body",
    )
    return text


def clean_body(value: str, field: str = "body") -> str:
    """The body as `clean_text` leaves it, at most 4 MiB of UTF-8; an empty one is a body too."""
    body = clean_text(value, field)
    size_bytes = len(body) if body.isascii() else len(body.encode())
    if size_bytes > BODY_BYTES_MAX:
        raise ValidationError(
            f"{field} is {size_bytes} bytes long; at most {BODY_BYTES_MAX} are kept",
            field=field,
            reason="tooLong",
            limit=BODY_BYTES_MAX,
            actual=size_bytes,
        )
    return body


def _refuse_control(text: str, field: str) -> None:
    bad = _CONTROL.search(text)
    if bad is not None:
        raise ValidationError(
            f"{field} contains the control character U+{ord(bad[0]):04X}",
            field=field,
            reason="control",
            position=bad.start(),
        )


def _refuse_long(text: str, field: str, code_points_max: int) -> None:
    if len(text) > code_points_max:
        raise ValidationError(
            f"{field} is {len(text)} characters long; at most {code_points_max} are allowed",
            field=field,
            reason="tooLong",
            limit=code_points_max,
            actual=len(text),
        )


def _refuse_tokens(text: str, field: str, tokens_max: int, sentence: str) -> None:
    tokens = estimate_tokens(text)
    if tokens > tokens_max:
        raise ValidationError(
            sentence.format(limit=tokens_max),
            field=field,
            reason="tooLong",
            limit=tokens_max,
            actual=tokens,
        )
