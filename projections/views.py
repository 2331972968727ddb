"""What reads answer with: the shapes every door shares.

Field names are camelCase outside. An absent optional value is null, never left out, except a
front matter error, which is there only when there is one. Times are RFC 3339 in UTC with
microseconds; ids are UUIDs.
"""

from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

if TYPE_CHECKING:
    Json: TypeAlias = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
else:
    # A schema cannot name a recursive alias; to msgspec these fields hold any JSON.
    Json = Any


class View(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a door can send as it stands."""


class PageView(View, frozen=True, kw_only=True):
    """A whole page. `version` 0 marks a declared page that nothing was written to yet.

    `ref` is the scope address, `scope#key/key`, or the id where a level has no key or the
    reader may not see it; `path` is the keys alone, joined by "/" ("" for a scope page) or
    null in those same cases. `parent` is null for a scope page and where it is hidden.
    """

    id: UUID
    ref: str
    scope: str
    key: str | None
    name: str
    description: str | None
    version: int
    parent: UUID | None
    path: str | None
    body: str | None
    frontmatter: dict[str, Json] | None
    created_at: str
    updated_at: str
    updated_by: str
    frontmatter_error: str | UnsetType = UNSET


class PageSummary(View, frozen=True, kw_only=True):
    """A page in a list; `children` counts those the reader can read."""

    id: UUID
    ref: str
    scope: str
    key: str | None
    name: str
    description: str | None
    version: int
    parent: UUID | None
    path: str | None
    children: int
    created_at: str
    updated_at: str
    updated_by: str


class ScopeView(View, frozen=True, kw_only=True):
    """A scope and its page; `role` is the reader's, `belongs_to` null where it is hidden."""

    scope: str
    page: UUID
    name: str
    description: str | None
    belongs_to: str | None
    role: str
    held: bool
    version: int
    children: int


class NoteView(View, frozen=True, kw_only=True):
    """A note. `ref` names its page; `scope` lists the stamps the reader may read. `version` and
    the last update leave out changes of the other stamps."""

    id: UUID
    page: UUID
    ref: str
    text: str
    scope: tuple[str, ...]
    when: str | None
    version: int
    created_at: str
    created_by: str
    updated_at: str
    updated_by: str


class PinView(View, frozen=True, kw_only=True):
    """A pin. `audience` lists the scopes the reader may read or holds."""

    page: UUID
    ref: str
    kind: str
    depth: int
    audience: tuple[str, ...]
    updated_at: str
    updated_by: str


class BacklinkView(View, frozen=True, kw_only=True):
    """A link that leads here: the page it stands on, the note when it stands in one, its line."""

    page: UUID
    ref: str
    name: str
    note: UUID | None
    kind: str
    target: str
    line: int


class HistoryEntry(View, frozen=True, kw_only=True):
    """One event of a page. `changed` names what it changed: `name`, `description`, `body`,
    `scope`, `parent`, `key`, or what happened: `created`, `absorbed`, `merged`, `deleted`,
    `restored`. `message` is that of its commit, null where the reader may not see the whole of
    it. `restored_version` says which version's content came back."""

    position: int
    revision: int
    version: int
    type: str
    at: str
    actor: str
    message: str | None
    changed: tuple[str, ...]
    restored_version: int | None


class TextChange(View, frozen=True, kw_only=True):
    """A field on both sides of a diff."""

    before: str | None
    after: str | None


class DiffView(View, frozen=True, kw_only=True):
    """Two states of a page compared: `name`, `description` and `place` (its ref on both
    sides, between revisions) only where they differ, null else. `body` is a unified diff, ""
    where the bodies are equal; of bodies over 256 KiB it only says which lines changed. A side
    without a body is called /dev/null; beside an empty body that is all the diff says."""

    page: UUID
    ref: str
    from_version: int
    to_version: int
    name: TextChange | None
    description: TextChange | None
    place: TextChange | None
    body: str


class EventView(View, frozen=True, kw_only=True):
    """One event with the facts of it the reader may see; a body as its lines and tokens.

    `version` is that of the page or the knowledge base after it. It is null for events of notes
    and pins: their numbers also count changes that the reader may not see.
    """

    position: int
    revision: int
    type: str
    page_id: UUID | None
    note_id: UUID | None
    ref: str | None
    version: int | None
    at: str
    actor: str
    data: dict[str, Json]


class CommitView(View, frozen=True, kw_only=True):
    """A commit with the first 100 of its readable events, `event_count` in all.

    `complete` says that all its events are readable; only then `actor`, `run`, `tool_call`,
    `message` and `occurred_at` show. `digest` is for auditors.
    """

    revision: int
    committed_at: str
    event_count: int
    complete: bool
    occurred_at: str | None
    actor: str | None
    run: str | None
    tool_call: str | None
    message: str | None
    digest: str | None
    events: tuple[EventView, ...]


class DeletionView(View, frozen=True, kw_only=True):
    """A deleted page; `version` is what `If-Match` takes, `deletion` the revision that deleted."""

    page_id: UUID
    ref: str
    name: str
    version: int
    deletion: int
    deleted_at: str
    deleted_by: str


class RevisionView(View, frozen=True, kw_only=True):
    """A revision; `final` is false while a later commit could still fall to the time asked for."""

    revision: int
    committed_at: str
    final: bool
