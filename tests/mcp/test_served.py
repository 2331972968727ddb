"""MCP over a real socket: what a server in front of the application adds or leaves."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import msgspec
import pytest

from tests.backends import on_sqlite
from tests.http.world import serve
from tests.knowledge import KnowledgeBase
from tests.mcp.speaking import ACCEPTED, Mode, Wire, legacy, modern
from tests.mcp.toys import WAIT_SECONDS_MAX, Slow, Waiting, toy_make, toys

pytestmark = on_sqlite


@contextmanager
def served(kb: KnowledgeBase) -> Iterator[Wire]:
    with serve(kb.services) as url:
        yield Wire(url=url)


def test_a_client_lists_calls_and_is_refused(kb: KnowledgeBase, mode: Mode) -> None:
    async def run(wire: Wire) -> None:
        async with wire.client(kb.token(), mode, headers={"origin": wire.url}) as client:
            assert (await client.list_tools()).tools
            answers = await asyncio.gather(
                *(client.call_tool("knowledge_list", {}) for _ in range(8))
            )
            assert [answer.is_error for answer in answers] == [False] * 8
            assert (await client.call_tool("knowledge_list", {"from": "org:no"})).is_error

    with served(kb) as wire:
        asyncio.run(run(wire))


def test_blanks_after_a_name_are_no_part_of_it(kb: KnowledgeBase) -> None:
    message, headers = modern("tools/call", name="knowledge_list", arguments={})
    body = msgspec.json.encode(message)
    with served(kb) as wire:
        address = httpx2.URL(wire.url)
        sent = {
            **ACCEPTED,
            **headers,
            "mcp-name": "knowledge_list \t ",
            "authorization": f"Bearer {kb.token()}",
            "host": f"{address.host}:{address.port}",
            "content-length": str(len(body)),
            "connection": "close",
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        with socket.create_connection((address.host, address.port or 0), timeout=20) as connection:
            connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_client_that_goes_away_cancels_its_call(kb: KnowledgeBase) -> None:
    waiting = Waiting()
    message, headers = modern("tools/call", name="toy_waiting", arguments={})

    async def run(wire: Wire) -> None:
        asked = asyncio.create_task(wire.post(kb.token(), message, headers))
        await waiting.until_begun()
        asked.cancel()
        await waiting.until_cancelled()

    with toys(waiting.tool), served(kb) as wire:
        asyncio.run(run(wire))


def test_a_write_that_waits_goes_with_its_client(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = kb.services.commands.writer
    submit, queued = writer.submit, threading.Event()
    futures: list[Future[Any]] = []

    def submit_and_tell(*task: Any) -> Future[Any]:
        futures.append(submit(*task))
        queued.set()
        return futures[-1]

    token = kb.token()
    message, headers = modern("tools/call", name="toy_make", arguments={"key": "page"})

    async def run(wire: Wire) -> None:
        asked = asyncio.create_task(wire.post(token, message, headers))
        assert await asyncio.to_thread(queued.wait, WAIT_SECONDS_MAX)
        asked.cancel()
        while not futures[0].cancelled():
            await asyncio.sleep(0.01)

    before = kb.revision
    with toys(toy_make), served(kb) as wire:
        with kb.writer_held():
            monkeypatch.setattr(writer, "submit", submit_and_tell)
            asyncio.run(asyncio.wait_for(run(wire), WAIT_SECONDS_MAX))
        made = asyncio.run(wire.post(token, message, headers))
    assert made.json()["result"]["structuredContent"]["revision"] == before + 1 == kb.revision


def test_a_long_call_answers_in_a_stream(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.server._streamable_http_modern._SSE_PING_INTERVAL", 0.05)
    slow = Slow()
    message, headers = modern("tools/call", name="toy_slow", arguments={})

    async def run(wire: Wire) -> None:
        answer = await wire.post(kb.token(), message, {**headers, "x-request-id": "long"})
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["x-request-id"] == "long"
        assert answer.text.startswith(": ping")
        async with wire.client(kb.token(), "auto") as client:
            result = await client.call_tool("toy_slow", {})
            assert result.structured_content == {"revision": 1}

    with toys(slow.tool), served(kb) as wire:
        asyncio.run(run(wire))


def test_a_server_that_ends_finishes_what_was_accepted(kb: KnowledgeBase) -> None:
    slow = Slow()

    async def run(wire: Wire) -> list[httpx2.Response]:
        messages = [make("tools/call", name="toy_slow", arguments={}) for make in (legacy, modern)]
        return await asyncio.gather(*(wire.post(kb.token(), *each) for each in messages))

    with toys(slow.tool), ThreadPoolExecutor(1) as threads:
        with served(kb) as wire:
            asked = threads.submit(asyncio.run, run(wire))
            slow.wait_until_begun(2)
        answers = asked.result()
    for answer in answers:
        assert answer.status_code == 200
        assert answer.json()["result"]["structuredContent"] == {"revision": 1}
