"""The events, as they are stored.

An event is a frozen Struct with a stable topic. Its payload is a MessagePack map of the fields
below `originator_version`; fields at their default are left out. Text never stands in a
payload: a `TextRef` names a row of the texts table and proves its content, so that a text can
be erased and the log still verifies. `docs/internals/events.md` says how a type may change.
"""

from collections.abc import Iterator
from typing import ClassVar
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

NIL = UUID(int=0)
CONFIG_AUTHOR = "service:config"


class TextRef(Struct, frozen=True, array_like=True):
    """A text by id, with SHA-256(salt + UTF-8 bytes)."""

    text_id: UUID
    sha256: bytes


class BodyRef(Struct, frozen=True, array_like=True):
    """A body, with what deciding needs to know of it: its lines and its token estimate."""

    text: TextRef
    lines: int
    tokens: int


class Links(Struct, frozen=True, array_like=True):
    """The links of a text: their targets (a text of their own, JSON `[[kind, target, line]]`)
    and, for each one that was bound when written, its index and the page it leads to."""

    targets: TextRef
    bound: tuple[tuple[int, UUID], ...] = ()


class ReplacedRange(Struct, frozen=True, omit_defaults=True):
    """The lines an edit replaced (1-based, inclusive; columns 0-based, end exclusive)."""

    start_line: int
    end_line: int
    start_col: int | None = None
    end_col: int | None = None


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fact of one aggregate; `originator_version` counts from 1."""

    topic: ClassVar[str] = ""
    class_version: ClassVar[int] = 1

    originator_id: UUID = NIL
    originator_version: int = 0


# --- Page -----------------------------------------------------------------------------------


class PageCreated(Event, frozen=True, kw_only=True):
    """A page came to be. `template` is the declared key path it was written from, joined by
    `/` (empty for a scope page), `author` the principal when it is not the commit's actor."""

    topic = "page.created"

    scope: str
    parent_id: UUID | None = None
    key: str | None = None
    name: TextRef
    description: TextRef | None = None
    body: BodyRef | None = None
    links: Links | None = None
    template: str | None = None
    author: str | None = None


class PageEdited(Event, frozen=True, kw_only=True):
    """Name, description or body changed; an absent field did not. `links` go with the body."""

    topic = "page.edited"

    name: TextRef | UnsetType = UNSET
    description: TextRef | None | UnsetType = UNSET
    body: BodyRef | None | UnsetType = UNSET
    links: Links | None = None
    range: ReplacedRange | None = None
    restored_version: int | None = None


class PageMoved(Event, frozen=True, kw_only=True):
    """The page stands elsewhere or under another key; what is below it came along."""

    topic = "page.moved"

    scope: str
    parent_id: UUID
    key: str | None = None
    from_scope: str
    from_parent_id: UUID
    from_key: str | None = None


class PageMergedAway(Event, frozen=True, kw_only=True):
    """The page is gone; `into` took over what it held."""

    topic = "page.merged_away"

    into: UUID


class PageAbsorbed(Event, frozen=True, kw_only=True):
    """Another page was merged into this one; `description` when it was taken over."""

    topic = "page.absorbed"

    page_id: UUID
    description: TextRef | None = None


class PageDeleted(Event, frozen=True, kw_only=True):
    topic = "page.deleted"


class PageRestored(Event, frozen=True, kw_only=True):
    """A deleted page is back, with a content it once had, perhaps at another place."""

    topic = "page.restored"

    scope: str
    parent_id: UUID
    key: str | None = None
    name: TextRef
    description: TextRef | None = None
    body: BodyRef | None = None
    links: Links | None = None
    restored_version: int


# --- Note ------------------------------------------------------------------------------------


class NoteAdded(Event, frozen=True, kw_only=True):
    """`when` is an ISO 8601 date or date-time as given; `stamps` say who can see the note."""

    topic = "note.added"

    page_id: UUID
    text: TextRef
    stamps: tuple[str, ...]
    when: str | None = None
    links: Links | None = None


class NoteRestamped(Event, frozen=True, kw_only=True):
    topic = "note.restamped"

    stamps: tuple[str, ...]


class NoteMoved(Event, frozen=True, kw_only=True):
    """The note's page was merged away; the note now stands on `page_id`."""

    topic = "note.moved"

    page_id: UUID


class NoteRemoved(Event, frozen=True, kw_only=True):
    topic = "note.removed"


# --- Pin ---------------------------------------------------------------------------------------


class PinSet(Event, frozen=True, kw_only=True):
    """The pin now has this audience and depth. `kind` is `page` or `list`."""

    topic = "pin.set"

    page_id: UUID
    kind: str
    audience: tuple[str, ...]
    depth: int = 1


class PinRemoved(Event, frozen=True, kw_only=True):
    topic = "pin.removed"


# --- Knowledge base ------------------------------------------------------------------------------


class KnowledgeBaseCreated(Event, frozen=True, kw_only=True):
    topic = "knowledge_base.created"

    slug: str


class KnowledgeBaseConfigured(Event, frozen=True, kw_only=True):
    """The whole configuration, as canonical JSON. Version 1 stored TOML and named no format."""

    topic = "knowledge_base.configured"
    class_version = 2

    configuration: TextRef
    format: str

    @staticmethod
    def upcast_v1_v2(payload: dict[str, object]) -> None:
        payload["format"] = "toml"


PageEvent = (
    PageCreated
    | PageEdited
    | PageMoved
    | PageMergedAway
    | PageAbsorbed
    | PageDeleted
    | PageRestored
)
NoteEvent = NoteAdded | NoteRestamped | NoteMoved | NoteRemoved
PinEvent = PinSet | PinRemoved
KnowledgeBaseEvent = KnowledgeBaseCreated | KnowledgeBaseConfigured

EVENT_TYPES: tuple[type[Event], ...] = (
    PageCreated,
    PageEdited,
    PageMoved,
    PageMergedAway,
    PageAbsorbed,
    PageDeleted,
    PageRestored,
    NoteAdded,
    NoteRestamped,
    NoteMoved,
    NoteRemoved,
    PinSet,
    PinRemoved,
    KnowledgeBaseCreated,
    KnowledgeBaseConfigured,
)


def text_refs(event: Event) -> Iterator[TextRef]:
    """Every text an event names, those behind bodies and links included."""
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, TextRef):
            yield value
        elif isinstance(value, BodyRef):
            yield value.text
        elif isinstance(value, Links):
            yield value.targets
