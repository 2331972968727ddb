"""Bodies that are no JSON, no object, too deep, of the wrong type or in the wrong encoding."""

import msgspec
import pytest

from kbstore.errors import (
    ConfigurationInvalidError,
    MalformedRequestError,
    UnsupportedMediaTypeError,
    ValidationError,
)
from kbstore.limits import JSON_NESTING_LEVELS_MAX
from tests.backends import on_sqlite
from tests.badinput.sending import Sender
from tests.badinput.stock import NEEDS_BODY, WITH_BODY, Request

pytestmark = on_sqlite
"""Refused before any database is asked."""

NO_JSON = [
    b" ",
    b"{",
    b"}",
    b"nul",
    b"[1, 2",
    b'{"name": }',
    b'{"name" "x"}',
    b'{"name": "x",}',
    b"{'name': 'x'}",
    b'{name: "x"}',
    b'{"name": "x"} {}',
    b'{"name": "x\ny"}',
    b'{"name": "\\q"}',
    b'{"name": "\\u12"}',
    b'{"name": "\\ud800"}',
    b'{"\\udfff": 1}',
    b'{"name": "\xff\xfe"}',
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}",
    b'{"name": NaN}',
    b'{"name": Infinity}',
    b'{"name": -Infinity}',
    b'{"name": 01}',
    b'{"name": 1e}',
    b'{"name": +1}',
    b'{"name": 0x10}',
    b"/* */ {}",
    b"\0",
    b'{"name": 1}\0',
]
NO_OBJECT = [b"[]", b'"x"', b"1", b"true", b"null", b"[{}]", b"1e400", b"-0"]
HUGE_NUMBERS = [
    b"18446744073709551616",
    b"-9223372036854775809",
    b"1" + b"0" * 400,
    b"-1" + b"0" * 400,
    b"1" + b"0" * 100_000,
    b"1e400",
    b"-1e400",
    b"1e-400",
    b"1." + b"0" * 100_000 + b"1",
]
WRONG_TYPES = [
    "text/plain",
    "application/xml",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=latin-1",
    "application/json-patch+json",
    "json",
    "*/*",
    ";",
    "",
]


@pytest.mark.parametrize("name", WITH_BODY)
@pytest.mark.parametrize("raw", NO_JSON)
def test_what_is_no_json_is_malformed(send: Sender, name: str, raw: bytes) -> None:
    send.refused(send.good(name), MalformedRequestError, raw=raw)


@pytest.mark.parametrize("name", NEEDS_BODY)
def test_an_empty_body_is_malformed(send: Sender, name: str) -> None:
    send.refused(send.good(name), MalformedRequestError, raw=b"")


@pytest.mark.parametrize("name", WITH_BODY)
@pytest.mark.parametrize("raw", NO_OBJECT)
def test_a_body_is_an_object(send: Sender, name: str, raw: bytes) -> None:
    refusals = (ValidationError, MalformedRequestError, ConfigurationInvalidError)
    send.refused(send.good(name), *refusals, raw=raw)


@pytest.mark.parametrize("name", WITH_BODY)
@pytest.mark.parametrize("depth", [JSON_NESTING_LEVELS_MAX + 1, 10_000, 1_000_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_json_is_malformed(
    send: Sender, name: str, depth: int, opening: bytes, closing: bytes
) -> None:
    core = b"" if opening == b"[" else b"1"
    for raw in (opening * depth + core + closing * depth, opening * depth):
        send.refused(send.good(name), MalformedRequestError, raw=raw)


@pytest.mark.parametrize("name", WITH_BODY)
@pytest.mark.parametrize("levels", [JSON_NESTING_LEVELS_MAX, JSON_NESTING_LEVELS_MAX + 1])
def test_the_level_too_many_is_malformed(send: Sender, name: str, levels: int) -> None:
    """Up to the limit the body is read, and refused for what it says."""
    inner = b"[" * (levels - 1) + b"]" * (levels - 1)
    answer = send.refused(send.good(name), raw=b'{"unheardOf":' + inner + b"}")
    is_read = answer.code != MalformedRequestError.code
    assert is_read == (levels <= JSON_NESTING_LEVELS_MAX)


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_name_that_stands_twice_is_refused(send: Sender, name: str) -> None:
    """Which one counts would be a guess, and two readers might guess differently."""
    good = send.good(name)
    body = good.body or {}
    field, value = next(iter(body.items()), ("unheardOf", 1))
    pair = msgspec.json.encode(field) + b":" + msgspec.json.encode(value)
    refusals = (MalformedRequestError, ConfigurationInvalidError)
    send.refused(good, *refusals, raw=b"{" + pair + b"," + pair + b"}")


@pytest.mark.parametrize("name", WITH_BODY)
@pytest.mark.parametrize("number", HUGE_NUMBERS)
@pytest.mark.parametrize("headers", [{}, {"idempotency-key": "huge"}])
def test_huge_numbers_are_refused(
    send: Sender, name: str, number: bytes, headers: dict[str, str]
) -> None:
    """Also where the body is hashed before it is looked at."""
    for raw in (number, b"[" + number + b"]", b'{"unheardOf": ' + number + b"}"):
        send.refused(send.good(name), raw=raw, headers=headers)


@pytest.mark.parametrize("name", NEEDS_BODY)
@pytest.mark.parametrize("content_type", WRONG_TYPES)
def test_another_media_type_is_unsupported(send: Sender, name: str, content_type: str) -> None:
    send.refused(send.good(name), UnsupportedMediaTypeError, headers={"content-type": content_type})


@pytest.mark.parametrize("name", NEEDS_BODY)
def test_a_media_type_that_stands_twice_is_refused(send: Sender, name: str) -> None:
    both = "application/json, text/plain"
    send.refused(send.good(name), UnsupportedMediaTypeError, headers={"content-type": both})


def test_broken_toml_is_refused(send: Sender) -> None:
    good = send.good("replaceConfiguration")
    for raw in (b"", b"[", b"a = ", b"\xff", b"scopes = 1", b"a.b." * 100 + b"c = 1", b"\0"):
        answer = send.refused(
            Request(name=good.name, headers=good.headers),
            MalformedRequestError,
            ConfigurationInvalidError,
            raw=raw or b"x",
            headers={"content-type": "application/toml"},
        )
        assert answer.status in (400, 422)
