"""Agents that share one knowledge base over MCP: nothing is lost, and who was refused goes on."""

import asyncio
import json
import re
from random import Random
from typing import Any

import msgspec
import pytest
from mcp import Client
from mcp_types import TextContent

from projections.projector import Projections
from projections.verify import verify
from tests.knowledge import SCOPE, KnowledgeBase
from tests.mcp.speaking import MODES, Json, Mode, Wire, running

AGENTS = 8
STEPS = 10
TRIES_MAX = 40
"""How often an agent tries one edit: each refusal means that another one got through."""

FILLING = "".join(f"Line {number} of a page that many edit.\n" for number in range(30))
LONG = "".join(
    f"## Part {part}\n\n" + "".join(f"Words {line} of part {part}.\n" for line in range(100))
    for part in range(120)
)


class Refused(Exception):
    """A tool refused; what it said and what it gave to go on."""

    def __init__(self, message: str, error: Json) -> None:
        super().__init__(message)
        self.error = error


async def call(client: Client, tool: str, arguments: Json) -> Json:
    """The result of a tool; raises Refused."""
    result = await client.call_tool(tool, arguments)
    if not result.is_error:
        content: Json = result.structured_content
        return content
    message, envelope = (block.text for block in result.content if isinstance(block, TextContent))
    raise Refused(message, msgspec.json.decode(envelope)["error"])


class Agent:
    """Works for a bounded number of steps, and remembers what it was told is done."""

    def __init__(self, client: Client, number: int, shared: list[str]) -> None:
        self._client = client
        self._number = number
        self._chosen = Random(number)
        self._shared = shared
        self.lines: dict[str, list[str]] = {page: [] for page in shared}
        self.notes: list[str] = []
        self.conflicts = 0

    async def work(self) -> None:
        for step in range(STEPS):
            await self._chosen.choice(
                (self._edit, self._edit, self._note, self._move, self._merge)
            )(f"agent {self._number} step {step}")

    async def _edit(self, mark: str) -> None:
        """Puts a line of its own behind one that it read."""
        page = self._chosen.choice(self._shared)
        for _ in range(TRIES_MAX):
            read = await self._read(page)
            number, _, text = self._chosen.choice(read["lines"]).partition("│")
            spot = {"line": int(number)}
            try:
                await self._call(
                    "knowledge_page",
                    {
                        "op": "write",
                        "page": page,
                        "range": {"start": spot, "end": spot},
                        "body": f"{text}\n{mark}",
                        "expectedVersion": read["version"],
                    },
                )
            except Refused as refused:
                assert refused.error["code"] == "VERSION_CONFLICT", refused
                details = refused.error["details"]
                assert details["currentVersion"] > details["expectedVersion"] == read["version"]
                assert f"expectedVersion {details['currentVersion']}" in str(refused)
                assert {"diff", "changes", "updatedBy", "updatedAt"} <= details.keys()
                self.conflicts += 1
            else:
                self.lines[page].append(mark)
                return
        raise AssertionError("an edit never got through")

    async def _read(self, page: str) -> Any:
        """A part of the page by lines, with the version it is of."""
        start = {"line": self._chosen.randint(1, 20)}
        return (await self._call("knowledge_read", {"page": page, "from": start}))["page"]

    async def _note(self, mark: str) -> None:
        page = self._chosen.choice(self._shared)
        arguments = {"op": "add", "page": page, "text": mark, "scope": [SCOPE]}
        await self._call("knowledge_note", arguments)
        self.notes.append(mark)

    async def _move(self, mark: str) -> None:
        """Puts one shared page under another one, where that can be."""
        page, parent = self._chosen.sample(self._shared, 2)
        arguments = {"op": "move", "page": page, "scope": SCOPE, "parent": parent}
        try:
            await self._call("knowledge_page", arguments)
        except Refused as refused:
            assert refused.error["code"] in ("WOULD_CREATE_CYCLE", "NESTING_TOO_DEEP"), refused
            await self._call("knowledge_page", {"op": "move", "page": page, "scope": SCOPE})

    async def _merge(self, mark: str) -> None:
        """A page of its own, with a note, goes into a shared one."""
        made = await self._call(
            "knowledge_page", {"op": "write", "scope": SCOPE, "name": mark, "body": "x"}
        )
        page = made["page"]["id"]
        note = {"op": "add", "page": page, "text": mark, "scope": [SCOPE]}
        await self._call("knowledge_note", note)
        into = self._chosen.choice(self._shared)
        await self._call("knowledge_page", {"op": "merge", "page": page, "into": into})
        self.notes.append(mark)

    async def _call(self, tool: str, arguments: Json) -> Json:
        return await call(self._client, tool, arguments)


async def shared_pages(client: Client) -> list[str]:
    pages = []
    for number in range(3):
        arguments = {"op": "write", "scope": SCOPE, "name": f"Shared {number}", "body": FILLING}
        made = await call(client, "knowledge_page", arguments)
        pages.append(str(made["page"]["id"]))
    return pages


async def read_to_the_end(client: Client, page: str, revision: int | None = None) -> str:
    """The body, put together from the lines of as many reads as `more` asks for."""
    lines: list[str] = []
    spot: Json | None = {"line": 1}
    while spot is not None:
        at = {} if revision is None else {"revision": revision}
        read = await call(client, "knowledge_read", {"page": page, "from": spot, **at})
        lines += [line.partition("│")[2] for line in read["page"]["lines"]]
        found = re.search(r"from: (\{.*\})", read["more"][0]) if "more" in read else None
        spot = json.loads(found[1]) if found else None
    return "\n".join(lines)


async def all_notes(client: Client, pages: list[str]) -> list[str]:
    found: list[str] = []
    for page in pages:
        arguments: Json = {"page": page, "notes": True, "limit": 50}
        while True:
            part = await call(client, "knowledge_read", arguments)
            found += [note["text"] for note in part["notes"]]
            if "nextCursor" not in part:
                break
            arguments = {"page": page, "cursor": part["nextCursor"]}
    return found


def test_eight_agents_lose_nothing_and_every_conflict_leads_on(kb: KnowledgeBase) -> None:
    async def agent(wire: Wire, number: int, pages: list[str]) -> Agent:
        token = kb.token(f"agent:{number}")
        async with wire.client(token, MODES[number % 2]) as client:
            worker = Agent(client, number, pages)
            await worker.work()
            return worker

    async def story() -> None:
        async with running(kb.services) as wire, wire.client(kb.token(), "auto") as client:
            pages = await shared_pages(client)
            agents = await asyncio.gather(*(agent(wire, n, pages) for n in range(AGENTS)))
            for page in pages:
                lines = (await read_to_the_end(client, page)).split("\n")
                written = [line for each in agents for line in each.lines[page]]
                assert sorted(line for line in lines if line.startswith("agent")) == sorted(written)
                kept = [line for line in lines if line.startswith("Line")]
                assert kept == FILLING.splitlines()
            noted = [text for each in agents for text in each.notes]
            assert sorted(await all_notes(client, pages)) == sorted(noted)
            assert sum(each.conflicts for each in agents) > 0
            assert sum(len(lines) for each in agents for lines in each.lines.values()) > 0

    asyncio.run(story())
    assert verify(kb.services.database, kb.id, Projections()).failures == ()


@pytest.mark.parametrize("length", [250_000])
def test_a_long_page_is_read_to_its_end(kb: KnowledgeBase, mode: Mode, length: int) -> None:
    assert len(LONG) > length

    async def story() -> None:
        async with running(kb.services) as wire, wire.client(kb.token(), mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert {"knowledge_read", "knowledge_page"} <= set(tools)
            arguments = {"op": "write", "scope": SCOPE, "name": "Long", "body": LONG}
            made = await call(client, "knowledge_page", arguments)
            assert await read_to_the_end(client, str(made["page"]["ref"])) == LONG

    asyncio.run(story())


def test_a_version_conflict_is_told_with_a_way_forward(kb: KnowledgeBase, mode: Mode) -> None:
    async def story() -> None:
        async with running(kb.services) as wire, wire.client(kb.token(), mode) as client:
            made = await call(
                client,
                "knowledge_page",
                {"op": "write", "scope": SCOPE, "name": "P", "body": "one\ntwo\nthree\n"},
            )
            page = str(made["page"]["ref"])
            edit: Json = {"op": "write", "page": page, "expectedVersion": 1}
            await call(client, "knowledge_page", {**edit, "body": "one\ntwo\nthree changed\n"})
            with pytest.raises(Refused) as refused:
                await call(client, "knowledge_page", {**edit, "body": "one changed\ntwo\nthree\n"})
            message = str(refused.value)
            assert message.startswith(f"Knowledge record version conflict: {made['page']['id']}")
            merged = refused.value.error["details"]["merged"]
            assert merged == {
                "body": "one changed\ntwo\nthree changed\n",
                "expectedVersion": 2,
            }
            again = {**edit, "body": merged["body"], "expectedVersion": merged["expectedVersion"]}
            assert (await call(client, "knowledge_page", again))["page"]["version"] == 3

    asyncio.run(story())
