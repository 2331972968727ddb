"""Request bodies: read within limits, parsed once, refused by the name of what is wrong."""

import asyncio
import json
from typing import ClassVar, Self

import msgspec
from litestar.types import HTTPScope, Receive
from msgspec import Struct

from api.headers import raw_header
from api.refusals import validation_error
from kbstore.errors import (
    MalformedRequestError,
    RequestTimeoutError,
    RequestTooLargeError,
    UnsupportedMediaTypeError,
)
from kbstore.limits import JSON_NESTING_LEVELS_MAX
from projections.views import Json

_decode = msgspec.json.Decoder().decode


class Body(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The JSON object an operation takes. One that `is_open` reads its value by itself."""

    is_open: ClassVar[bool] = False

    @classmethod
    def of(cls, value: Json) -> Self:
        """The body with this value; raises ValidationError by field."""
        try:
            return msgspec.convert(value, cls)
        except msgspec.ValidationError as error:
            raise validation_error(error) from None


class NoBody(Body, frozen=True, kw_only=True):
    """Of an operation that takes none: nothing, or an empty object."""


async def read_body(
    scope: HTTPScope, receive: Receive, bytes_max: int, seconds_max: float
) -> bytes:
    """The whole body of a request.

    Raises RequestTooLargeError before anything over `bytes_max` is kept, by the announced
    length if there is one, and RequestTimeoutError when it does not arrive in time.
    """
    length = raw_header(scope, b"content-length")
    if length is not None and (not length.isdigit() or len(length) > 18):
        raise MalformedRequestError("Content-Length is no number of bytes.")
    if length is not None and int(length) > bytes_max:
        raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(seconds_max):
            return await _receive_all(receive, bytes_max)
    except TimeoutError:
        raise RequestTimeoutError(
            f"The body of the request did not arrive within {seconds_max:g} seconds."
        ) from None


def media_type(scope: HTTPScope) -> str:
    """The type in `Content-Type`, in lower case, without parameters; "" when there is none.

    Raises UnsupportedMediaTypeError for a character encoding that is not UTF-8.
    """
    value = (raw_header(scope, b"content-type") or b"").decode("latin-1").lower()
    kind, *parameters = (part.strip() for part in value.split(";"))
    for parameter in parameters:
        name, _, charset = parameter.partition("=")
        if name.strip() == "charset" and charset.strip().strip('"') not in ("utf-8", "utf8"):
            raise UnsupportedMediaTypeError("The body must be UTF-8.")
    return kind


def parse_json(body: bytes) -> Json:
    """The JSON value in a body.

    Raises MalformedRequestError for what is no JSON in UTF-8 or nests over
    JSON_NESTING_LEVELS_MAX levels.
    """
    try:
        value: Json = _decode(body)
    except RecursionError:
        raise _too_deep() from None
    except msgspec.MsgspecError as error:
        raise MalformedRequestError(f"The body is not valid JSON: {error}.") from None
    if _levels_exceed(value, JSON_NESTING_LEVELS_MAX):
        raise _too_deep()
    return value


def refuse_repeated_names(body: bytes) -> None:
    """Raises MalformedRequestError where valid JSON has a name twice in one object.

    Which of the two values counts would be a guess, and msgspec takes the last.
    """
    if body:
        _check_names(body.decode())


async def _receive_all(receive: Receive, bytes_max: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise MalformedRequestError("The connection closed before the request was complete.")
        assert message["type"] == "http.request"
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _levels_exceed(value: Json, levels_max: int) -> bool:
    """Whether lists and objects nest deeper; walks level by level, so depth costs no stack."""
    level: list[Json] = [value]
    for _ in range(levels_max + 1):
        containers = [item for item in level if isinstance(item, (dict, list))]
        if not containers:
            return False
        level = [
            inner
            for item in containers
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return True


def _unique(pairs: list[tuple[str, object]]) -> None:
    names = set()
    for name, _ in pairs:
        if name in names:
            raise MalformedRequestError(f"The body has {name[:64]!a} twice in one object.")
        names.add(name)


def _nothing(text: str) -> None:
    """What a number is read as where only names count."""


_check_names = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_nothing, parse_float=_nothing
).decode


def _too_large(bytes_max: int) -> RequestTooLargeError:
    return RequestTooLargeError(f"A request has at most {bytes_max} bytes.", limit=bytes_max)


def _too_deep() -> MalformedRequestError:
    return MalformedRequestError(
        f"The body nests over {JSON_NESTING_LEVELS_MAX} levels.", limit=JSON_NESTING_LEVELS_MAX
    )
