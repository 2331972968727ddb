"""A closed loop of requests over a few connections that stay open, light enough to keep a
server process busy from another one."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import cast

import uvloop
from msgspec import Struct

from benchmarks.processes import HOST

CONNECTIONS = 16
_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length: "
_OK = b"HTTP/1.1 200 "


class Load(Struct, frozen=True):
    """What a run of requests took: how many a second, and each one's milliseconds."""

    per_second: float
    milliseconds: list[float]

    def percentile(self, percent: int) -> float:
        """The time that so many of a hundred requests stay within."""
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def get_request(path: str, key: str | None = None) -> bytes:
    """A GET as it goes over the wire."""
    authorization = "" if key is None else f"Authorization: Bearer {key}\r\n"
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{authorization}\r\n".encode()


def run_load(port: int, requests: Sequence[bytes], connections: int = CONNECTIONS) -> Load:
    """Sends every request once; raises AssertionError for an answer that is not 200."""
    return uvloop.run(_together(port, requests, connections))


async def _together(port: int, requests: Sequence[bytes], connections: int) -> Load:
    left = iter(requests)
    loop = asyncio.get_running_loop()
    loops = [_Loop(left, loop.create_future()) for _ in range(connections)]
    for each in loops:
        await loop.create_connection(lambda each=each: each, HOST, port)  # type: ignore[misc]
    started = time.perf_counter()
    for each in loops:
        each.send_next()
    await asyncio.gather(*(each.ended for each in loops))
    elapsed = time.perf_counter() - started
    return Load(len(requests) / elapsed, [taken for each in loops for taken in each.milliseconds])


class _Loop(asyncio.Protocol):
    """One connection: the next request as soon as the last one's answer is complete."""

    def __init__(self, requests: Iterator[bytes], ended: "asyncio.Future[None]") -> None:
        self.ended = ended
        self.milliseconds: list[float] = []
        self._requests = requests
        self._received = b""
        self._sent_at = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # What uvloop gives is one without being of the class.
        self._transport = cast(asyncio.Transport, transport)

    def send_next(self) -> None:
        assert self._transport is not None
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
            self.ended.set_result(None)
            return
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(_END_OF_HEAD)
        if not found or len(body) < _length(head):
            return
        if not head.startswith(_OK):
            self.ended.set_exception(AssertionError(self._received.decode()))
            return
        self.milliseconds.append((time.perf_counter() - self._sent_at) * 1_000)
        self._received = b""
        self.send_next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(ConnectionError("the server closed the connection"))


def _length(head: bytes) -> int:
    _, _, rest = head.lower().partition(_LENGTH)
    return int(rest.split(b"\r\n", 1)[0])
