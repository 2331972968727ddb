"""The outermost layer: what holds for every request, whatever answers it.

Each request gets an id (its own `x-request-id` when that is well-formed), each answer carries
it and is never guessed at by a browser, and each leaves one line in the log.
"""

import itertools
import re
import secrets
import time

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from api.errors import error_answer

log = structlog.get_logger(__name__)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_NOSNIFF = (b"x-content-type-options", b"nosniff")


class Frame:
    """Wraps the application that routes requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._prefix = secrets.token_hex(8)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        await self._framed(scope, receive, send)

    async def _framed(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request_id = self._request_id(scope)
        scope["state"]["request_id"] = request_id
        always = ((b"x-request-id", request_id.encode()), _NOSNIFF)
        status = 0

        async def send_framed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                message["headers"] = [*message["headers"], *always]
            await send(message)

        try:
            await self._app(scope, receive, send_framed)
        except Exception as error:
            if status:
                raise
            await error_answer(error, request_id)(scope, receive, send_framed)
        finally:
            log.info(
                "request",
                request_id=request_id,
                method=scope["method"],
                path=scope["path"],
                status=status,
                ms=round((time.perf_counter() - started) * 1_000, 2),
                **scope["state"].get("logged", {}),
            )

    def _request_id(self, scope: HTTPScope) -> str:
        for name, value in scope["headers"]:
            if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                return value.decode()
        return f"{self._prefix}-{next(self._numbers)}"
