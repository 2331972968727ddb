"""The tools as MCP tells of them, and one call: the very answer of HTTP, quoted."""

from collections.abc import Iterable

import msgspec
import structlog
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ToolListed

from api.answers import encode
from api.errors import refusal_of
from api.mcp.exchange import Context, Exchange, exchange_of
from api.tools.registry import TOOLS
from api.tools.tool import Group, Schema, Tool
from kbstore.errors import InternalError, describe

log = structlog.get_logger(__name__)

_NAME_SHOWN_CHARACTERS_MAX = 128


async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    """All tools of the groups that the client picked, in one piece."""
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "There is no such cursor: the list comes in one piece.")
    return ListToolsResult(tools=[_listed(tool) for tool in picked(exchange_of(context).groups)])


async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
    """What the tool answers, or its refusal as a result that a model can read.

    Raises MCPError (-32602) for a tool that is not there.
    """
    exchange = exchange_of(context)
    tool = next((tool for tool in picked(exchange.groups) if tool.name == params.name), None)
    if tool is None:
        shown = params.name[:_NAME_SHOWN_CHARACTERS_MAX]
        raise MCPError(INVALID_PARAMS, f"There is no tool {shown} here.")
    exchange.note(tool=tool.name)
    try:
        answer = await tool.respond(exchange.call, *exchange.arguments())
    except Exception as error:
        return _refused(exchange, error)
    text = TextContent(text=answer.body.decode())
    return CallToolResult(content=[text], structured_content=msgspec.json.decode(answer.body))


def input_schema(name: str) -> Schema | None:
    """The schema of a tool's arguments; None when there is no such tool."""
    return next((tool.input_schema for tool in TOOLS if tool.name == name), None)


def picked(groups: Iterable[Group]) -> list[Tool]:
    """The tools of some groups, in the order of the registry."""
    return [tool for tool in TOOLS if tool.group in groups]


def _listed(tool: Tool) -> ToolListed:
    return ToolListed(
        name=tool.name,
        title=tool.annotations.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations.model_validate(msgspec.to_builtins(tool.annotations)),
    )


def _refused(exchange: Exchange, error: Exception) -> CallToolResult:
    """The sentence first, then what a program can act on: the error of the HTTP envelope."""
    refusal = refusal_of(error)
    if isinstance(refusal, InternalError):
        log.error("request_failed", request_id=exchange.request_id, exc_info=error)
    exchange.note(refused=refusal.code)
    envelope = {"error": describe(refusal, exchange.request_id)["error"]}
    texts = (refusal.message, encode(envelope).decode())
    return CallToolResult(content=[TextContent(text=text) for text in texts], is_error=True)
