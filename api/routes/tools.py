"""Every tool over HTTP: the body is its arguments, the answer its result."""

from litestar.types import HTTPScope, Receive

from api.answers import NO_CACHE, Answer, encode, entity_tag
from api.bodies import refuse_repeated_names
from api.calls import Call, Server, open_call
from api.operations import KB_PATH, OF_CHANGES, OF_CLAIMS, OF_READS, Operation, reads
from api.parameters import Parameters, parse_parameters
from api.tools.registry import INSTRUCTIONS, TOOLS
from api.tools.tool import Annotations, Group, Schema, Tool
from api.writing import read_value
from kbstore.errors import RunScopesMissingError
from projections.views import View


class ToolView(View, frozen=True, kw_only=True):
    """A tool as a model is told of it; the schemas are JSON Schema 2020-12."""

    name: str
    group: Group
    description: str
    input_schema: Schema
    output_schema: Schema
    annotations: Annotations


class ToolList(View, frozen=True, kw_only=True):
    """`instructions` say how a model uses each group of tools."""

    instructions: dict[Group, str]
    items: tuple[ToolView, ...]


@reads(
    "listTools",
    "/tools",
    "List the tools, with their schemas",
    parameters=Parameters,
    answer=ToolList,
)
async def list_tools(call: Call, given: Parameters) -> Answer:
    listed = encode(ToolList(instructions=INSTRUCTIONS, items=tuple(map(_view, TOOLS))))
    return Answer(200, listed, ((b"etag", entity_tag(listed).encode()), NO_CACHE))


def _view(tool: Tool) -> ToolView:
    return ToolView(
        name=tool.name,
        group=tool.group,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=tool.annotations,
    )


def _operation(tool: Tool) -> Operation:
    """The route of a tool."""

    async def respond(server: Server, scope: HTTPScope, receive: Receive) -> Answer:
        call = await open_call(server, scope, receive, await server.repeats.key(scope))
        raw, value = await read_value(call, is_optional=True)
        parse_parameters(scope["query_string"], Parameters)
        refuse_repeated_names(raw)
        return await tool.respond(call, raw, value)

    of_group = OF_READS if tool.is_read else OF_CLAIMS
    return Operation(
        name=tool.name,
        method="POST",
        path=f"{KB_PATH}/tools/{tool.name}",
        summary=tool.annotations.title,
        body=tool.arguments,
        answers={200: tool.result},
        errors=(*dict.fromkeys((*OF_CHANGES, *of_group, RunScopesMissingError, *tool.errors)),),
        commits=not tool.is_read,
        takes_claim=not tool.is_read,
        is_tool=True,
        respond=respond,
    )


OPERATIONS = (list_tools, *map(_operation, TOOLS))
