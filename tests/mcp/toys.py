"""Tools for tests alone: one that writes, and some that go wrong."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from api.answers import Answer, encode
from api.calls import Call
from api.reading import State
from api.routes.registry import OPERATIONS
from api.routes.tools import _operation
from api.tools.registry import TOOLS
from api.tools.tool import Arguments, ReadArguments, Reading, Result, Tool, reads, writes
from api.write import Write
from kbstore.domain.commands import CreatePage
from kbstore.service import Outcome
from projections.views import Json
from tests.knowledge import SCOPE

WAIT_SECONDS_MAX = 20
SLOW_SECONDS = 0.5
SECRET = "a secret of the inside"


class MakeArguments(Arguments, frozen=True, kw_only=True):
    key: str
    expected_version: int | None = None


class Made(Result, frozen=True, kw_only=True):
    key: str
    nothing: str | None


def _made(state: State, outcome: Outcome, given: MakeArguments) -> Made:
    return Made(revision=outcome.revision, key=given.key, nothing=None)


@writes(
    "toy_make",
    "Make a page",
    "Makes a page.",
    group="write",
    arguments=MakeArguments,
    result=Made,
    render=_made,
    destructive=False,
)
async def toy_make(write: Write, given: MakeArguments) -> CreatePage:
    return CreatePage(
        scope=SCOPE,
        parent=None,
        key=given.key,
        name=write.name(given.key),
        description=None,
        body=None,
    )


@reads("toy_broken", "Break", "Breaks.", arguments=ReadArguments, result=Result)
def toy_broken(reading: Reading, given: ReadArguments) -> Result:
    raise RuntimeError(SECRET)


async def _lie(call: Call, raw: bytes, value: Json) -> Answer:
    return Answer(200, encode({"revision": "none"}))


toy_liar = replace(toy_broken, name="toy_liar", respond=_lie)
"""Its answer is not of its own schema."""


class Waiting:
    """A tool that never answers, and what became of its calls; they may run in another thread
    than whoever asks."""

    def __init__(self) -> None:
        self._begun, self._cancelled = threading.Semaphore(0), threading.Semaphore(0)
        self.tool = replace(toy_broken, name="toy_waiting", respond=self._respond)

    async def until_begun(self) -> None:
        assert await asyncio.to_thread(self._begun.acquire, timeout=WAIT_SECONDS_MAX)

    async def until_cancelled(self) -> None:
        assert await asyncio.to_thread(self._cancelled.acquire, timeout=WAIT_SECONDS_MAX)

    async def _respond(self, call: Call, raw: bytes, value: Json) -> Answer:
        self._begun.release()
        try:
            await asyncio.Event().wait()
        finally:
            self._cancelled.release()
        raise AssertionError


class Slow:
    """A tool that answers after a while."""

    def __init__(self) -> None:
        self._begun = threading.Semaphore(0)
        self.tool = replace(toy_broken, name="toy_slow", respond=self._respond)

    def wait_until_begun(self, calls: int) -> None:
        for _ in range(calls):
            assert self._begun.acquire(timeout=WAIT_SECONDS_MAX)

    async def _respond(self, call: Call, raw: bytes, value: Json) -> Answer:
        self._begun.release()
        await asyncio.sleep(SLOW_SECONDS)
        return Answer(200, encode({"revision": 1}))


@contextmanager
def toys(*tools: Tool) -> Iterator[None]:
    """These tools are there, at both doors of an application made in the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("api.mcp.tools.TOOLS", (*TOOLS, *tools))
        patch.setattr("api.app.OPERATIONS", (*OPERATIONS, *map(_operation, tools)))
        yield
