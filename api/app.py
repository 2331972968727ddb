"""The HTTP server as one ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

from litestar import Litestar, Request
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from api.answers import Answer
from api.calls import Server
from api.frame import Frame
from api.operations import Operation
from api.routes.registry import OPERATIONS
from api.settings import Settings
from api.wiring import Services

AnyRequest = Request[object, object, State]


def create_app(services: Services, settings: Settings | None = None) -> Litestar:
    """The application over open services, which outlive it."""
    return build_app(Server(services, settings or Settings()))


def build_app(server: Server) -> Litestar:
    """The application of a server, which ends with it."""

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        server.start()
        try:
            yield
        finally:
            await server.close()

    app = Litestar(
        route_handlers=[
            *(mount_options(path) for path in {operation.path for operation in OPERATIONS}),
            *(mount(operation, server) for operation in OPERATIONS),
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


def mount_options(path: str) -> HTTPRouteHandler:
    """The route that tells which methods an address takes. Litestar's own, made handler by
    handler, would name those of one handler alone."""
    methods = {operation.method for operation in OPERATIONS if operation.path == path}
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


def _template(path: str) -> str:
    """The path as Litestar writes it."""
    return path.replace("}", ":str}")


def _leave_to_frame(request: AnyRequest, error: Exception) -> NoReturn:
    """What Litestar refuses itself, addresses and methods that are not there, is answered by
    the frame like everything else."""
    raise error
