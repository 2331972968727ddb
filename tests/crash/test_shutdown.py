"""A signal ends a server once it has finished what it accepted, with exit code 0."""

import signal
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest

from tests.acceptance.logs import SCOPE, SLUG
from tests.acceptance.processes import invoked, kbstore, server
from tests.crash.world import World, new_world, page_names

SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
WRITERS = 8


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


@SIGNALS
def test_an_idle_server_ends_at_once(world: World, number: signal.Signals) -> None:
    with server(world.database) as served, served.client(SLUG, world.key) as client:
        # The connection stays open, and no request is on it.
        assert client.get("/revisions/active").status_code == 200
        started = time.monotonic()
        ended = served.end(number)
    assert ended.code == 0
    assert time.monotonic() - started < 10
    assert "Traceback" not in ended.err


@SIGNALS
def test_a_request_that_was_accepted_is_answered(world: World, number: signal.Signals) -> None:
    body = msgspec.json.encode({"scope": SCOPE, "key": "late", "name": "Late"})
    with server(world.database) as served:
        where = urlsplit(served.kb_url(SLUG))
        assert where.hostname is not None
        with socket.create_connection((where.hostname, where.port or 0), 30) as connection:
            head = (
                f"POST {where.path}/pages HTTP/1.1\r\nHost: {where.netloc}\r\n"
                f"Authorization: Bearer {world.key}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
            )
            connection.sendall(head.encode())
            # The server asks for the body: it has taken the request.
            assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
            served.process.send_signal(number)
            await_refusal(where.hostname, where.port or 0)
            connection.sendall(body)
            answer = connection.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 201 "), answer
        ended = served.end(number)
    assert ended.code == 0
    with server(world.database) as again, again.client(SLUG, world.key) as client:
        assert list(page_names(client).values()) == ["Late"]


def await_refusal(host: str, port: int) -> None:
    """Returns once the server takes no new connections: it is shutting down."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            socket.create_connection((host, port), 1).close()
        except OSError:
            return
        time.sleep(0.02)
    raise AssertionError("the server goes on taking connections")


def test_what_was_acknowledged_during_a_shutdown_is_there(world: World) -> None:
    acknowledged: list[str] = []
    ready = threading.Barrier(WRITERS + 1)

    def write(client_of: "partial[httpx.Client]", number: int) -> None:
        with client_of() as client:
            ready.wait()
            try:
                for count in range(100_000):
                    name = f"writer {number} page {count}"
                    answer = client.post("/pages", json={"scope": SCOPE, "name": name})
                    if answer.status_code == 503:
                        return
                    assert answer.status_code == 201, answer.text
                    acknowledged.append(name)
            except httpx.TransportError:
                return

    with server(world.database) as served, ThreadPoolExecutor(WRITERS) as pool:
        client_of = partial(served.client, SLUG, world.key)
        running = [pool.submit(write, client_of, number) for number in range(WRITERS)]
        ready.wait(60)
        time.sleep(0.3)
        ended = served.end()
        for future in running:
            future.result()
    assert ended.code == 0
    assert "Traceback" not in ended.err
    with server(world.database) as again, again.client(SLUG, world.key) as client:
        names = sorted(page_names(client).values())
    # What was accepted was answered, so nothing is there that nobody was told of.
    assert names == sorted(acknowledged)
    assert len(names) > WRITERS
    assert invoked(world.database, "verify", SLUG)["ok"]


def test_a_second_server_on_a_file_is_refused_until_the_first_is_gone(world: World) -> None:
    with server(world.database) as served:
        refused = kbstore(world.database, "serve", "--port", 0)
        assert refused.error["code"] == "DATABASE_IN_USE"
        served.kill()
    with server(world.database) as again, again.client(SLUG, world.key) as client:
        assert client.get("/revisions/active").status_code == 200


def test_a_taken_port_is_refused(world: World, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = new_world(tmp_path / "other")
    with server(world.database) as served:
        port = urlsplit(served.url).port
        refused = kbstore(other.database, "serve", "--port", port)
    assert refused.error["message"].startswith(f"Cannot listen on 127.0.0.1:{port}")
    connection = sqlite3.connect(other.database)
    assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    connection.close()
