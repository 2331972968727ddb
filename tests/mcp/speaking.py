"""Speaking MCP to the application: by the official SDK's client, and message by message."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
import msgspec
from litestar import Litestar
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY

from api.app import create_app
from api.settings import Settings
from api.wiring import Services
from tests.knowledge import KnowledgeBase

Mode = Literal["legacy", "auto"]
Json = dict[str, Any]
Message = tuple[Json, dict[str, str]]
Make = Callable[..., Message]
"""Makes messages of one revision: `legacy` or `modern`."""

MODES: tuple[Mode, ...] = ("legacy", "auto")
"""How the client begins: with the handshake of 2025-11-25, or as 2026-07-28 has it."""

ORIGIN = "http://127.0.0.1:8642"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
ACCEPTED = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}


class Wire:
    """An application that runs, and ways to speak to it with a key."""

    def __init__(self, app: Litestar | None = None, url: str = ORIGIN) -> None:
        self._transport = None if app is None else httpx2.ASGITransport(app=app)  # type: ignore[arg-type]
        self.url = url

    def http(self, token: str = "", headers: Mapping[str, str] | None = None) -> httpx2.AsyncClient:
        key = {"authorization": f"Bearer {token}"} if token else {}
        return httpx2.AsyncClient(
            transport=self._transport,
            base_url=self.url,
            headers={**key, **(headers or {})},
            timeout=20,
        )

    @asynccontextmanager
    async def client(
        self, token: str, mode: Mode, query: str = "", headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Client]:
        """The SDK's client, connected."""
        async with (
            self.http(token, headers) as http,
            Client(
                streamable_http_client(f"{self.url}/mcp{query}", http_client=http), mode=mode
            ) as client,
        ):
            yield client

    async def post(
        self, token: str, content: object, headers: Mapping[str, str] | None = None, query: str = ""
    ) -> httpx2.Response:
        """The answer to one message, sent as it is when it is bytes."""
        body = content if isinstance(content, bytes) else msgspec.json.encode(content)
        async with self.http(token) as http:
            return await http.post(
                f"/mcp{query}", content=body, headers={**ACCEPTED, **(headers or {})}
            )


@asynccontextmanager
async def running(services: Services, settings: Settings | None = None) -> AsyncIterator[Wire]:
    """The application without a socket, for the length of the block."""
    app = create_app(services, settings)
    async with app.lifespan():
        yield Wire(app)


def legacy(method: str = "tools/list", **params: object) -> Message:
    """A message of 2025-11-25 and its headers."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return message, {"mcp-protocol-version": LEGACY}


def modern(method: str = "tools/list", *, version: object = MODERN, **params: object) -> Message:
    """A message of 2026-07-28 and its headers."""
    meta = {PROTOCOL_VERSION_META_KEY: version, CLIENT_CAPABILITIES_META_KEY: {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {"mcp-protocol-version": str(version), "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = str(params["name"])
    return message, headers


def error_in(response: httpx2.Response) -> Json:
    """The JSON-RPC error of an answer, which has to be one."""
    body = msgspec.json.decode(response.content, type=Json)
    assert body["jsonrpc"] == "2.0"
    error: Json = body["error"]
    return error


def ask(
    kb: KnowledgeBase, story: Callable[[Wire], Awaitable[None]], settings: Settings | None = None
) -> None:
    """Runs a story with an application over the services of a knowledge base."""

    async def run() -> None:
        async with running(kb.services, settings) as wire:
            await story(wire)

    asyncio.run(run())


def call_of(make: Make, tool: str = "knowledge_list", **arguments: object) -> Message:
    """A message that calls a tool, and its headers."""
    return make("tools/call", name=tool, arguments=arguments)
