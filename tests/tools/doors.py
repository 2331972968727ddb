"""The doors that tools are called by: what one answers, every other one answers too."""

from collections.abc import Mapping
from typing import Protocol

import msgspec
from msgspec import Struct

from tests.asking import Client

Json = dict[str, object]


class Reply(Struct, frozen=True):
    """The result of a tool, or its refusal; one of them is None."""

    result: Json | None = None
    error: Json | None = None

    @property
    def ok(self) -> Json:
        """The result, which there has to be."""
        assert self.result is not None, self.error
        return self.result

    @property
    def code(self) -> str:
        return str(self.refused["code"])

    @property
    def message(self) -> str:
        return str(self.refused["message"])

    @property
    def refused(self) -> Json:
        """The refusal, which there has to be."""
        assert self.error is not None, self.result
        return self.error

    @property
    def details(self) -> Json:
        details = self.refused.get("details", {})
        assert isinstance(details, dict)
        return details


class Door(Protocol):
    """Calls the tools of one knowledge base with one key."""

    def call(self, tool: str, arguments: Mapping[str, object]) -> Reply: ...


class HttpDoor:
    """`POST .../tools/{name}`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def call(self, tool: str, arguments: Mapping[str, object]) -> Reply:
        answer = self._client.ask("POST", f"/tools/{tool}", dict(arguments))
        body = msgspec.json.decode(answer.raw, type=Json)
        if answer.status == 200:
            assert answer.headers["kb-revision"] == str(body["revision"])
            return Reply(result=body)
        error = body["error"]
        assert isinstance(error, dict)
        assert error["httpStatus"] == answer.status
        return Reply(error=error)
