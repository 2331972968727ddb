"""Questions, and the ASGI application of a world that answers them, without a network between.

A question names revisions, positions and times by what both worlds have: `At(3)` is the
revision of the fourth commit that they share, whatever number it has in a world.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import cast
from urllib.parse import quote, urlencode

from litestar.types import HTTPScope, Message
from msgspec import Struct
from msgspec.structs import replace

from api.app import build_app
from api.calls import Server
from api.settings import Settings, WebhookSettings
from kbstore.clock import format_time
from tests.noninterference.world import Bench, World

SETTINGS = Settings(
    min_revision_wait_seconds_max=0.001,
    heartbeat_seconds=0.001,
    reader_threads=1,
    short_reader_threads=1,
    webhooks=WebhookSettings(allow_private=True),
)
HEARTBEAT = b": heartbeat"
_ROOT = "/openapi/v2/knowledge-bases/"


class At(Struct, frozen=True):
    """The revision of a commit that both worlds have."""

    index: int


class Place(Struct, frozen=True):
    """The position of an event that both worlds have."""

    index: int


class Time(Struct, frozen=True):
    """When a commit was made that both worlds have."""

    index: int


class Newest(Struct, frozen=True):
    """The revision at the head of a world, or the one that far beyond it."""

    beyond: int = 0


Value = object
"""JSON, with the names above where numbers and times differ from one world to the other."""


class Ask(Struct, frozen=True):
    """A request. `path` is below the knowledge base unless it begins at the root; `follows` are
    the field of an answer that goes on and the parameter that takes it."""

    operation: str
    method: str
    path: str
    query: Mapping[str, Value] = {}
    body: Value = None
    headers: Mapping[str, Value] = {}
    follows: tuple[str, str] | None = None

    def told(self) -> str:
        """The request for a reader of a failure."""
        parts = [self.method, self.path]
        parts += [f"{name}={value}" for name, value in self.query.items()]
        parts += [] if self.body is None else [str(self.body)]
        return f"{self.operation}: {' '.join(parts)} {dict(self.headers) or ''}"


class Reply(Struct, frozen=True):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body) if self.body else None


class Door:
    """The application over a bench; worlds come and go behind it."""

    def __init__(self, bench: Bench) -> None:
        self._server = Server(bench.services, SETTINGS)
        self._app = build_app(self._server)

    async def close(self) -> None:
        await self._server.close()

    async def ask(self, world: World, token: str, ask: Ask) -> Reply:
        """The answer of a world."""
        body = b"" if ask.body is None else json.dumps(_in(world, ask.body)).encode()
        headers = {
            "authorization": f"Bearer {token}",
            "x-request-id": "r",
            **({"content-type": "application/json"} if body else {}),
            **{name: str(_in(world, value)) for name, value in ask.headers.items()},
        }
        path = _path(world, ask.path)
        pairs = {name: _in(world, value) for name, value in ask.query.items()}
        query = urlencode(
            {n: str(v).lower() if isinstance(v, bool) else v for n, v in pairs.items()}
        )
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": ask.method,
            "scheme": "http",
            "path": path,
            "raw_path": quote(path).encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(n.encode(), v.encode()) for n, v in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "state": {},
        }
        return await self._exchange(cast(HTTPScope, scope), body)

    async def _exchange(self, scope: HTTPScope, body: bytes) -> Reply:
        """A stream is left at its first heartbeat: by then it has told all there is."""
        status, parts = 0, list[bytes]()
        headers: list[tuple[bytes, bytes]] = []
        is_given, has_told = False, asyncio.Event()

        async def receive() -> Message:
            nonlocal is_given
            if not is_given:
                is_given = True
                return cast(Message, {"type": "http.request", "body": body, "more_body": False})
            await has_told.wait()
            return cast(Message, {"type": "http.disconnect"})

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                headers.extend(message["headers"])
            elif message["type"] == "http.response.body" and not has_told.is_set():
                parts.append(bytes(message["body"]))
                if parts[-1].startswith(HEARTBEAT):
                    has_told.set()

        await self._app(scope, receive, send)  # type: ignore[arg-type]
        named = sorted((name.decode().lower(), value.decode("latin-1")) for name, value in headers)
        return Reply(status, tuple(named), b"".join(parts))


def _path(world: World, path: str) -> str:
    if path.startswith("//"):
        return path[1:]
    for mark in ("at", "place"):
        while f"{{{mark}:" in path:
            before, _, rest = path.partition(f"{{{mark}:")
            number, _, after = rest.partition("}")
            named = At(int(number)) if mark == "at" else Place(int(number))
            path = f"{before}{_in(world, named)}{after}"
    return f"{_ROOT}{world.slug}{path}"


def _in(world: World, value: Value) -> object:
    """The value as it reads in a world."""
    match value:
        case At():
            return world.revisions[value.index]
        case Place():
            return world.positions[value.index]
        case Time():
            return format_time(world.times[value.index])
        case Newest():
            return world.head + value.beyond
        case dict():
            return {name: _in(world, inner) for name, inner in value.items()}
        case list() | tuple():
            return [_in(world, inner) for inner in value]
        case _:
            return value


def going_on(ask: Ask, cursor: str) -> Ask:
    """The question for the next part of a list, with the cursor of this world."""
    assert ask.follows is not None
    if ask.body is None:
        return replace(ask, query={**ask.query, ask.follows[1]: cursor})
    assert isinstance(ask.body, dict)
    return replace(ask, body={**ask.body, ask.follows[1]: cursor})
