"""`/mcp`: who may speak, what is looked at before the SDK sees it, and which leg serves it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from litestar.types import ASGIApp, HTTPReceiveMessage, HTTPScope, Receive, Scope, Send
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from api.bodies import refuse_repeated_names
from api.calls import Server, open_call
from api.mcp.exchange import Exchange
from api.mcp.groups import groups_in
from api.mcp.messages import is_message
from api.mcp.origins import is_origin_allowed
from api.mcp.refusing import refuse, refuse_message, refuse_origin
from api.mcp.revisions import Leg, leg_of
from api.mcp.speaker import make_speaker
from api.writing import read_value


class Door:
    """Answers MCP messages; nothing is kept from one to the next."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._allowed_origins = frozenset(server.settings.allowed_origins)
        speaker, bytes_max = make_speaker(), server.settings.request_bytes_max
        # With SSE, if an answer takes long, so that a client can cancel by going away.
        self._modern = StreamableHTTPSessionManager(speaker, max_request_body_size=bytes_max)
        self._legacy = StreamableHTTPSessionManager(
            speaker, stateless=True, json_response=True, max_request_body_size=bytes_max
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Answers for the length of the block, which can be entered once."""
        async with self._modern.run(), self._legacy.run():
            yield

    async def answer(self, scope: HTTPScope, receive: Receive) -> ASGIApp:
        """The answer to a POST.

        Looked at are, in this order: the key and its headers, the origin, the groups, and the
        body as a tool over HTTP has it.
        """
        try:
            return await self._answer(scope, receive)
        except Exception as error:
            return refuse(error, scope["state"]["request_id"])

    async def _answer(self, scope: HTTPScope, receive: Receive) -> ASGIApp:
        call = await open_call(self._server, scope, receive, await self._server.repeats.key(scope))
        if not is_origin_allowed(scope, self._allowed_origins):
            return refuse_origin()
        groups = groups_in(scope["query_string"])
        body, message = await read_value(call, is_optional=False)
        refuse_repeated_names(body)
        if not is_message(message):
            return refuse_message()
        Exchange(call, body, groups).put()
        return self._serve(leg_of(scope, message), body)

    def _serve(self, leg: Leg, body: bytes) -> ASGIApp:
        manager = self._modern if leg.is_modern else self._legacy

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            # A copy: the SDK need not know the server's own.
            mended = {**scope, "headers": leg.headers}
            await manager.handle_request(mended, _again(body, receive), send)  # type: ignore[arg-type]

        return serve


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read once more, and then what comes after it."""
    is_given = False

    async def give() -> HTTPReceiveMessage:
        nonlocal is_given
        if is_given:
            return await receive()  # type: ignore[return-value]
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give
