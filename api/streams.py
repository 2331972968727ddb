"""Server-Sent Events: an answer that goes on, as the HTML standard's `text/event-stream`.

A stream holds no more than one part of a list at a time. It sends the next one when the one
before has left this process, so that a reader who is slow costs nothing but his own time; one
who takes nothing for long is let go, and goes on with `Last-Event-ID` when he comes again.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from litestar.enums import ScopeType
from litestar.types import HTTPResponseBodyEvent, Receive, Scope, Send

from kbstore.errors import OverloadedError
from kbstore.limits import STREAM_READS_MAX, STREAM_SEND_SECONDS_MAX

MEDIA_TYPE = "text/event-stream"
_HEADERS = (
    (b"content-type", MEDIA_TYPE.encode()),
    (b"cache-control", b"no-store"),
    # Proxies that would keep parts back let them through.
    (b"x-accel-buffering", b"no"),
)

Frames = AsyncGenerator[bytes, None]


def frame(data: bytes, *, event: str | None = None, id: int | None = None) -> bytes:
    """One event; `data` is JSON, which has no line ends of its own."""
    parts = []
    if id is not None:
        parts.append(b"id: %d\n" % id)
    if event is not None:
        parts.append(b"event: %s\n" % event.encode())
    return b"".join((*parts, b"data: ", data, b"\n\n"))


def place(id: int) -> bytes:
    """Tells a reader where he is without an event: what he sends as `Last-Event-ID`."""
    return b"id: %d\n\n" % id


HEARTBEAT = b": heartbeat\n\n"
"""A comment: keeps the connection open where nothing else is said."""


class Streams:
    """The streams of one process: bounded, and ended together when it shuts down."""

    def __init__(self, streams_max: int) -> None:
        self._streams_max = streams_max
        self._open = 0
        self._ended = asyncio.Event()
        self.reading = asyncio.Semaphore(STREAM_READS_MAX)
        """Held by a stream while it reads: a commit wakes all of them at once, and no other
        read may be refused for that."""

    def end(self) -> None:
        """Ends every stream; their readers go on elsewhere. From the event loop's thread."""
        self._ended.set()

    def open(self, frames: Frames) -> "Stream":
        """Raises OverloadedError when there are too many already."""
        if self._open >= self._streams_max or self._ended.is_set():
            raise OverloadedError("Too many streams are open here; try again.")
        return Stream(self, frames)

    @contextmanager
    def counted(self) -> Iterator[asyncio.Event]:
        """Counts one stream; gives the event that ends it."""
        self._open += 1
        try:
            yield self._ended
        finally:
            self._open -= 1


class Stream:
    """An ASGI application that sends frames until they end, the reader is gone or too slow, or
    the process shuts down."""

    def __init__(self, streams: Streams, frames: Frames) -> None:
        self._streams = streams
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.counted() as ended:
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
            if scope["type"] == ScopeType.HTTP and scope["method"] != "HEAD":
                await self._run(receive, send, ended)
            await send(_LAST)

    async def _run(self, receive: Receive, send: Send, ended: asyncio.Event) -> None:
        sending = asyncio.create_task(self._send(send))
        ends = [asyncio.create_task(_gone(receive)), asyncio.create_task(ended.wait())]
        try:
            await asyncio.wait((sending, *ends), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, *ends):
                task.cancel()
            results = await asyncio.gather(sending, *ends, return_exceptions=True)
        if isinstance(results[0], Exception):
            raise results[0]

    async def _send(self, send: Send) -> None:
        async with aclosing(self._frames) as frames:
            async for part in frames:
                # Waits while the connection is full.
                async with asyncio.timeout(STREAM_SEND_SECONDS_MAX):
                    await send({"type": "http.response.body", "body": part, "more_body": True})


_LAST: HTTPResponseBodyEvent = {"type": "http.response.body", "body": b"", "more_body": False}


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
