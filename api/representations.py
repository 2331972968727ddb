"""The answers of the resources: what stands around the views."""

from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from api.reading import Shown
from projections.views import (
    BacklinkView,
    CommitView,
    DeletionView,
    DiffView,
    EventView,
    HistoryEntry,
    Json,
    NoteView,
    PageSummary,
    PageView,
    PinView,
    ScopeView,
    View,
)


class PageRead(Shown, frozen=True, kw_only=True):
    page: PageView


class NoteRead(Shown, frozen=True, kw_only=True):
    note: NoteView


class DiffRead(Shown, frozen=True, kw_only=True):
    diff: DiffView


class CommitRead(Shown, frozen=True, kw_only=True):
    commit: CommitView


class ConfigurationRead(Shown, frozen=True, kw_only=True):
    """`version` is the revision that set the configuration: what `If-Match` takes, 0 for none."""

    version: int
    configuration: dict[str, Json]


class ListRead(Shown, frozen=True, kw_only=True):
    """A part of a list; `next_cursor` leads to the next one and is null at the end."""

    next_cursor: str | None


class PageList(ListRead, frozen=True, kw_only=True):
    items: tuple[PageSummary, ...]


class ScopeList(ListRead, frozen=True, kw_only=True):
    items: tuple[ScopeView, ...]


class NoteList(ListRead, frozen=True, kw_only=True):
    items: tuple[NoteView, ...]


class PinList(ListRead, frozen=True, kw_only=True):
    items: tuple[PinView, ...]


class BacklinkList(ListRead, frozen=True, kw_only=True):
    items: tuple[BacklinkView, ...]


class HistoryList(ListRead, frozen=True, kw_only=True):
    items: tuple[HistoryEntry, ...]


class DeletionList(ListRead, frozen=True, kw_only=True):
    items: tuple[DeletionView, ...]


class CommitList(ListRead, frozen=True, kw_only=True):
    items: tuple[CommitView, ...]


class EventList(ListRead, frozen=True, kw_only=True):
    items: tuple[EventView, ...]


class Written(View, frozen=True, kw_only=True):
    """What every write answers. `changed` is false when everything already was as asked."""

    revision: int
    changed: bool


class RenamedKey(View, frozen=True, kw_only=True):
    """A child that got another key because the merge met one of the same."""

    page: UUID
    before: str
    after: str


class PageWritten(Written, frozen=True, kw_only=True):
    """`page` is null when the caller cannot read it at the revision, as after a deletion."""

    page: PageView | None
    renamed: tuple[RenamedKey, ...] | UnsetType = UNSET


class NoteWritten(Written, frozen=True, kw_only=True):
    """`note` is null once it was removed."""

    note: NoteView | None


class PinWritten(Written, frozen=True, kw_only=True):
    """`pin` is null when nothing of it is left that the caller knows of."""

    pin: PinView | None


class ConfigurationWritten(Written, frozen=True, kw_only=True):
    version: int
    configuration: dict[str, Json]


class OperationResult(View, frozen=True, kw_only=True):
    """What an operation of a commit was about. `ref` and `version` are those of a page that
    the caller can read at the revision."""

    kind: str
    id: UUID
    created: bool
    ref: str | None
    version: int | None


class PlannedEvent(View, frozen=True, kw_only=True):
    """An event that a dry run would write; the last three fields say where a page would stand.

    `version` is null for notes and pins: it would count changes the caller knows nothing of.
    """

    type: str
    aggregate_id: UUID
    version: int | None
    page_id: UUID | None
    scope: str | None
    parent: UUID | None
    key: str | None


class CommitWritten(Written, frozen=True, kw_only=True):
    """`results` has one entry for each operation; `events` are those a dry run would write,
    and `changed` then says whether there are any. Ids it made are not those of a later commit."""

    results: tuple[OperationResult, ...]
    events: tuple[PlannedEvent, ...]


class Health(Struct, frozen=True, kw_only=True):
    status: str


class ErrorBody(Struct, frozen=True, kw_only=True, rename="camel"):
    """A refusal: act on `code` and `details`, show `message` to people."""

    code: str
    message: str
    http_status: int
    details: dict[str, Json] | UnsetType = UNSET


class ErrorAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """What every refusal answers."""

    error: ErrorBody
    request_id: str
