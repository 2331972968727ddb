"""knowledge_pin: putting a page, or a listing of what is under it, before every run of a scope."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta

from api.reading import State
from api.tools.knowledge.listing import Reference
from api.tools.knowledge.planning import Address, at_head, page_there
from api.tools.tool import Arguments, Result, writes
from api.write import Write
from kbstore.access import Role
from kbstore.domain.commands import RemovePin, SetPin
from kbstore.errors import (
    AmbiguousReferenceError,
    NotFoundError,
    RoleTooWeakError,
    ValidationError,
)
from kbstore.limits import PIN_AUDIENCE_MAX, PIN_DEPTH_LEVELS_MAX
from kbstore.service import Outcome
from projections.read.pins import known_pin
from projections.read.refs import standing
from projections.read.standing import place_of
from projections.snapshot import Snapshot
from projections.views import View

PinKind = Literal["page", "list"]
_ACTIONS = {"pin": "Pinning a page", "unpin": "Unpinning a page"}


class KnowledgePinArguments(Arguments, frozen=True, kw_only=True):
    """What to pin or unpin, and for whom."""

    op: Annotated[
        Literal["pin", "unpin"],
        Meta(
            description="pin delivers to the audience named here, in place of the audience you "
            "pinned for before; unpin takes the audience named here out of it."
        ),
    ]
    page: Annotated[
        Reference,
        Meta(
            description="The page to pin or unpin: an id, scope address, page path or exact name."
        ),
    ]
    audience: Annotated[
        Annotated[tuple[Address, ...], Meta(max_length=PIN_AUDIENCE_MAX)],
        Meta(description="Scope addresses whose runs receive the pin."),
    ]
    kind: Annotated[
        PinKind,
        Meta(
            description="page pins the page, list a listing of the pages under it. A page can "
            "have one pin of each kind."
        ),
    ] = "page"
    depth: Annotated[
        Annotated[int, Meta(ge=1, le=PIN_DEPTH_LEVELS_MAX)] | None,
        Meta(
            description='Levels a listing shows below the page, 1 by default. Only with op "pin" '
            'and kind "list"; pinning a listing again sets its new depth.'
        ),
    ] = None


class WrittenPin(View, frozen=True, kw_only=True):
    """A pin; `page` is the ref of its page, `audience` lists the scopes that the run can read
    or holds, `depth` counts for a listing."""

    page: str
    kind: PinKind
    depth: int
    audience: tuple[str, ...]


class KnowledgePinResult(Result, frozen=True, kw_only=True):
    """`changed` is false where everything already was as asked; `pin` is null when nothing is
    left of it that the run knows of."""

    changed: bool
    pin: WrittenPin | None


def _render(state: State, outcome: Outcome, given: KnowledgePinArguments) -> KnowledgePinResult:
    (subject,) = outcome.subjects
    return KnowledgePinResult(
        revision=outcome.revision,
        changed=outcome.changed,
        pin=_written(state.snapshot, subject.id, given.kind),
    )


def _written(snapshot: Snapshot, pin_id: UUID, kind: PinKind) -> WrittenPin | None:
    pin = known_pin(snapshot, pin_id)
    if pin is None:
        return None
    try:
        page = standing(snapshot, pin.page_id)
    except NotFoundError:
        return None
    return WrittenPin(
        page=place_of(snapshot, page).ref, kind=kind, depth=pin.depth, audience=pin.audience
    )


@writes(
    "knowledge_pin",
    "Pin pages",
    "Pin a page, or a listing of the pages under it, into the context of every run that holds "
    "one of the audience scopes, on every turn; or unpin it. A pinned page reaches only runs "
    "that can read it, and a listing shows each run what it can read.",
    group="pins",
    arguments=KnowledgePinArguments,
    result=KnowledgePinResult,
    render=_render,
    destructive=True,
    idempotent=True,
    errors=(NotFoundError, AmbiguousReferenceError, RoleTooWeakError),
)
async def knowledge_pin(write: Write, given: KnowledgePinArguments) -> SetPin | RemovePin:
    def find(snapshot: Snapshot) -> UUID:
        page = page_there(write, snapshot, given.page)
        snapshot.access.require(Role.EDITOR, page.scope, _ACTIONS[given.op])
        return page.page_id

    page_id = await at_head(write, find)
    if given.depth is not None and (given.op, given.kind) != ("pin", "list"):
        raise ValidationError(
            'depth is only for op "pin" with kind "list".', field="depth", reason="outOfPlace"
        )
    if given.op == "unpin":
        return RemovePin(page=page_id, kind=given.kind, audience=given.audience)
    return SetPin(page=page_id, kind=given.kind, audience=given.audience, depth=given.depth or 1)
