"""Running the HTTP server over one database, until a signal ends it."""

import gc
import signal
import socket
from collections.abc import Callable

import uvicorn

from api.app import build_app
from api.calls import Server
from api.settings import Settings
from api.wiring import build_services, locate_replica, open_database
from kbstore.errors import StoreError

DEFAULT_PORT = 8642
SHUTDOWN_SECONDS_MAX = 30
BACKLOG_CONNECTIONS = 2_048
STALLED_MILLISECONDS_MAX = 60_000


class _Server(uvicorn.Server):
    """Tells when it answers, so that whoever started it need not poll."""

    def __init__(
        self, config: uvicorn.Config, started: Callable[[], None], ending: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._told = started
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # What would never end by itself must not be waited for.
        self._ending()
        await super().shutdown(sockets)


def serve_database(
    url: str,
    host: str,
    port: int,
    started: Callable[[str], None],
    *,
    any_port: bool = False,
    replica_url: str | None = None,
    settings: Settings | None = None,
) -> None:
    """Serves until SIGINT or SIGTERM, then finishes what was accepted and returns.

    `started` gets the server's URL once it answers. With `any_port` a taken port is replaced
    by a free one. Reads may go to the replica. Raises DatabaseInUseError when another server
    has the file.
    """
    database = open_database(url)
    replica = None if replica_url is None else locate_replica(replica_url)
    with database.serving(), _bind(host, port, any_port) as listener:
        services = build_services(database, replica=replica)
        try:
            server = Server(services, settings or Settings())
            config = uvicorn.Config(
                build_app(server),
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS_MAX,
                backlog=BACKLOG_CONNECTIONS,
            )
            address = f"http://{_bracketed(host)}:{listener.getsockname()[1]}"
            running = _Server(config, lambda: started(address), server.streams.end)
            # What is there now lives as long as the server: no collection need look at it again,
            # which takes a tenth of a second in which nothing is answered.
            gc.collect()
            gc.freeze()
            # After its shutdown uvicorn raises the signal again; by then all is done.
            for ending in (signal.SIGINT, signal.SIGTERM):
                signal.signal(ending, lambda *_: None)
            running.run(sockets=[listener])
        finally:
            services.close()


def _bind(host: str, port: int, any_port: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Each connection inherits it: a peer that takes nothing any more loses what is left.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_MILLISECONDS_MAX)
    try:
        listener.bind((host, port))
    except OSError as error:
        if not any_port:
            listener.close()
            raise StoreError(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
        listener.bind((host, 0))
    return listener


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
