"""Receivers of webhooks: real servers on this machine that behave as they are told to."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
from msgspec import Struct

from tests.http.world import Json

WAIT_SECONDS_MAX = 20.0


class Received(Struct, frozen=True):
    """One request, as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Json:
        return msgspec.json.decode(self.body)

    @property
    def position(self) -> int:
        return int(self.json["data"]["position"])

    @property
    def type(self) -> str:
        return str(self.json["type"])


class Handler(BaseHTTPRequestHandler):
    """Passes each request on to the receiver, whose behaviour answers it."""

    protocol_version = "HTTP/1.1"
    receiver: "Receiver"

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        body = self.rfile.read(size)
        if len(body) < size:
            # Its sender was killed in the middle.
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.path, headers, body)
        self.receiver.received.append(received)
        self.receiver.behaviour(self, received)

    def do_GET(self) -> None:
        """Whoever follows a redirect comes here."""
        self.receiver.followed += 1
        self.answer(200)

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was received is looked at by the test."""


Behaviour = Callable[[Handler, Received], None]


def takes(handler: Handler, received: Received) -> None:
    handler.answer(204)


def answers(status: int, **headers: str) -> Behaviour:
    return lambda handler, received: handler.answer(status, b"", **headers)


def hangs(handler: Handler, received: Received) -> None:
    """Says nothing until the test ends."""
    handler.receiver.ended.wait(WAIT_SECONDS_MAX)
    handler.close_connection = True


def drips_head(handler: Handler, received: Received) -> None:
    """Never quite gets to the end of its headers."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.receiver.ended.wait(0.02):
        handler.wfile.write(b"x-more: x\r\n")


def drips_body(handler: Handler, received: Received) -> None:
    """Takes the message, and then never comes to an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while not handler.receiver.ended.wait(0.02):
        handler.wfile.write(b"x")


def floods(handler: Handler, received: Received) -> None:
    """Takes the message, and sends more than anybody wants to read."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
    while not handler.receiver.ended.is_set():
        handler.wfile.write(b"x" * 65_536)


def hangs_up(handler: Handler, received: Received) -> None:
    handler.close_connection = True


def speaks_no_http(handler: Handler, received: Received) -> None:
    handler.wfile.write(b"220 mail ready\r\n")
    handler.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: type[Handler]) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Ends every connection, as the end of a process does."""
        for connection in tuple(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever was hung up on has nothing to report."""


class Receiver:
    """A server and what it received; it takes everything until told otherwise."""

    def __init__(self, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.behaviour: Behaviour = takes
        self.followed = 0
        self.ended = threading.Event()
        handler = type("OwnHandler", (Handler,), {"receiver": self})
        self._server = _Server(("127.0.0.1", port), handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = int(self._server.server_address[1])
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()

    @property
    def positions(self) -> list[int]:
        return [received.position for received in self.received]

    def named(self, *names: str) -> bool:
        """Whether pages of exactly these names were told of, in this order, repeats left out."""
        told: list[str] = []
        for received in self.received:
            name = received.json["data"]["data"].get("name")
            if name is not None and name not in told:
                told.append(str(name))
        return told == list(names)


@contextmanager
def receiving(port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver for the length of a block."""
    receiver = Receiver(port, tls)
    try:
        yield receiver
    finally:
        receiver.close()


def until(condition: Callable[[], bool], seconds_max: float = WAIT_SECONDS_MAX) -> None:
    """Returns once the condition holds; fails when it does not in time."""
    end = time.monotonic() + seconds_max
    while not condition():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.01)
