"""Tools over MCP, by the official client in both protocol revisions: what HTTP answers, quoted."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent

from api.tools.registry import INSTRUCTIONS, TOOLS
from api.wiring import Services
from tests.asking import PREFIX
from tests.knowledge import SCOPE, TEAM, KnowledgeBase
from tests.mcp.speaking import LEGACY, MODERN, Json, Mode, Wire, running
from tests.mcp.toys import SECRET, toy_broken, toy_liar, toy_make, toys

Story = Callable[[Wire, Client], Awaitable[None]]


def tell(
    kb: KnowledgeBase,
    mode: Mode,
    story: Story,
    query: str = "",
    headers: Mapping[str, str] | None = None,
    held: tuple[str, ...] = (SCOPE,),
) -> None:
    """Runs a story with a client whose key holds org:acme, or others."""

    async def run() -> None:
        async with (
            running(kb.services) as wire,
            wire.client(kb.token(held=held), mode, query, headers) as client,
        ):
            await story(wire, client)

    asyncio.run(run())


def texts(result: CallToolResult) -> list[str]:
    for block in result.content:
        assert isinstance(block, TextContent)
    return [block.text for block in result.content if isinstance(block, TextContent)]


async def over_http(
    wire: Wire, kb: KnowledgeBase, tool: str, arguments: Json, **headers: str
) -> Json:
    """What a tool answers at the other door, to a key that holds the same."""
    async with wire.http(kb.token(), headers) as http:
        response = await http.post(f"{PREFIX}/{kb.slug}/tools/{tool}", json=arguments)
    return msgspec.json.decode(response.content, type=Json)


def test_the_client_speaks_the_revision_it_wants(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(wire: Wire, client: Client) -> None:
        assert client.protocol_version == {"legacy": LEGACY, "auto": MODERN}[mode]
        assert client.server_info is not None
        assert client.server_info.name == "kbstore"
        assert client.server_info.version
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.prompts is None

    tell(kb, mode, story)


def test_the_list_is_that_of_http(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(wire: Wire, client: Client) -> None:
        listed = (await client.list_tools()).tools
        async with wire.http(kb.token()) as http:
            items = (await http.get(f"{PREFIX}/{kb.slug}/tools")).json()["items"]
        assert [tool.name for tool in listed] == [tool.name for tool in TOOLS]
        for tool, item in zip(listed, items, strict=True):
            assert tool.title == item["annotations"]["title"]
            assert tool.annotations is not None
            told = tool.model_dump(by_alias=True, exclude_none=True, exclude={"title"})
            assert told == {name: item[name] for name in item if name != "group"}

    tell(kb, mode, story)


def test_a_call_answers_what_http_answers(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(wire: Wire, client: Client) -> None:
        for arguments in ({}, {"from": SCOPE}):
            result = await client.call_tool("knowledge_list", arguments)
            expected = await over_http(wire, kb, "knowledge_list", arguments)
            assert not result.is_error
            assert result.structured_content == expected
            assert [msgspec.json.decode(text) for text in texts(result)] == [expected]
        without = await client.call_tool("knowledge_list")
        assert without.structured_content == await over_http(wire, kb, "knowledge_list", {})

    tell(kb, mode, story)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"form": SCOPE}, "VALIDATION_ERROR"),
        ({"depth": "deep"}, "VALIDATION_ERROR"),
        ({"from": "org:nowhere"}, "NOT_FOUND"),
        ({"revision": 2**40}, "REVISION_NOT_REACHED"),
    ],
)
def test_a_refusal_is_a_result_that_a_model_can_read(
    kb: KnowledgeBase, mode: Mode, arguments: Json, code: str
) -> None:
    async def story(wire: Wire, client: Client) -> None:
        result = await client.call_tool("knowledge_list", arguments)
        error = (await over_http(wire, kb, "knowledge_list", arguments))["error"]
        assert error["code"] == code
        assert result.is_error
        assert result.structured_content is None
        message, envelope = texts(result)
        assert message == error["message"]
        assert msgspec.json.decode(envelope) == {"error": error}

    tell(kb, mode, story)


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(
    kb: KnowledgeBase, mode: Mode
) -> None:
    async def story(wire: Wire, client: Client) -> None:
        for name in ("knowledge_burn", "", "Wissen löschen", "x" * 10_000):
            with pytest.raises(MCPError) as refused:
                await client.call_tool(name, {})
            assert refused.value.code == INVALID_PARAMS
            assert len(refused.value.message) < 200

    tell(kb, mode, story)


def test_the_client_holds_an_answer_against_the_schema(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(wire: Wire, client: Client) -> None:
        await client.list_tools()
        with pytest.raises(RuntimeError, match="Invalid structured content"):
            await client.call_tool("toy_liar", {})

    with toys(toy_liar):
        tell(kb, mode, story)


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        ("", ["read", "write", "pins"]),
        ("?tools=knowledge", ["read", "write", "pins"]),
        ("?tools=read", ["read"]),
        ("?tools=write,read", ["read", "write"]),
        ("?tools=pins,%20pins,,", ["pins"]),
        ("?tools=pins,knowledge", ["read", "write", "pins"]),
    ],
)
def test_groups_pick_the_tools_and_what_is_said_of_them(
    kb: KnowledgeBase, mode: Mode, query: str, groups: list[str]
) -> None:
    async def story(wire: Wire, client: Client) -> None:
        expected = [tool.name for tool in (*TOOLS, toy_make) if tool.group in groups]
        assert [tool.name for tool in (await client.list_tools()).tools] == expected
        said = [text for group, text in INSTRUCTIONS.items() if group in groups]
        assert client.instructions == "\n\n".join(said)
        if "read" not in groups:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("knowledge_list", {})
            assert refused.value.code == INVALID_PARAMS

    with toys(toy_make):
        tell(kb, mode, story, query)


def test_a_group_that_is_not_there_is_refused_by_name(kb: KnowledgeBase, mode: Mode) -> None:
    async def run() -> None:
        async with running(kb.services) as wire:
            with pytest.raises(BaseException) as caught:  # noqa: PT011
                async with wire.client(kb.token(), mode, "?tools=read,files"):
                    raise AssertionError
        refused = _only(caught.value)
        assert isinstance(refused, MCPError)
        assert refused.message == (
            "There is no group of tools files; there are knowledge, read, write, pins."
        )

    asyncio.run(run())


def _only(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    return error


def test_headers_narrow_what_the_key_holds(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(wire: Wire, client: Client) -> None:
        listed = await client.call_tool("knowledge_list", {})
        assert listed.structured_content is not None
        assert [entry["ref"] for entry in listed.structured_content["entries"]] == [TEAM]

    tell(kb, mode, story, headers={"KB-Scopes": TEAM}, held=(SCOPE, TEAM))


def test_a_run_that_holds_nothing_is_told_so(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(wire: Wire, client: Client) -> None:
        refused = await client.call_tool("knowledge_list", {})
        assert refused.is_error
        assert msgspec.json.decode(texts(refused)[1])["error"]["code"] == "RUN_SCOPES_MISSING"

    tell(kb, mode, story, headers={"KB-Scopes": ""})


def test_a_commit_records_the_run_and_the_call(kb: KnowledgeBase, mode: Mode) -> None:
    async def story(wire: Wire, client: Client) -> None:
        made = await client.call_tool("toy_make", {"key": "page"})
        assert made.structured_content == {"revision": kb.revision, "key": "page", "nothing": None}

    headers = {"KB-Run": "run 7", "KB-Tool-Call": "call 8", "KB-Message": "why"}
    with toys(toy_make):
        tell(kb, mode, story, headers=headers)
    sql = "SELECT actor, run, tool_call, message FROM commits WHERE kb_id = ? AND revision = ?"
    assert kb.rows(sql, kb.revision) == [("user:ana", "run 7", "call 8", "why")]


@pytest.mark.parametrize("first", ["mcp", "http"])
def test_an_idempotency_key_holds_at_both_doors(kb: KnowledgeBase, mode: Mode, first: str) -> None:
    arguments = {"key": "page"}

    async def story(wire: Wire, client: Client) -> None:
        async def by_mcp() -> Json:
            result = await client.call_tool("toy_make", arguments)
            made = result.structured_content
            assert isinstance(made, dict)
            return made

        async def by_http() -> Json:
            return await over_http(wire, kb, "toy_make", arguments, **{"idempotency-key": "once"})

        ways = (by_mcp, by_http) if first == "mcp" else (by_http, by_mcp)
        made = [await way() for way in (*ways, *ways)]
        assert made == [made[0]] * 4
        assert made[0]["revision"] == kb.revision
        other = await client.call_tool("toy_make", {"key": "other"})
        assert msgspec.json.decode(texts(other)[1])["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"

    with toys(toy_make):
        tell(kb, mode, story, headers={"Idempotency-Key": "once"})


def test_a_defect_says_nothing_of_itself(
    kb: KnowledgeBase, mode: Mode, lines: list[dict[str, object]]
) -> None:
    async def story(wire: Wire, client: Client) -> None:
        failed = await client.call_tool("toy_broken", {})
        expected = (await over_http(wire, kb, "toy_broken", {}))["error"]
        assert failed.is_error
        assert texts(failed)[0] == expected["message"]
        assert msgspec.json.decode(texts(failed)[1]) == {"error": expected}
        assert SECRET not in failed.model_dump_json()

    with toys(toy_broken):
        tell(kb, mode, story, headers={"x-request-id": f"run-{mode}"})
    failed = [line for line in lines if line["event"] == "request_failed"]
    assert failed[0]["request_id"] == f"run-{mode}"
    assert SECRET in str(failed[0]["exc_info"])


def test_a_defect_beside_the_tools_says_nothing_either(
    kb: KnowledgeBase, mode: Mode, monkeypatch: pytest.MonkeyPatch, lines: list[dict[str, object]]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    async def story(wire: Wire, client: Client) -> None:
        monkeypatch.setattr("api.mcp.tools.picked", broken)
        with pytest.raises(MCPError) as failed:
            await client.list_tools()
        assert SECRET not in repr(failed.value)

    tell(kb, mode, story)
    assert [line for line in lines if line["event"] == "request_failed"]


def test_the_log_line_names_the_tool_and_the_refusal(
    kb: KnowledgeBase, mode: Mode, lines: list[dict[str, object]]
) -> None:
    async def story(wire: Wire, client: Client) -> None:
        await client.call_tool("knowledge_list", {"from": "org:nowhere"})

    tell(kb, mode, story)
    (line,) = [line for line in lines if "tool" in line]
    assert (line["tool"], line["refused"], line["kb"]) == ("knowledge_list", "NOT_FOUND", kb.slug)
    assert (line["path"], line["status"], line["principal"]) == ("/mcp", 200, "user:ana")


def test_each_key_names_its_knowledge_base(services: Services, mode: Mode) -> None:
    first, second = KnowledgeBase(services), KnowledgeBase(services)
    before = [first.revision, second.revision]

    async def run() -> None:
        async with running(services) as wire:
            for kb, key in ((first, "a"), (second, "a"), (second, "b")):
                async with wire.client(kb.token(), mode) as client:
                    made = await client.call_tool("toy_make", {"key": key})
                    assert not made.is_error

    with toys(toy_make):
        asyncio.run(run())
    assert [first.revision - before[0], second.revision - before[1]] == [1, 2]
