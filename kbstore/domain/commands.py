"""What can be asked of the store.

A command names pages by id: a door resolves refs and names before. Texts come prepared
(normalised, checked, hashed, compressed, analysed), so the writer never waits for any of it.
An absent field is UNSET; a `parent` of None means the scope page.
"""

from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from kbstore.domain.events import ReplacedRange
from kbstore.limits import PAGES_PER_OPERATION_MAX
from kbstore.texts import PreparedBody, PreparedText

ANY_VERSION = "any"
Expected = int | str | None
"""The version a caller read, `ANY_VERSION` when he said that any will do, None when unsaid."""

PageTarget = UUID | str
"""A page id, or `$n`: the page that operation n of the same commit creates."""


class CreatePage(Struct, frozen=True, kw_only=True):
    scope: str
    parent: PageTarget | None = None
    key: str | None = None
    name: PreparedText
    description: PreparedText | None = None
    body: PreparedBody | None = None


class EditPage(Struct, frozen=True, kw_only=True):
    """`description` and `body` of None clear the field. With `range`, `body` is the whole new
    body, and the version it was made from must be expected."""

    page: PageTarget
    expected_version: Expected = None
    name: PreparedText | UnsetType = UNSET
    description: PreparedText | None | UnsetType = UNSET
    body: PreparedBody | None | UnsetType = UNSET
    range: ReplacedRange | None = None


class MovePage(Struct, frozen=True, kw_only=True):
    """An absent `scope`, `parent` or `key` stays as it is; a new scope without a parent means
    that scope's page. A `key` of None makes the page keyless. `pages_max` bounds the page and
    all below it; an import may move more than a door."""

    page: PageTarget
    expected_version: Expected = None
    scope: str | UnsetType = UNSET
    parent: PageTarget | None | UnsetType = UNSET
    key: str | None | UnsetType = UNSET
    pages_max: int = PAGES_PER_OPERATION_MAX


class MergePage(Struct, frozen=True, kw_only=True):
    """`on_key_collision` is `fail` or `rename`."""

    page: PageTarget
    into: PageTarget
    expected_version: Expected = None
    into_version: Expected = None
    on_key_collision: str = "fail"


class DeletePage(Struct, frozen=True, kw_only=True):
    page: PageTarget
    expected_version: Expected = None
    subtree: bool = False


class RestorePage(Struct, frozen=True, kw_only=True):
    """Exactly one of `version`, `revision` and `deletion`; None of them means the newest
    content of a deleted page."""

    page: PageTarget
    expected_version: Expected = None
    version: int | None = None
    revision: int | None = None
    deletion: int | None = None
    parent: PageTarget | None | UnsetType = UNSET
    key: str | None | UnsetType = UNSET


class AddNote(Struct, frozen=True, kw_only=True):
    page: PageTarget
    text: PreparedText
    stamps: tuple[str, ...]
    when: str | None = None


class RestampNote(Struct, frozen=True, kw_only=True):
    note: UUID
    stamps: tuple[str, ...]


class RemoveNote(Struct, frozen=True, kw_only=True):
    note: UUID


class SetPin(Struct, frozen=True, kw_only=True):
    """The audience among the scopes the caller has authority over; the others stay."""

    page: PageTarget
    kind: str
    audience: tuple[str, ...]
    depth: int = 1


class RemovePin(Struct, frozen=True, kw_only=True):
    """Removes the audiences given, all the caller has authority over when none are."""

    page: PageTarget
    kind: str
    audience: tuple[str, ...] | None = None


class Configure(Struct, frozen=True, kw_only=True):
    """Replaces the configuration; `expected_revision` is that of the one it was made from."""

    configuration: PreparedText
    expected_revision: Expected = None


class CreateKnowledgeBase(Struct, frozen=True, kw_only=True):
    slug: str


PageOperation = (
    CreatePage
    | EditPage
    | MovePage
    | MergePage
    | DeletePage
    | RestorePage
    | AddNote
    | RestampNote
    | RemoveNote
    | SetPin
    | RemovePin
)


class Batch(Struct, frozen=True, kw_only=True):
    """All operations or none, in one commit. Expected versions are those before the commit.

    `pages_max` bounds the pages that the operations change together; an import may change more
    than a door.
    """

    operations: tuple[PageOperation, ...]
    expected_revision: int | None = None
    pages_max: int = PAGES_PER_OPERATION_MAX


Operation = PageOperation | Configure | CreateKnowledgeBase
Command = Operation | Batch
