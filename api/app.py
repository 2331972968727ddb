"""The HTTP server as one ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

from litestar import Litestar, Request
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from api.calls import Server
from api.frame import Frame
from api.operations import Operation
from api.routes.registry import OPERATIONS
from api.settings import Settings
from api.wiring import Services

AnyRequest = Request[object, object, State]


def create_app(services: Services, settings: Settings | None = None) -> Litestar:
    """The application over open services, which outlive it."""
    server = Server(services, settings or Settings())

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        try:
            yield
        finally:
            server.close()

    app = Litestar(
        route_handlers=[mount(operation, server) for operation in OPERATIONS],
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


def mount(operation: Operation, server: Server) -> HTTPRouteHandler:
    """The Litestar route of an operation."""

    async def endpoint(request: AnyRequest) -> ASGIApp:
        return await operation.respond(server, request.scope, request.receive)

    return HTTPRouteHandler(
        operation.path.replace("}", ":str}"),
        http_method=["GET", "HEAD"] if operation.method == "GET" else [operation.method],
        name=operation.name,
        # The real one is the answer's own; Litestar only wants to know that there is a body.
        status_code=200,
    )(endpoint)


def _leave_to_frame(request: AnyRequest, error: Exception) -> NoReturn:
    """What Litestar refuses itself, addresses and methods that are not there, is answered by
    the frame like everything else."""
    raise error
