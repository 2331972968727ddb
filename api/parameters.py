"""Query parameters, read strictly into Structs: what is not known is refused and named."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct, inspect

from api.refusals import validation_error
from kbstore.errors import ValidationError
from kbstore.limits import CURSOR_CHARACTERS_MAX, LIST_ITEMS_MAX, REVISION_MAX

P = TypeVar("P", bound=Struct)
Convert = Callable[[str, str], object]

Revision = Annotated[int, Meta(ge=0, le=REVISION_MAX)]
Position = Annotated[int, Meta(ge=0, le=REVISION_MAX)]
Limit = Annotated[int, Meta(ge=1, le=LIST_ITEMS_MAX)]
Version = Annotated[int, Meta(ge=0, le=REVISION_MAX)]
Cursor = Annotated[str, Meta(max_length=CURSOR_CHARACTERS_MAX)]
Time = Annotated[str, Meta(description="RFC 3339 with a zone, such as 2026-03-01T10:00:00Z")]

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_PARAMETERS_MAX = 64


class Parameters(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The parameters of an operation. A None stands for one that was not sent."""


class AtRevision(Parameters, frozen=True, kw_only=True):
    """Which state a read shows: a revision, or the last one at or before a time, else the head,
    which `minRevision` waits for."""

    revision: Revision | None = None
    as_of: Time | None = None
    min_revision: Revision | None = None


class ListAt(AtRevision, frozen=True, kw_only=True):
    """A list at a revision, one part of it at a time."""

    limit: Limit | None = None
    cursor: Cursor | None = None


def parse_parameters(query: bytes, kind: type[P]) -> P:
    """The parameters in a query string.

    Raises ValidationError for the parameter: reason `unknown`, `repeated`, `notUtf8`,
    `notAnInteger`, `notABoolean`, or those of `validation_error`.
    """
    if not query:
        nothing: P = _nothing_given(kind)
        return nothing
    converters = _converters(kind)
    values: dict[str, object] = {}
    for name, text in _pairs(query):
        convert = converters.get(name)
        if convert is None:
            raise ValidationError(
                f"There is no parameter {name[:64]} here.", field=name[:64], reason="unknown"
            )
        if name in values:
            raise ValidationError(f"{name} stands twice.", field=name, reason="repeated")
        values[name] = convert(text, name)
    return _validated(values, kind)


@lru_cache(maxsize=256)
def _nothing_given(kind: type[P]) -> P:
    return _validated({}, kind)


def _validated(values: dict[str, object], kind: type[P]) -> P:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise validation_error(error) from None


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_PARAMETERS_MAX,
        )
    except UnicodeDecodeError:
        raise ValidationError(
            "The query is not UTF-8 in percent-encoding.", field="query", reason="notUtf8"
        ) from None
    except ValueError:
        raise ValidationError(
            f"A query has at most {_PARAMETERS_MAX} parameters.", field="query", reason="tooMany"
        ) from None


@lru_cache(maxsize=256)
def _converters(kind: type[Struct]) -> dict[str, Convert]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: _converter(field.type) for field in info.fields}


def _converter(kind: inspect.Type) -> Convert:
    """How text becomes a value; None in a union only stands for "not sent"."""
    if isinstance(kind, inspect.UnionType):
        kind = next(part for part in kind.types if not isinstance(part, inspect.NoneType))
    if isinstance(kind, inspect.IntType):
        return _integer
    if isinstance(kind, inspect.BoolType):
        return _boolean
    return _text


def _text(text: str, name: str) -> str:
    return text


def _integer(text: str, name: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise ValidationError(
            f"{name} must be an integer.", field=name, reason="notAnInteger", given=text[:64]
        )
    return int(text)


def _boolean(text: str, name: str) -> bool:
    if text not in ("true", "false"):
        raise ValidationError(
            f"{name} must be true or false.", field=name, reason="notABoolean", given=text[:64]
        )
    return text == "true"
