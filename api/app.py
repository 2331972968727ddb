"""The HTTP server as one ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NoReturn

from litestar import Litestar, Request
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Method

from api.answers import Answer
from api.calls import Server
from api.frame import Frame
from api.operations import Operation
from api.routes.registry import OPERATIONS
from api.settings import Settings
from api.wiring import Services

if TYPE_CHECKING:
    from api.mcp.door import Door

AnyRequest = Request[object, object, State]

MCP_PATH = "/mcp"


def create_app(services: Services, settings: Settings | None = None) -> Litestar:
    """The application over open services, which outlive it."""
    return build_app(Server(services, settings or Settings()))


def build_app(server: Server) -> Litestar:
    """The application of a server, which ends with it."""

    # Its SDK takes long to import, and most commands serve nothing.
    from api.mcp.door import Door

    door = Door(server)

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        server.start()
        try:
            async with door.open():
                yield
        finally:
            await server.close()

    app = Litestar(
        route_handlers=[
            *(mount_options(path, methods) for path, methods in _methods().items()),
            *(mount(operation, server) for operation in OPERATIONS),
            mount_door(door),
        ],
        exception_handlers={Exception: _leave_to_frame},
        lifespan=[lifespan],
        # Ours describes itself from the registry, limits bodies as it reads them, and logs.
        openapi_config=None,
        request_max_body_size=None,
        logging_config=None,
    )
    # Around everything, so that an address without a route is framed as well.
    app.asgi_handler = Frame(app.asgi_handler)
    return app


def _methods() -> dict[str, set[Method]]:
    """The methods of each address."""
    found: dict[str, set[Method]] = {MCP_PATH: {"POST"}}
    for operation in OPERATIONS:
        found.setdefault(operation.path, set()).add(operation.method)
    return found


def mount_options(path: str, methods: set[Method]) -> HTTPRouteHandler:
    """The route that tells which methods an address takes. Litestar's own, made handler by
    handler, would name those of one handler alone."""
    allowed = methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
    answer = Answer(204, b"", ((b"allow", ", ".join(sorted(allowed)).encode()),))

    async def endpoint() -> ASGIApp:
        return answer

    return HTTPRouteHandler(_template(path), http_method=["OPTIONS"], status_code=200)(endpoint)


def mount(operation: Operation, server: Server) -> HTTPRouteHandler:
    """The Litestar route of an operation."""

    async def endpoint(request: AnyRequest) -> ASGIApp:
        return await operation.respond(server, request.scope, request.receive)

    return HTTPRouteHandler(
        _template(operation.path),
        http_method=["GET", "HEAD"] if operation.method == "GET" else [operation.method],
        name=operation.name,
        # The real one is the answer's own; Litestar only wants to know that there is a body.
        status_code=200,
    )(endpoint)


def mount_door(door: "Door") -> HTTPRouteHandler:
    """The Litestar route of MCP, which takes POST alone: no stream is opened by GET, and there
    is no session to DELETE."""

    async def endpoint(request: AnyRequest) -> ASGIApp:
        return await door.answer(request.scope, request.receive)

    return HTTPRouteHandler(MCP_PATH, http_method=["POST"], name="mcp", status_code=200)(endpoint)


def _template(path: str) -> str:
    """The path as Litestar writes it."""
    return path.replace("}", ":str}")


def _leave_to_frame(request: AnyRequest, error: Exception) -> NoReturn:
    """What Litestar refuses itself, addresses and methods that are not there, is answered by
    the frame like everything else."""
    raise error
