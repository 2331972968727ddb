"""Servers to measure: each a process of its own, as in use, and how long until it answers."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import msgspec
from msgspec import Struct

from benchmarks.stores import Store

ROOT = Path(__file__).parents[1]
HOST = "127.0.0.1"
START_SECONDS_MAX = 60
_POLL_SECONDS = 0.005


class Served(Struct, frozen=True):
    """A running server: its process and the port it answers on."""

    process_id: int
    port: int


@contextmanager
def served(store: Store) -> Iterator[Served]:
    """`kbstore serve` over a store, for the length of the block; its log goes nowhere."""
    with _running(serve_command(store, 0)) as process:
        assert process.stdout is not None
        said = msgspec.json.decode(process.stdout.readline(), type=dict[str, str])
        yield Served(process.pid, int(said["url"].rpartition(":")[2]))


@contextmanager
def plainly_served() -> Iterator[Served]:
    """The baseline, `benchmarks.plain`, for the length of the block."""
    port = free_port()
    with _running(plain_command(port)) as process:
        wait_until_ok(port, "/page")
        yield Served(process.pid, port)


def serve_command(store: Store, port: int) -> list[str]:
    serve = ["-m", "api.cli", "serve", "--json", "--host", HOST, "--port", str(port)]
    return [sys.executable, *serve, "--database", store.url]


def plain_command(port: int) -> list[str]:
    return [sys.executable, "-m", "benchmarks.plain", str(port)]


def start_seconds(command: list[str], port: int, path: str) -> float:
    """How long a server takes from its start until this path answers 200; then ends it."""
    started = time.perf_counter()
    with _running(command):
        wait_until_ok(port, path)
        return time.perf_counter() - started


def wait_until_ok(port: int, path: str) -> None:
    """Asks until the answer is 200; TimeoutError after START_SECONDS_MAX."""
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        try:
            with urlopen(f"http://{HOST}:{port}{path}", timeout=START_SECONDS_MAX) as answer:
                if answer.status == 200:
                    return
        except (URLError, ConnectionError):
            time.sleep(_POLL_SECONDS)
    raise TimeoutError(f"nothing answers on port {port}")


def resident_bytes(process_id: int) -> int:
    """How much memory a process holds, as `ps` tells it."""
    said = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(process_id)], capture_output=True, check=True, text=True
    )
    return int(said.stdout) * 1_024


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def _running(command: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KBSTORE_")}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=kept,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()
