"""The one resource: what is pinned for the run, as a client puts it before a model."""

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
)

from api.calls import Call
from api.mcp.exchange import Context, exchange_of
from kbstore.store.connection import Connection
from projections.read.pinned import PinnedContext, PinnedItem, pinned_context
from projections.snapshot import open_snapshot

CONTEXT_URI = "kbstore://context"
_MARKDOWN = "text/markdown"
_URI_SHOWN_CHARACTERS_MAX = 200


async def list_resources(
    context: Context, params: PaginatedRequestParams | None
) -> ListResourcesResult:
    """The resource that every run has."""
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "There is no such cursor: the list comes in one piece.")
    return ListResourcesResult(
        resources=[
            Resource(
                uri=CONTEXT_URI,
                name="pinned-context",
                title="Pinned context",
                description="What is pinned for this run: standing rules, and lists of pages. "
                "Put it before the model on every turn.",
                mime_type=_MARKDOWN,
            )
        ]
    )


async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """The pinned context of the run, as Markdown. Raises MCPError (-32602) for other URIs."""
    uri = str(params.uri)
    if uri != CONTEXT_URI:
        shown = uri[:_URI_SHOWN_CHARACTERS_MAX]
        raise MCPError(INVALID_PARAMS, f"There is no resource {shown} here.")
    call = exchange_of(context).call

    def work(connection: Connection) -> PinnedContext:
        return _pinned(connection, call)

    text = markdown_of(await call.read_anywhere(work, is_long=True))
    contents = TextResourceContents(uri=CONTEXT_URI, mime_type=_MARKDOWN, text=text)
    return ReadResourceResult(contents=[contents])


def markdown_of(context: PinnedContext) -> str:
    """The pinned context as a model reads it; "" where nothing is pinned."""
    parts = [_markdown(item) for item in context.items]
    if context.left_out:
        named = "\n".join(f"- {pin.name} ({pin.ref})" for pin in context.left_out)
        parts.append(f"Pinned as well; read these when you need them:\n{named}")
    return "\n\n".join(parts)


def _markdown(item: PinnedItem) -> str:
    if item.kind == "list":
        pages = item.pages if isinstance(item.pages, tuple) else ()
        lines = [f"{'  ' * (page.depth - 1)}- {page.name} ({page.ref})" for page in pages]
        more = ["- … list the rest with knowledge_list"] if item.shortened else []
        return "\n".join([f"# Pages under {item.name} ({item.ref})", *lines, *more])
    more = ["(Shortened: knowledge_read has the rest.)"] if item.shortened else []
    return "\n".join([f"# {item.name} ({item.ref})", str(item.body), *more])


def _pinned(connection: Connection, call: Call) -> PinnedContext:
    with connection.reading():
        return pinned_context(open_snapshot(connection, call.kb.kb_id, call.caller))
