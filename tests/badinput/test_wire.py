"""What a client sends byte by byte: lengths that lie, bodies that dribble, headers that break.

What the parser of HTTP refuses itself never reaches a route, and has no code: it answers 400
and closes.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from msgspec import Struct

from kbstore.limits import REQUEST_BYTES_MAX
from tests.backends import on_sqlite
from tests.badinput.conftest import HASTY_SECONDS, SMALL_BYTES
from tests.badinput.sending import Sender
from tests.badinput.stock import NEEDS_BODY, WITH_BODY, Stock

pytestmark = on_sqlite
"""Refused before any database is asked."""

PATIENCE_SECONDS = 10.0


class Reply(Struct, frozen=True):
    """Everything that came back until the server closed or said nothing more."""

    raw: bytes

    @property
    def status(self) -> int:
        return int(self.raw.split(b" ", 2)[1])

    def tells(self, code: str) -> bool:
        return f'"code":"{code}"'.encode() in self.raw


class Wire:
    """A connection to a server, for one request."""

    def __init__(self, stock: Stock, url: str) -> None:
        self._stock = stock
        address = urlsplit(url)
        assert address.hostname is not None
        assert address.port is not None
        self._socket = socket.create_connection((address.hostname, address.port))
        self._socket.settimeout(PATIENCE_SECONDS)

    def close(self) -> None:
        self._socket.close()

    def head(self, name: str, *lines: str | bytes) -> bytes:
        """The start of the operation's good request, with these header lines besides."""
        request = self._stock.request(name)
        first = f"{request.operation.method} {self._stock.path_of(request)} HTTP/1.1"
        headers = {**self._stock.headers_of(request), "host": "kb"}
        headers["content-type"] = "application/json"
        every = [first, *(f"{key}: {value}" for key, value in headers.items()), *lines]
        return b"\r\n".join(_bytes(line) for line in every) + b"\r\n\r\n"

    def say(self, *parts: bytes) -> None:
        for part in parts:
            self._socket.sendall(part)

    def shut(self) -> None:
        """Says that nothing more will come."""
        self._socket.shutdown(socket.SHUT_WR)

    def hear(self) -> Reply:
        """The answer; reads on until the connection closes or the answer is whole."""
        raw = b""
        while not _is_whole(raw):
            part = self._socket.recv(65_536)
            if not part:
                break
            raw += part
        return Reply(raw)

    @property
    def is_closed(self) -> bool:
        """Whether the server has closed after its answer."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionError:
            return True


def _is_whole(raw: bytes) -> bool:
    head, end, body = raw.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if end and line.startswith(b"content-length:"):
            return len(body) >= int(line.partition(b":")[2])
    return False


def _bytes(line: str | bytes) -> bytes:
    return line.encode() if isinstance(line, str) else line


@pytest.fixture
def wire(stock: Stock, url: str) -> Iterator[Wire]:
    with stock.kb.nothing_written(), closing(Wire(stock, url)) as wire:
        yield wire


@pytest.fixture
def small(stock: Stock, small_url: str) -> Iterator[Wire]:
    with stock.kb.nothing_written(), closing(Wire(stock, small_url)) as wire:
        yield wire


@pytest.fixture
def hasty(stock: Stock, hasty_url: str) -> Iterator[Wire]:
    with stock.kb.nothing_written(), closing(Wire(stock, hasty_url)) as wire:
        yield wire


# --- too much -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_length_over_the_limit_is_refused_before_the_body(wire: Wire, name: str) -> None:
    wire.say(wire.head(name, f"content-length: {REQUEST_BYTES_MAX + 1}"))
    reply = wire.hear()
    assert reply.status == 413
    assert reply.tells("REQUEST_TOO_LARGE")
    assert wire.is_closed


@pytest.mark.parametrize("length", [10**15, 10**17])
def test_a_length_over_everything_is_refused(wire: Wire, length: int) -> None:
    wire.say(wire.head("createPage", f"content-length: {length}"))
    reply = wire.hear()
    assert reply.status == 413
    assert reply.tells("REQUEST_TOO_LARGE")


@pytest.mark.parametrize("name", WITH_BODY)
def test_chunks_over_the_limit_are_refused(small: Wire, name: str) -> None:
    small.say(small.head(name, "transfer-encoding: chunked"))
    chunk = b" " * 8_192
    try:
        for _ in range(SMALL_BYTES // len(chunk) + 2):
            small.say(b"%x\r\n%b\r\n" % (len(chunk), chunk))
    except ConnectionError:
        pass  # it has hung up already
    reply = small.hear()
    assert reply.status == 413
    assert reply.tells("REQUEST_TOO_LARGE")


@pytest.mark.parametrize("extra", [0, 1])
def test_the_last_byte_counts(small: Wire, extra: int) -> None:
    size = SMALL_BYTES + extra
    small.say(small.head("createPage", f"content-length: {size}"), b" " * size)
    reply = small.hear()
    assert reply.tells("REQUEST_TOO_LARGE" if extra else "MALFORMED_REQUEST")


# --- too slow -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NEEDS_BODY[:3])
@pytest.mark.parametrize("framing", ["content-length: 1000", "transfer-encoding: chunked"])
def test_a_body_that_dribbles_is_given_up(hasty: Wire, name: str, framing: str) -> None:
    hasty.say(hasty.head(name, framing))
    began = time.monotonic()
    try:
        while time.monotonic() - began < 3 * HASTY_SECONDS:
            hasty.say(b"1\r\n \r\n" if "chunked" in framing else b" ")
            time.sleep(HASTY_SECONDS / 10)
    except ConnectionError:
        pass  # it has hung up already
    reply = hasty.hear()
    assert reply.status == 408
    assert reply.tells("REQUEST_TIMEOUT")


def test_a_body_that_never_comes_is_given_up(hasty: Wire) -> None:
    hasty.say(hasty.head("createPage", "content-length: 10"))
    reply = hasty.hear()
    assert reply.status == 408
    assert reply.tells("REQUEST_TIMEOUT")
    assert hasty.is_closed


def test_who_hangs_up_in_the_middle_writes_nothing(stock: Stock, url: str) -> None:
    with stock.kb.nothing_written():
        for name in WITH_BODY:
            with closing(Wire(stock, url)) as wire:
                wire.say(wire.head(name, "content-length: 100"), b'{"name": "x"')
        with Sender(stock) as send:
            assert send(stock.request("readActiveRevision")).status == 200


# --- what is no HTTP ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        ["content-length: abc"],
        ["content-length: -1"],
        ["content-length: 1e3"],
        ["content-length: 0x10"],
        ["content-length: " + "9" * 400],
        ["content-length: 2", "content-length: 3"],
        ["content-length: 2", "transfer-encoding: chunked"],
        ["transfer-encoding: nonsense"],
        ["no colon"],
        [": no name"],
        ["bad name: x"],
        ["kb-message: a\x00b"],
        [b"kb-message: a\x01b", "content-length: 2"],
        [b"kb-message: a\x7fb", "content-length: 2"],
        ["kb-message: a\rset-cookie: b"],
        ["x-long: " + "a" * 1_000_000],
        *([[f"x-{n}: " + "a" * 1_000 for n in range(1_000)]]),
    ],
)
def test_headers_that_break_the_rules_are_refused(wire: Wire, lines: list[str | bytes]) -> None:
    try:
        wire.say(wire.head("createPage", *lines), b"{}")
        reply = wire.hear()
    except ConnectionError:
        return  # hung up on in the middle of it
    assert reply.raw == b"" or 400 <= reply.status < 500, reply
    assert b"set-cookie" not in reply.raw.lower()


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /health/live HTTP/9.9\r\n\r\n",
        b"G\x00T /health/live HTTP/1.1\r\n\r\n",
        b"GET /health/\x00live HTTP/1.1\r\n\r\n",
        b"GET /health/\xff\xfe HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        bytes(range(256)) * 10,
    ],
)
def test_noise_does_not_hurt(stock: Stock, url: str, first: bytes) -> None:
    with stock.kb.nothing_written(), closing(Wire(stock, url)) as wire:
        try:
            wire.say(first)
            wire.shut()
            reply = wire.hear()
            assert reply.raw == b"" or 400 <= reply.status < 500, reply
        except ConnectionError:
            pass
        with Sender(stock) as send:
            assert send(stock.request("readLiveness")).status == 200
