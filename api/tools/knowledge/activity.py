"""knowledge_activity: what changed, as far as the run can read it."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from api.answers import encode
from api.cursors import Place
from api.parameters import Cursor, Position
from api.reading import Moment
from api.tools.knowledge.listing import Reference
from api.tools.references import page_to_read
from api.tools.tool import ReadArguments, Reading, Result, reads
from kbstore.errors import AmbiguousReferenceError, NotFoundError
from kbstore.limits import LIST_TOKENS_MAX
from kbstore.text import estimate_tokens
from projections.read.activity import events
from projections.read.pages import labels
from projections.read.rows import readable_row
from projections.views import EventView, Json, View

CHANGES_DEFAULT = 20
CHANGES_MAX = 100
Order = Literal["newest", "oldest"]


class KnowledgeActivityArguments(ReadArguments, frozen=True, kw_only=True):
    """From where on, in which order, and of what."""

    since: Annotated[
        Position | None,
        Meta(description="Only changes after this position; every change has one."),
    ] = None
    order: Annotated[
        Order, Meta(description="newest first, or oldest first to follow what happens.")
    ] = "newest"
    page: Annotated[
        Reference | None,
        Meta(description="Only changes of this page: an id, address, page path or exact name."),
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=CHANGES_MAX)] | None,
        Meta(description=f"Maximum changes, {CHANGES_DEFAULT} by default."),
    ] = None
    cursor: Annotated[
        Cursor | None,
        Meta(
            description="The cursor of the result before, with the same order and page. With "
            "order oldest it stays valid when everything was read: pass it again later."
        ),
    ] = None

    @property
    def resumed(self) -> str | None:
        return self.cursor


class Change(View, frozen=True, kw_only=True):
    """One change. `page` and `name` are absent where the page is gone, `data` holds what the
    change set."""

    position: int
    revision: int
    type: str
    page: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    note: UUID | UnsetType = UNSET
    version: int | UnsetType = UNSET
    at: str
    by: str
    data: dict[str, Json]


class KnowledgeActivityResult(Result, frozen=True, kw_only=True):
    """`cursor` goes on from here; `caught_up` says that there was nothing more to read."""

    changes: tuple[Change, ...]
    caught_up: bool
    cursor: str | UnsetType = UNSET
    more: tuple[str, ...] | UnsetType = UNSET


@reads(
    "knowledge_activity",
    "See what changed",
    "List what changed in the pages, notes and pins this run can read: newest first, or oldest "
    "first from a position or cursor, to follow what others do.",
    arguments=KnowledgeActivityArguments,
    result=KnowledgeActivityResult,
    errors=(NotFoundError, AmbiguousReferenceError),
)
def knowledge_activity(
    reading: Reading, given: KnowledgeActivityArguments
) -> KnowledgeActivityResult:
    snapshot, newest_first = reading.snapshot, given.order == "newest"
    page_id = None if given.page is None else page_to_read(snapshot, given.page).page_id
    # A feed goes by position: it never goes stale, so its cursor binds no revision.
    signer = reading.signer(
        "knowledge_activity", given.order, None if page_id is None else str(page_id), given.since
    )
    place = None if given.cursor is None else signer.read(given.cursor)
    after = given.since if not newest_first else None
    if place is not None:
        (after,) = (int(part) for part in place.after)
    limit = given.limit or (place.limit if place is not None else CHANGES_DEFAULT)
    found = events(snapshot, after, limit, page_id=page_id, newest_first=newest_first)
    floor = given.since or 0
    within = [view for view in found.items if not newest_first or view.position > floor]
    shown = _fitting(reading, within)
    is_whole = len(shown) == len(within)
    ends = len(within) < len(found.items) or found.after is None
    caught_up = is_whole and ends
    if is_whole and found.after is not None:
        last = found.after
    else:
        last = shown[-1].position if shown else after or 0
    is_pinned = reading.moment != Moment()
    cursor = signer.write(Place(reading.state.revision, is_pinned, limit, (last,)))
    goes_on = not (newest_first and caught_up)
    return KnowledgeActivityResult(
        revision=reading.state.revision,
        changes=tuple(shown),
        caught_up=caught_up,
        cursor=cursor if goes_on else UNSET,
        more=UNSET if caught_up else (f'changes: more follow. Read on with cursor: "{cursor}".',),
    )


def _fitting(reading: Reading, views: list[EventView]) -> list[Change]:
    """The first changes, as many as the tokens of one result allow, and at least one."""
    shown: list[Change] = []
    tokens = 0
    for view in views:
        change = _change(reading, view)
        tokens += estimate_tokens(encode(change).decode())
        if shown and tokens > LIST_TOKENS_MAX:
            break
        shown.append(change)
    return shown


def _change(reading: Reading, view: EventView) -> Change:
    row = None if view.page_id is None else readable_row(reading.snapshot, view.page_id)
    return Change(
        position=view.position,
        revision=view.revision,
        type=view.type,
        page=UNSET if view.ref is None else view.ref,
        name=UNSET if row is None else labels(reading.snapshot, row)[0],
        note=UNSET if view.note_id is None else view.note_id,
        version=UNSET if view.version is None else view.version,
        at=view.at,
        by=view.actor,
        data=view.data,
    )
