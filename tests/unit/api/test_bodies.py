"""Request bodies: read within their limits, and refused by the name of what is wrong."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from api.bodies import Body, media_type, parse_json, read_body
from api.routes.commits import CommitBody
from api.routes.pages import EditBody
from kbstore.errors import (
    KBStoreError,
    MalformedRequestError,
    RequestTimeoutError,
    RequestTooLargeError,
    UnsupportedMediaTypeError,
    ValidationError,
)
from kbstore.limits import JSON_NESTING_LEVELS_MAX

Message = dict[str, Any]


def scope(**headers: str) -> Any:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "headers": pairs}


def receiving(*chunks: bytes, ends: bool = True) -> Callable[[], Awaitable[Message]]:
    """The chunks of a body; one that does not end stays silent after them."""
    waiting = list(chunks)

    async def receive() -> Message:
        if waiting:
            chunk = waiting.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(waiting) or not ends}
        await asyncio.Event().wait()
        raise AssertionError("never set")

    return receive


def read(*chunks: bytes, bytes_max: int = 10, ends: bool = True, **headers: str) -> bytes:
    receive: Any = receiving(*chunks, ends=ends)
    return asyncio.run(read_body(scope(**headers), receive, bytes_max, 0.05))


def test_a_body_is_put_together() -> None:
    assert read(b"{", b'"a"', b"}") == b'{"a"}'


def test_a_body_at_the_limit_is_read_and_one_over_it_is_not() -> None:
    assert read(b"x" * 10) == b"x" * 10
    for chunks in ([b"x" * 11], [b"x" * 5, b"x" * 6]):
        with pytest.raises(RequestTooLargeError):
            read(*chunks)


def test_an_announced_length_is_refused_before_anything_is_read() -> None:
    with pytest.raises(RequestTooLargeError):
        read(ends=False, content_length="11")
    with pytest.raises(MalformedRequestError):
        read(b"", content_length="many")


def test_a_slow_body_is_given_up() -> None:
    with pytest.raises(RequestTimeoutError) as raised:
        read(b"{", ends=False)
    assert raised.value.http_status == 408


def test_a_connection_that_closes_early_is_no_request() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    closing: Any = receive
    with pytest.raises(MalformedRequestError):
        asyncio.run(read_body(scope(), closing, 10, 1))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("application/json", "application/json"),
        ("Application/JSON; charset=UTF-8", "application/json"),
        ('application/json;charset="utf-8"', "application/json"),
        ("text/plain", "text/plain"),
        ("", ""),
    ],
)
def test_the_media_type_is_read_without_its_parameters(given: str, expected: str) -> None:
    assert media_type(scope(content_type=given)) == expected


def test_another_character_encoding_is_refused() -> None:
    with pytest.raises(UnsupportedMediaTypeError):
        media_type(scope(content_type="application/json; charset=latin-1"))


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def test_nesting_is_allowed_to_its_limit() -> None:
    parse_json(nested(JSON_NESTING_LEVELS_MAX))
    parse_json(b'{"a":' * JSON_NESTING_LEVELS_MAX + b"1" + b"}" * JSON_NESTING_LEVELS_MAX)
    with pytest.raises(MalformedRequestError):
        parse_json(nested(JSON_NESTING_LEVELS_MAX + 1))


@pytest.mark.parametrize(
    "body",
    [
        nested(10_000),
        b"[" * 1_000_000,
        b'{"a":' * 10_000,
        b"",
        b"{",
        b"nonsense",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e999",
        b"-1e999",
        b"1" * 5_000,
        b"1" * 1_000_000,
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\\ud800"',
        b'{"a":1}{"b":2}',
        b"\xef\xbb\xbf{}",
        '{"a": "ü"}'.encode("utf-16"),
    ],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_no_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedRequestError):
        parse_json(body)


@pytest.mark.parametrize(
    ("kind", "body", "field", "reason"),
    [
        (EditBody, b"[]", "body", "type"),
        (EditBody, b'"x"', "body", "type"),
        (EditBody, b'{"nmae": "x"}', "nmae", "unknown"),
        (EditBody, b'{"name": 1}', "name", "type"),
        (EditBody, b'{"name": null}', "name", "type"),
        (EditBody, b'{"range": {"start": {"line": 1}}}', "range.end", "missing"),
        (
            EditBody,
            b'{"range": {"start": {"line": 0}, "end": {"line": 1}}}',
            "range.start.line",
            "outOfRange",
        ),
        (
            EditBody,
            b'{"range": {"start": {"line": 1e400}, "end": {"line": 1}}}',
            "",
            "malformed",
        ),
        (
            EditBody,
            b'{"range": {"start": {"line": 99999999999999999999999}, "end": {"line": 1}}}',
            "range.start.line",
            "outOfRange",
        ),
        (CommitBody, b'{"operations": []}', "operations", "outOfRange"),
        (CommitBody, b'{"operations": [{}]}', "operations[0].op", "missing"),
        (CommitBody, b'{"operations": [{"op": "burn"}]}', "operations[0].op", "unknownValue"),
        (
            CommitBody,
            b'{"operations": [{"op": "delete", "page": "$0", "now": true}]}',
            "operations[0].now",
            "unknown",
        ),
    ],
)
def test_a_wrong_body_is_refused_by_its_path(
    kind: type[Body], body: bytes, field: str, reason: str
) -> None:
    with pytest.raises(KBStoreError) as raised:
        kind.of(parse_json(body))
    if isinstance(raised.value, ValidationError):
        assert (raised.value.details["field"], raised.value.details["reason"]) == (field, reason)
    else:
        assert reason == "malformed"
