"""The operations of a commit: what each takes, and the command it becomes."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from api.bodies import Body
from api.ranges import RangeBody, edit_by_range
from api.write import Write
from kbstore.domain.commands import (
    AddNote,
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    PageTarget,
    RemoveNote,
    RemovePin,
    RestampNote,
    RestorePage,
    SetPin,
)
from kbstore.errors import ValidationError
from kbstore.ids import parse_uuid
from kbstore.limits import PIN_DEPTH_LEVELS_MAX, REVISION_MAX
from kbstore.texts import PreparedBody

Target = Annotated[str, Meta(max_length=36, description='A page id, or "$0" for operation 0\'s.')]
Number = Annotated[int, Meta(ge=0, le=REVISION_MAX)]
ExpectedVersion = Number | Literal["any"] | None


def target(given: str) -> PageTarget:
    """A page id; other text is for the rules to read as `$n` or to refuse."""
    return parse_uuid(given) or given


class OperationBody(Body, frozen=True, kw_only=True, tag_field="op"):
    """One operation. `lacks_expectation` says that it changes a page of before the commit
    without saying which version of it; `changes` are the pages that get another version."""

    @property
    def lacks_expectation(self) -> bool:
        return False

    @property
    def changes(self) -> tuple[PageTarget, ...]:
        return ()


class ChangeOperation(OperationBody, frozen=True, kw_only=True):
    """An operation on a page that has a version."""

    page: Target
    expected_version: ExpectedVersion = None

    @property
    def lacks_expectation(self) -> bool:
        return self.expected_version is None and not self.page.startswith("$")

    @property
    def changes(self) -> tuple[PageTarget, ...]:
        return (target(self.page),)


class CreateOperation(OperationBody, frozen=True, kw_only=True, tag="create"):
    scope: str
    parent: Target | None = None
    key: str | None = None
    name: str
    description: str | None = None
    body: str | None = None

    def command(self, write: Write) -> CreatePage:
        return CreatePage(
            scope=self.scope,
            parent=None if self.parent is None else target(self.parent),
            key=self.key,
            name=write.name(self.name),
            description=write.description(self.description),
            body=write.prepare_body(self.body),
        )


class EditOperation(ChangeOperation, frozen=True, kw_only=True, tag="edit"):
    name: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    body: str | None | UnsetType = UNSET
    range: RangeBody | UnsetType = UNSET

    @property
    def has_range(self) -> bool:
        return self.range is not UNSET

    def command(self, write: Write) -> EditPage:
        body: PreparedBody | None | UnsetType = UNSET
        replaced = None
        if self.range is not UNSET:
            page_id = parse_uuid(self.page)
            if page_id is None:
                raise ValidationError(
                    "A range is of a page that was there before.",
                    field="range",
                    reason="newPage",
                )
            body, replaced = edit_by_range(
                write, page_id, self.expected_version, self.range, self.body
            )
        elif self.body is not UNSET:
            body = write.prepare_body(self.body)
        return EditPage(
            page=target(self.page),
            expected_version=self.expected_version,
            name=UNSET if self.name is UNSET else write.name(self.name),
            description=(
                UNSET if self.description is UNSET else write.description(self.description)
            ),
            body=body,
            range=replaced,
        )


class MoveOperation(ChangeOperation, frozen=True, kw_only=True, tag="move"):
    scope: str | UnsetType = UNSET
    parent: Target | None | UnsetType = UNSET
    key: str | None | UnsetType = UNSET

    def command(self, write: Write) -> MovePage:
        parent = target(self.parent) if isinstance(self.parent, str) else self.parent
        return MovePage(
            page=target(self.page),
            expected_version=self.expected_version,
            scope=self.scope,
            parent=parent,
            key=self.key,
        )


class MergeOperation(ChangeOperation, frozen=True, kw_only=True, tag="merge"):
    into: Target
    into_version: ExpectedVersion = None
    on_key_collision: Literal["fail", "rename"] = "fail"

    @property
    def changes(self) -> tuple[PageTarget, ...]:
        return target(self.page), target(self.into)

    def command(self, write: Write) -> MergePage:
        return MergePage(
            page=target(self.page),
            into=target(self.into),
            expected_version=self.expected_version,
            into_version=self.into_version,
            on_key_collision=self.on_key_collision,
        )


class DeleteOperation(ChangeOperation, frozen=True, kw_only=True, tag="delete"):
    subtree: bool = False

    def command(self, write: Write) -> DeletePage:
        return DeletePage(
            page=target(self.page),
            expected_version=self.expected_version,
            subtree=self.subtree,
        )


class RestoreOperation(ChangeOperation, frozen=True, kw_only=True, tag="restore"):
    version: Number | None = None
    revision: Number | None = None
    deletion: Number | None = None
    parent: Target | None | UnsetType = UNSET
    key: str | None | UnsetType = UNSET

    def command(self, write: Write) -> RestorePage:
        parent = target(self.parent) if isinstance(self.parent, str) else self.parent
        return RestorePage(
            page=target(self.page),
            expected_version=self.expected_version,
            version=self.version,
            revision=self.revision,
            deletion=self.deletion,
            parent=parent,
            key=self.key,
        )


class AddNoteOperation(OperationBody, frozen=True, kw_only=True, tag="addNote"):
    page: Target
    text: str
    scope: tuple[str, ...]
    when: str | None = None

    def command(self, write: Write) -> AddNote:
        return AddNote(
            page=target(self.page),
            text=write.note_text(self.text),
            stamps=self.scope,
            when=self.when,
        )


class RestampNoteOperation(OperationBody, frozen=True, kw_only=True, tag="restampNote"):
    note: UUID
    scope: tuple[str, ...]

    def command(self, write: Write) -> RestampNote:
        return RestampNote(note=self.note, stamps=self.scope)


class RemoveNoteOperation(OperationBody, frozen=True, kw_only=True, tag="removeNote"):
    note: UUID

    def command(self, write: Write) -> RemoveNote:
        return RemoveNote(note=self.note)


class PinOperation(OperationBody, frozen=True, kw_only=True, tag="pin"):
    page: Target
    kind: str
    audience: tuple[str, ...]
    depth: Annotated[int, Meta(ge=1, le=PIN_DEPTH_LEVELS_MAX)] = 1

    def command(self, write: Write) -> SetPin:
        return SetPin(
            page=target(self.page), kind=self.kind, audience=self.audience, depth=self.depth
        )


class UnpinOperation(OperationBody, frozen=True, kw_only=True, tag="unpin"):
    page: Target
    kind: str
    audience: tuple[str, ...] | None = None

    def command(self, write: Write) -> RemovePin:
        return RemovePin(page=target(self.page), kind=self.kind, audience=self.audience)


Operations = (
    CreateOperation
    | EditOperation
    | MoveOperation
    | MergeOperation
    | DeleteOperation
    | RestoreOperation
    | AddNoteOperation
    | RestampNoteOperation
    | RemoveNoteOperation
    | PinOperation
    | UnpinOperation
)
