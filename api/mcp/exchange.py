"""One message and who sent it: what the SDK carries from the door to its handlers."""

from typing import cast

import msgspec
from mcp.server.context import ServerRequestContext
from msgspec import Raw, Struct
from starlette.requests import Request

from api.bodies import parse_json
from api.calls import Call
from api.tools.tool import Group
from api.writing import NO_BODY
from projections.views import Json

Context = ServerRequestContext[object, Request]

_STATE = "mcp"


class Exchange(Struct, frozen=True):
    """A message, the call that it came in, and the groups of tools that its client picked."""

    call: Call
    body: bytes
    groups: tuple[Group, ...]

    @property
    def request_id(self) -> str:
        return str(self.call.scope["state"]["request_id"])

    def put(self) -> None:
        """Where `exchange_of` finds it again."""
        self.call.scope["state"][_STATE] = self

    def note(self, **fields: str) -> None:
        """Adds to the log line of the request."""
        self.call.scope["state"]["logged"].update(fields)

    def arguments(self) -> tuple[bytes, Json]:
        """The arguments of a tool call as they came in, raw and parsed; without any, an empty
        object."""
        raw = bytes(msgspec.json.decode(self.body, type=_Message).params.arguments)
        value = parse_json(raw) if raw else None
        return (b"", NO_BODY) if value is None else (raw, value)


def exchange_of(context: Context) -> Exchange:
    """The exchange that a handler of the SDK runs in."""
    assert context.request is not None
    return cast(Exchange, context.request.scope["state"][_STATE])


class _Parameters(Struct, frozen=True):
    arguments: Raw = Raw()


class _Message(Struct, frozen=True):
    params: _Parameters
