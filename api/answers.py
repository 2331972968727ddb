"""Answers: encoded once, sent as they are."""

from collections.abc import Iterable
from hashlib import sha256

import msgspec
from litestar.enums import ScopeType
from litestar.types import Receive, Scope, Send

Headers = tuple[tuple[bytes, bytes], ...]
JSON = b"application/json"
NO_CACHE = (b"cache-control", b"private, no-cache")
NO_STORE = (b"cache-control", b"no-store")

_encode = msgspec.json.Encoder().encode


class Answer:
    """One HTTP answer, an ASGI application of its own; safe to send more than once."""

    __slots__ = ("body", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes,
        headers: Iterable[tuple[bytes, bytes]] = (),
        *,
        media_type: bytes = JSON,
    ) -> None:
        self.status = status
        self.body = body
        about_body = (
            ((b"content-type", media_type), (b"content-length", b"%d" % len(body)))
            if status not in (204, 304)
            else ()
        )
        self.headers = [*about_body, *headers]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        is_head = scope["type"] == ScopeType.HTTP and scope["method"] == "HEAD"
        body = b"" if is_head else self.body
        await send({"type": "http.response.body", "body": body, "more_body": False})


def encode(value: object) -> bytes:
    """The JSON of a view."""
    return _encode(value)


def json_answer(status: int, value: object, headers: Iterable[tuple[bytes, bytes]] = ()) -> Answer:
    return Answer(status, encode(value), headers)


def entity_tag(body: bytes, version: int | None = None) -> str:
    """`"<version>-<hash of the representation>"`, without a version the hash alone.

    What a caller may not see is not in his representation, so the hash also tells apart who
    may see what, and holds no secret.
    """
    digest = sha256(body).hexdigest()[:32]
    return f'"{digest}"' if version is None else f'"{version}-{digest}"'
