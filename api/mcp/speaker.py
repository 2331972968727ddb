"""The SDK's server: what it says of itself, and which handlers it has."""

import structlog
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from pydantic import ValidationError

from api.errors import refusal_of
from api.mcp.exchange import Context, exchange_of
from api.mcp.resources import list_resources, read_resource
from api.mcp.tools import call_tool, input_schema, list_tools
from api.routes.registry import API_VERSION
from api.tools.registry import INSTRUCTIONS

log = structlog.get_logger(__name__)

_TELLING = ("initialize", "server/discover")
"""The methods by which a client asks what a server is."""

_FRESH = CacheHint(ttl_ms=300_000, scope="private")
"""What a server is and has changes with its release alone."""


def make_speaker() -> Server[object]:
    """A server without any state, for every client."""
    speaker: Server[object] = Server(
        "kbstore",
        version=API_VERSION,
        title="kbstore",
        cache_hints=dict.fromkeys(("server/discover", "tools/list", "resources/list"), _FRESH),
        get_tool_input_schema=input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    # Without its telemetry, which nobody reads here and each message pays for.
    speaker.middleware[:] = [hide_defects, tell_instructions]
    return speaker


async def hide_defects(ctx: Context, call_next: CallNext) -> HandlerResult:
    """A defect says nothing of itself; the older leg of the SDK would tell its text."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise  # refusals of the protocol, which the SDK words
    except Exception as error:
        refusal = refusal_of(error)
        request_id = exchange_of(ctx).request_id
        log.error("request_failed", request_id=request_id, exc_info=error)
        raise MCPError(INTERNAL_ERROR, refusal.message) from None


async def tell_instructions(ctx: Context, call_next: CallNext) -> HandlerResult:
    """How a model uses the groups that the client picked, and nothing of others."""
    result = await call_next(ctx)
    if ctx.method not in _TELLING:
        return result
    assert isinstance(result, dict)
    said = [INSTRUCTIONS[group] for group in exchange_of(ctx).groups]
    return {**result, "instructions": "\n\n".join(said)}
