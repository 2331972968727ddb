"""Header values: UTF-8, once, within limits; and what an expected version looks like."""

from types import SimpleNamespace
from typing import Any

import pytest

from api.headers import display_name, text_header
from api.write import expected_version
from kbstore.errors import PreconditionRequiredError, ValidationError


def scope(*headers: tuple[bytes, bytes]) -> Any:
    return {"type": "http", "headers": list(headers)}


def call(*values: bytes) -> Any:
    return SimpleNamespace(scope=scope(*((b"if-match", value) for value in values)))


def reason(*values: bytes, limit: int = 5) -> object:
    with pytest.raises(ValidationError) as raised:
        text_header(scope(*((b"kb-run", value) for value in values)), b"kb-run", limit)
    assert raised.value.details["field"] == "KB-Run"
    return raised.value.details["reason"]


def test_a_header_is_utf8_without_white_space_around_it() -> None:
    assert text_header(scope((b"kb-run", "  über ".encode())), b"kb-run", 5) == "über"
    assert text_header(scope((b"kb-run", b"  ")), b"kb-run") is None
    assert text_header(scope((b"kb-other", b"x")), b"kb-run") is None


def test_what_is_wrong_with_a_header_is_told() -> None:
    assert reason(b"\xfc") == "notUtf8"
    assert reason(b"a\x01b") == "control"
    assert reason(b"123456") == "tooLong"
    assert reason(b"a", b"a") == "repeated"
    assert text_header(scope((b"kb-run", b"12345")), b"kb-run", 5) == "12345"


def test_headers_are_shown_as_people_write_them() -> None:
    assert display_name(b"kb-tool-call") == "KB-Tool-Call"
    assert display_name(b"if-match") == "If-Match"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b'"3"', 3),
        (b'"0"', 0),
        (b'"3-0123456789abcdef"', 3),
        (b'  "12-x"  ', 12),
        (b"*", "any"),
    ],
)
def test_an_expected_version_is_read(given: bytes, expected: int | str) -> None:
    assert expected_version(call(given)) == expected


@pytest.mark.parametrize(
    "given",
    [
        b"3",
        b'W/"3"',
        b'"x"',
        b'"-3"',
        b'""',
        b'"3", "4"',
        b'"3',
        b'"' + b"9" * 16 + b'"',
        '"3-ü"'.encode(),
        '"\u0663"'.encode(),
        b'"1"x',
    ],
)
def test_anything_else_is_malformed(given: bytes) -> None:
    with pytest.raises(ValidationError) as raised:
        expected_version(call(given))
    assert raised.value.details == {"field": "If-Match", "reason": "malformed"}


def test_a_missing_expectation_is_required() -> None:
    for missing in (call(), call(b"")):
        with pytest.raises(PreconditionRequiredError):
            expected_version(missing)
