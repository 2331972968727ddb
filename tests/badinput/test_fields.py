"""Fields: missing, unknown, of another type, null, and text that no text may be.

What a field may be is read from the served contract, so that a new field is tried as well.
"""

from collections.abc import Iterator
from functools import cache

import msgspec
import pytest

from api.routes.registry import contract
from kbstore.errors import (
    ConfigurationInvalidError,
    MalformedRequestError,
    NotFoundError,
    ValidationError,
)
from tests.badinput.sending import Sender
from tests.badinput.stock import BY_NAME, WITH_BODY
from tests.http.world import Json

Path = tuple[str | int, ...]
CLOSED = [name for name in WITH_BODY if not BY_NAME[name].body.is_open]  # type: ignore[union-attr]
SAMPLES: dict[str, list[bytes]] = {
    "string": [b'""', b'"x"'],
    "integer": [b"1", b"-1"],
    "number": [b"1.5", b"1e400", b"-1e400", b"1e-400", b"1" + b"0" * 400],
    "boolean": [b"true", b"false"],
    "array": [b"[]", b"[1]", b"[null]", b"[[]]"],
    "object": [b"{}", b'{"a": 1}'],
    "null": [b"null"],
}
NO_TEXT = [b'"a\\u0000b"', b'"\\ud800"', b'"\\udfff\\ud800"', b'"a\\ud800\\u0041"']
MARK = "the place of the value"


# --- what the contract says of a body -------------------------------------------------------


@cache
def components() -> dict[str, Json]:
    schemas: dict[str, Json] = msgspec.json.decode(contract())["components"]["schemas"]
    return schemas


def resolved(schema: Json) -> Json:
    while "$ref" in schema:
        schema = components()[schema["$ref"].rpartition("/")[2]]
    return schema


def alternatives(schema: Json) -> list[Json]:
    schema = resolved(schema)
    inner = schema.get("anyOf") or schema.get("oneOf")
    return [found for each in inner for found in alternatives(each)] if inner else [schema]


def types_of(schema: Json) -> set[str]:
    """The JSON types a value may have; an enum says it by its values."""
    found: set[str] = set()
    for each in alternatives(schema):
        if "type" in each:
            found.add(each["type"])
        for value in each.get("enum", ()):
            found.add({str: "string", int: "integer", bool: "boolean"}[type(value)])
    return found


def fields(schema: Json, value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every field of a body with its schema; in lists, of each item there is."""
    for each in alternatives(schema):
        if isinstance(value, dict) and each.get("type") == "object":
            op = each.get("properties", {}).get("op", {}).get("enum")
            if op and value.get("op") not in op:
                continue
            for name, inner in each.get("properties", {}).items():
                yield (*path, name), inner
                if name in value:
                    yield from fields(inner, value[name], (*path, name))
        if isinstance(value, list) and each.get("type") == "array":
            for index, item in enumerate(value):
                yield from fields(each["items"], item, (*path, index))


def schema_of(name: str) -> Json:
    body = BY_NAME[name].body
    assert body is not None
    return components()[body.__name__]


def put(body: Json, path: Path, value: bytes) -> bytes:
    """The encoded body with these bytes as the value at a path."""
    copy = msgspec.json.decode(msgspec.json.encode(body))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = MARK
    return msgspec.json.encode(copy).replace(msgspec.json.encode(MARK), value)


def shown(path: Path) -> str:
    """A path as refusals write it."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def named(field: str, path: Path) -> bool:
    """Whether a refusal names the field: msgspec writes `[...]` for the place in a list."""
    exact = shown(path)
    loose = "".join("[...]" if isinstance(s, int) else f".{s}" for s in path).lstrip(".")
    return field.startswith((exact, loose))


# --- the tests ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLOSED)
def test_a_field_of_another_type_is_named(send: Sender, name: str) -> None:
    good = send.good(name)
    tried = 0
    for path, schema in fields(schema_of(name), good.body or {}):
        allowed = types_of(schema)
        for kind, samples in SAMPLES.items():
            if kind in allowed or (kind == "integer" and "number" in allowed):
                continue
            for sample in samples:
                if kind == "number" and sample == b"1e-400":
                    continue
                raw = put(good.body or {}, path, sample)
                answer = send.refused(good, ValidationError, MalformedRequestError, raw=raw)
                if answer.code == ValidationError.code:
                    assert named(answer.details["field"], path) or path[-1] == "op", answer
                tried += 1
    assert tried or not schema_of(name)["properties"]


@pytest.mark.parametrize("name", CLOSED)
def test_an_unknown_field_is_named(send: Sender, name: str) -> None:
    good = send.good(name)
    places = {path[:-1] for path, _ in fields(schema_of(name), good.body or {})} | {()}
    for place in places:
        for field in ("unheardOf", "Name", "__proto__", "", "é" * 50):
            path: Path = (*place, field)
            raw = put(good.body or {}, path, b"1")
            answer = send.refused(good, ValidationError, raw=raw)
            assert answer.details["reason"] == "unknown", answer
            assert answer.details["field"].endswith(field), answer
            assert named(answer.details["field"], place), answer


@pytest.mark.parametrize("name", CLOSED)
def test_a_missing_field_is_named(send: Sender, name: str) -> None:
    good = send.good(name)
    for field in schema_of(name).get("required", ()):
        body = {key: value for key, value in good.body.items() if key != field}
        answer = send.refused(good, ValidationError, raw=msgspec.json.encode(body))
        assert answer.details["field"] == field
        assert answer.details["reason"] == "missing"


@pytest.mark.parametrize("name", CLOSED)
def test_what_no_text_may_hold_is_refused_in_every_field(send: Sender, name: str) -> None:
    good = send.good(name)
    for path, schema in fields(schema_of(name), good.body or {}):
        in_list = types_of(schema) == {"array"}
        if "string" not in types_of(schema) and not in_list:
            continue
        for sample in NO_TEXT:
            raw = put(good.body or {}, path, b"[" + sample + b"]" if in_list else sample)
            refusals = (ValidationError, MalformedRequestError, NotFoundError)
            send.refused(good, *refusals, raw=raw)


def test_an_operation_of_a_kind_that_is_not_is_refused(send: Sender) -> None:
    good = send.good("commit")
    for op in (b'"destroy"', b"null", b"1", b"[]", b'""'):
        raw = b'{"operations": [{"op": ' + op + b"}]}"
        assert send.refused(good, ValidationError, raw=raw).details["field"]
    for raw in (b'{"operations": []}', b'{"operations": [{}]}', b'{"operations": [[]]}', b"{}"):
        send.refused(good, ValidationError, raw=raw)


@pytest.mark.parametrize("place", ['"$1"', '"$0"', '"$-1"', '"$00"', '"$99999"', '"$"', '"$x"'])
def test_a_place_that_no_operation_made_is_refused(send: Sender, place: str) -> None:
    raw = f'{{"operations": [{{"op": "edit", "page": {place}, "name": "x"}}]}}'.encode()
    answer = send.refused(send.good("commit"), raw=raw)
    assert answer.status in (422, 428)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"scopes": 1}',
        b'{"scopes": {"org:acme": 1}}',
        b'{"scopes": {"org:acme": {"acces": []}}}',
        b'{"scopes": {"org:acme": {"access": [{"principal": "self"}]}}}',
        b'{"scopes": {"org:acme": {"access": [{"principal": "self", "role": "king"}]}}}',
        b'{"scopes": {"org:acme": {"access": [{"principal": "no:one", "role": "owner"}]}}}',
        b'{"scopes": {"org": {}}}',
        b'{"scopes": {"org:a\\u0000b": {}}}',
        b'{"scopes": {"org:$a:$a": {}}}',
        b'{"scopes": {"org:acme": {"description": null}}}',
        b'{"scopes": {"org:acme": {"pages": [{"key": "a/b", "name": "x"}]}}}',
        b'{"scopes": {"org:acme": {"pages": [{"key": "a"}]}}}',
        b'{"scopes": {}, "scopes": {}}',
        b'{"settings": {"requireExpectedVersion": 1}}',
        b'{"unheardOf": 1e400}',
        b'{"unheardOf": 1}',
    ],
)
def test_a_wrong_configuration_names_its_key(send: Sender, raw: bytes) -> None:
    good = send.good("replaceConfiguration")
    answer = send.refused(good, ConfigurationInvalidError, MalformedRequestError, raw=raw)
    if answer.status == 422:
        assert answer.details["path"]
        assert answer.details["reason"]
