"""Pins: a page, or the listing under it, delivered to the runs that hold an audience scope."""

from typing import Annotated

from msgspec import Meta

from api.bodies import Body
from api.operations import writes
from api.parameters import Parameters
from api.representations import PinWritten
from api.write import Write
from api.writing import WriteRules, needs
from api.written import pin_written
from kbstore.access import Role
from kbstore.domain.commands import RemovePin, SetPin
from kbstore.errors import RoleTooWeakError
from kbstore.limits import PIN_DEPTH_LEVELS_MAX


class PinBody(Body, frozen=True, kw_only=True):
    """`depth` counts the levels a pin of the kind `list` shows."""

    audience: tuple[str, ...]
    depth: Annotated[int, Meta(ge=1, le=PIN_DEPTH_LEVELS_MAX)] = 1


class UnpinBody(Body, frozen=True, kw_only=True):
    """Without `audience`, all of it that the caller has authority over."""

    audience: tuple[str, ...] | None = None


@writes(
    "setPin",
    "PUT",
    "/pages/{pageId}/pins/{kind}",
    "Pin a page (kind page) or the listing under it (kind list)",
    parameters=Parameters,
    body=PinBody,
    answer=PinWritten,
    creates=True,
    rules=WriteRules(check=needs(Role.EDITOR, "Pinning a page"), render=pin_written),
    errors=(RoleTooWeakError,),
)
async def set_pin(write: Write, given: Parameters, body: PinBody) -> SetPin:
    return SetPin(
        page=write.page_id,
        kind=write.call.path["kind"],
        audience=body.audience,
        depth=body.depth,
    )


@writes(
    "removePin",
    "DELETE",
    "/pages/{pageId}/pins/{kind}",
    "Take audiences out of a pin, and the pin with the last one",
    parameters=Parameters,
    body=UnpinBody,
    answer=PinWritten,
    rules=WriteRules(
        check=needs(Role.EDITOR, "Unpinning a page"), is_body_optional=True, render=pin_written
    ),
    errors=(RoleTooWeakError,),
)
async def remove_pin(write: Write, given: Parameters, body: UnpinBody) -> RemovePin:
    return RemovePin(page=write.page_id, kind=write.call.path["kind"], audience=body.audience)


OPERATIONS = (set_pin, remove_pin)
