"""The pinned context as an MCP resource, by the official client in both protocol revisions."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, TextResourceContents

from tests.knowledge import SCOPE, KnowledgeBase
from tests.mcp.speaking import Mode, running
from tests.mcp.test_agents import call

URI = "kbstore://context"


def tell(
    kb: KnowledgeBase,
    mode: Mode,
    story: Callable[[Client], Awaitable[None]],
    held: tuple[str, ...] = (SCOPE,),
) -> None:
    async def run() -> None:
        async with running(kb.services) as wire, wire.client(kb.token(held=held), mode) as client:
            await story(client)

    asyncio.run(run())


async def read(client: Client) -> str:
    (contents,) = (await client.read_resource(URI)).contents
    assert isinstance(contents, TextResourceContents)
    assert (str(contents.uri), contents.mime_type) == (URI, "text/markdown")
    return contents.text


def test_it_is_listed(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(client: Client) -> None:
        assert client.server_capabilities.resources is not None
        (resource,) = (await client.list_resources()).resources
        assert str(resource.uri) == URI

    tell(kb, mode, story)


def test_what_is_pinned_for_the_run_is_read_as_markdown(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(client: Client) -> None:
        assert await read(client) == ""
        write = {"op": "write", "scope": SCOPE}
        rules = {"key": "rules", "name": "Rules", "body": "Be kind."}
        await call(client, "knowledge_page", {**write, **rules})
        below = {"key": "one", "name": "One", "parent": "Rules"}
        await call(client, "knowledge_page", {**write, **below})
        large = {"key": "large", "name": "Large", "body": "word " * 800}
        await call(client, "knowledge_page", {**write, **large})
        pin = {"op": "pin", "audience": [SCOPE]}
        await call(client, "knowledge_pin", {**pin, "page": "Rules"})
        await call(client, "knowledge_pin", {**pin, "page": "Large"})
        await call(client, "knowledge_pin", {**pin, "page": "Rules", "kind": "list"})
        assert await read(client) == (
            "# Rules (org:acme#rules)\nBe kind.\n\n"
            "# Pages under Rules (org:acme#rules)\n- One (org:acme#rules/one)\n\n"
            "Pinned as well; read these when you need them:\n- Large (org:acme#large)"
        )

    tell(kb, mode, story)


def test_other_runs_have_their_own(kb: KnowledgeBase, mode: Mode) -> None:
    async def pin(client: Client) -> None:
        page = {"op": "write", "scope": SCOPE, "name": "Rules", "body": "x"}
        await call(client, "knowledge_page", page)
        await call(client, "knowledge_pin", {"op": "pin", "page": "Rules", "audience": [SCOPE]})

    async def nothing(client: Client) -> None:
        assert await read(client) == ""

    tell(kb, mode, pin)
    tell(kb, mode, nothing, ("viewer:acme",))


def test_another_uri_is_refused(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(client: Client) -> None:
        for uri in ("kbstore://other", "file:///etc/passwd", URI + "/x"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code == INVALID_PARAMS

    tell(kb, mode, story)
