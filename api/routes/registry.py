"""Every route there is, and the contract that describes them."""

from functools import cache

from api.answers import NO_CACHE, Answer, encode
from api.calls import Server
from api.openapi import openapi_document
from api.operations import Operation, opens
from api.routes import (
    commits,
    configuration,
    context,
    feeds,
    following,
    health,
    notes,
    page_parts,
    pages,
    pins,
    revisions,
    scopes,
    tools,
    webhooks,
)

API_VERSION = "2.0"


@opens("readContract", "/openapi/v2/openapi.json", "This document", answer=None)
async def read_contract(server: Server) -> Answer:
    return Answer(200, contract(), (NO_CACHE,))


OPERATIONS: tuple[Operation, ...] = (
    *pages.OPERATIONS,
    *page_parts.OPERATIONS,
    *notes.OPERATIONS,
    *pins.OPERATIONS,
    *feeds.OPERATIONS,
    *following.OPERATIONS,
    *commits.OPERATIONS,
    *revisions.OPERATIONS,
    *scopes.OPERATIONS,
    *configuration.OPERATIONS,
    *webhooks.OPERATIONS,
    *context.OPERATIONS,
    *tools.OPERATIONS,
    *health.OPERATIONS,
    read_contract,
)


@cache
def contract() -> bytes:
    """The OpenAPI document of all operations, encoded."""
    return encode(openapi_document(OPERATIONS, API_VERSION))
