"""Servers to ask, each in a process of its own.

A server is the product's application with one route more, `/trivial`, which answers a Struct
as large as a page and does nothing else.
"""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from litestar import get
from msgspec import Struct

from api.app import create_app
from api.settings import Settings
from api.wiring import build_services, open_database
from benchmarks.client import Load, Measured, run_load
from benchmarks.measuring import forget_garbage
from benchmarks.stores import Store
from benchmarks.writing import Writer
from kbstore.ids import format_kb_address

TRIVIAL = "/trivial"


class Trivial(Struct, frozen=True):
    """What the trivial route answers: as many bytes as a page."""

    id: int
    name: str
    body: str


class Server(Struct, frozen=True, kw_only=True):
    """A running server; `pid` is its process."""

    host: str
    port: int
    pid: int
    store: Store

    def get(self, paths: list[str]) -> Measured:
        """Asks for each path once, over 16 connections, from another process."""
        load = Load(host=self.host, port=self.port, key=self.store.key, paths=paths)
        return run_load(load)

    def rate(self, paths: list[str]) -> float:
        """Answers a second."""
        return len(paths) / self.get(paths).seconds

    def path(self, rest: str) -> str:
        """The path of something in the knowledge base."""
        return f"/openapi/v2/knowledge-bases/{format_kb_address(self.store.kb_id)}/{rest}"


@contextmanager
def serving(store: Store, *, cached: bool) -> Iterator[Server]:
    """A server over a store, with the cache it has by default or with none."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.serving", store.url, "cached" if cached else "cold"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        port = int(json.loads(process.stdout.readline())["port"])
        yield Server(host="127.0.0.1", port=port, pid=process.pid, store=store)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def main() -> None:
    url, kind = sys.argv[1:]
    settings = Settings() if kind == "cached" else Settings(answer_cache_bytes=0)
    answer = Trivial(1, "Trivial", Writer(1).body())

    @get(TRIVIAL, sync_to_thread=False)
    def trivial() -> Trivial:
        return answer

    services = build_services(open_database(url))
    app = create_app(services, settings)
    app.register(trivial)
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
    forget_garbage()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
        uvicorn.Server(config).run(sockets=[listener])
    services.close()


if __name__ == "__main__":
    main()
