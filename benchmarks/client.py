"""A load generator in a process of its own: HTTP/1.1 over a few connections that stay open.

It reads a `Load` as JSON from standard input and prints `Measured` on standard output. Any
library for clients would take longer for a request than the server does for its answer.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import cast

import msgspec
import uvloop
from msgspec import Struct

CONNECTIONS = 16
_HEADERS_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


class Load(Struct, frozen=True, kw_only=True):
    """Each path is asked for once, in order, `connections` at a time."""

    host: str
    port: int
    key: str
    paths: list[str]
    connections: int = CONNECTIONS


class Measured(Struct, frozen=True):
    seconds: float
    received_bytes: int


def run_load(load: Load) -> Measured:
    """Runs the load in another process. Any answer but 200 is an error."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.client"],
        input=msgspec.json.encode(load),
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Measured)


class _Connection(asyncio.Protocol):
    """Sends a request whenever it has the whole answer to the one before."""

    def __init__(self, requests: Iterator[bytes], done: asyncio.Future[None]) -> None:
        self._requests = requests
        self._done = done
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self.received_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The loop's own class, which is no asyncio.Transport by name.
        self._transport = cast(asyncio.Transport, transport)

    def send_next(self) -> None:
        assert self._transport is not None
        request = next(self._requests, None)
        if request is not None:
            self._transport.write(request)
        elif not self._done.done():
            self._done.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        headers_end = self._buffer.find(_HEADERS_END)
        if headers_end < 0:
            return
        head = self._buffer[:headers_end].lower()
        start = head.index(_LENGTH) + len(_LENGTH)
        length = int(head[start:].split(b"\r\n", 1)[0])
        if len(self._buffer) < headers_end + len(_HEADERS_END) + length:
            return
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(self._buffer.decode())
        self.received_bytes += len(self._buffer)
        self._buffer = b""
        self.send_next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("the server hung up"))


async def _run(load: Load) -> Measured:
    loop = asyncio.get_running_loop()
    headers = f"Host: {load.host}\r\nAuthorization: Bearer {load.key}\r\n\r\n"
    requests = iter([f"GET {path} HTTP/1.1\r\n{headers}".encode() for path in load.paths])
    connections = []
    ends: list[asyncio.Future[None]] = []
    for _ in range(load.connections):
        done: asyncio.Future[None] = loop.create_future()
        connection = _Connection(requests, done)
        await loop.create_connection(lambda made=connection: made, load.host, load.port)
        connections.append(connection)
        ends.append(done)
    started = time.perf_counter()
    for connection in connections:
        connection.send_next()
    await asyncio.gather(*ends)
    seconds = time.perf_counter() - started
    return Measured(seconds, sum(connection.received_bytes for connection in connections))


def repeated(paths: Sequence[str], count: int) -> list[str]:
    """`count` paths: these again and again."""
    return [paths[number % len(paths)] for number in range(count)]


def main() -> None:
    load = msgspec.json.decode(sys.stdin.buffer.read(), type=Load)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        measured = runner.run(_run(load))
    sys.stdout.buffer.write(msgspec.json.encode(measured))


if __name__ == "__main__":
    main()
