"""The doors that tools are called by: what one answers, every other one answers too.

The SDK's own client is tried in tests/mcp; here messages are sent as they stand, which is quick.
"""

from collections.abc import Mapping
from functools import cache
from typing import Protocol

import httpx
import msgspec
from jsonschema import Draft202012Validator
from msgspec import Struct

from api.tools.registry import TOOLS_BY_NAME
from tests.asking import Client
from tests.mcp.speaking import modern

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


class McpDoor:
    """`tools/call` at `/mcp`, as 2026-07-28 has it."""

    def __init__(self, client: Client) -> None:
        self._http = httpx.Client(
            base_url=client.base.partition("/openapi/")[0],
            timeout=60,
            headers={"authorization": f"Bearer {client.token}", **_ACCEPTED},
        )

    def call(self, tool: str, arguments: Mapping[str, object]) -> Reply:
        message, headers = modern("tools/call", name=tool, arguments=dict(arguments))
        response = self._http.post("/mcp", content=msgspec.json.encode(message), headers=headers)
        result = msgspec.json.decode(_data_of(response), type=_Message).result
        texts = [block.text for block in result.content]
        if not result.is_error:
            assert [msgspec.json.decode(text) for text in texts] == [result.structured_content]
            return Reply(result=result.structured_content)
        said, envelope = texts
        error: Json = msgspec.json.decode(envelope)["error"]
        assert said == error["message"]
        return Reply(error=error)

    def close(self) -> None:
        self._http.close()


class EveryDoor:
    """Asks at each door, and holds the answers against each other and the tool's schema.

    What would be written twice is asked at one door alone, by turns.
    """

    def __init__(self, client: Client) -> None:
        self._mcp = McpDoor(client)
        self._doors: list[Door] = [HttpDoor(client), self._mcp]
        self._turn = 0

    def close(self) -> None:
        self._mcp.close()

    def call(self, tool: str, arguments: Mapping[str, object]) -> Reply:
        self._turn = 1 - self._turn
        first, second = self._doors[self._turn], self._doors[1 - self._turn]
        reply = first.call(tool, arguments)
        if reply.result is not None:
            _schema_of(tool).validate(reply.result)
        if reply.error is not None or TOOLS_BY_NAME[tool].is_read:
            assert second.call(tool, arguments) == reply
        return reply


@cache
def _schema_of(tool: str) -> Draft202012Validator:
    schema = TOOLS_BY_NAME[tool].output_schema
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


class _Text(Struct, frozen=True):
    text: str


class _CallResult(Struct, frozen=True, rename="camel"):
    content: list[_Text]
    structured_content: Json | None = None
    is_error: bool = False


class _Message(Struct, frozen=True):
    result: _CallResult


_ACCEPTED = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}


def _data_of(response: httpx.Response) -> bytes:
    """The message in an answer, which may be a stream of one."""
    assert response.status_code == 200, response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        lines = [line for line in response.text.splitlines() if line.startswith("data:")]
        return lines[-1].removeprefix("data:").encode()
    return response.content
