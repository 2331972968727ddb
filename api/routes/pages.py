"""Pages: reading them, and creating, editing, moving, merging, deleting and restoring them."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from api.answers import Answer
from api.bodies import Body, NoBody
from api.calls import Call
from api.operations import reads, writes
from api.parameters import AtRevision, Parameters
from api.ranges import RangeBody, edit_by_range
from api.reading import Found, State, page_id_of, read
from api.representations import PageRead, PageWritten
from api.write import Write
from api.writing import WriteRules, needs
from api.written import page_written
from kbstore.access import Role
from kbstore.domain.commands import (
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    RestorePage,
)
from kbstore.errors import (
    KeyTakenError,
    NestingTooDeepError,
    PageDeclaredError,
    PageHasChildrenError,
    ParentDeletedError,
    ParentNotFoundError,
    RevisionNotReachedError,
    RoleTooWeakError,
    ScopePageError,
    TooManyPagesError,
    ValidationError,
    WouldCreateCycleError,
)
from kbstore.limits import REVISION_MAX
from projections.read.pages import page, page_by_ref

Number = Annotated[int, Meta(ge=0, le=REVISION_MAX)]
PLACING = (
    RoleTooWeakError,
    ParentNotFoundError,
    ParentDeletedError,
    KeyTakenError,
    NestingTooDeepError,
)


class FindPage(AtRevision, frozen=True, kw_only=True):
    ref: str


class DeleteParameters(Parameters, frozen=True, kw_only=True):
    subtree: bool = False


class CreateBody(Body, frozen=True, kw_only=True):
    scope: str
    parent: UUID | None = None
    key: str | None = None
    name: str
    description: str | None = None
    body: str | None = None


class EditBody(Body, frozen=True, kw_only=True):
    """With `range`, `body` replaces those lines of the version that `If-Match` names."""

    name: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    body: str | None | UnsetType = UNSET
    range: RangeBody | UnsetType = UNSET


class MoveBody(Body, frozen=True, kw_only=True):
    scope: str | UnsetType = UNSET
    parent: UUID | None | UnsetType = UNSET
    key: str | None | UnsetType = UNSET


class MergeBody(Body, frozen=True, kw_only=True):
    into: UUID
    into_version: Number | Literal["any"] | None = None
    on_key_collision: Literal["fail", "rename"] = "fail"


class RestoreBody(Body, frozen=True, kw_only=True):
    version: Number | None = None
    revision: Number | None = None
    deletion: Number | None = None
    parent: UUID | None | UnsetType = UNSET
    key: str | None | UnsetType = UNSET


@reads(
    "findPage",
    "/pages",
    "Read the page that a ref names",
    parameters=FindPage,
    answer=PageRead,
)
async def find_page(call: Call, given: FindPage) -> Answer:
    def query(state: State) -> Found:
        view = page_by_ref(state.snapshot, given.ref)
        return Found(PageRead(revision=state.revision, final=state.final, page=view), view.version)

    return await read(call, given, query)


@reads(
    "readPage",
    "/pages/{pageId}",
    "Read a page by its id",
    parameters=AtRevision,
    answer=PageRead,
)
async def read_one_page(call: Call, given: AtRevision) -> Answer:
    page_id = page_id_of(call)

    def query(state: State) -> Found:
        view = page(state.snapshot, page_id)
        return Found(PageRead(revision=state.revision, final=state.final, page=view), view.version)

    return await read(call, given, query)


@writes(
    "createPage",
    "POST",
    "/pages",
    "Create a page",
    parameters=Parameters,
    body=CreateBody,
    answer=PageWritten,
    creates=True,
    rules=WriteRules(render=page_written),
    errors=PLACING,
)
async def create_page(write: Write, given: Parameters, body: CreateBody) -> CreatePage:
    return CreatePage(
        scope=body.scope,
        parent=body.parent,
        key=body.key,
        name=write.name(body.name),
        description=write.description(body.description),
        body=await write.body(body.body),
    )


@writes(
    "editPage",
    "PATCH",
    "/pages/{pageId}",
    "Edit the name, the description or the body of a page",
    parameters=Parameters,
    body=EditBody,
    answer=PageWritten,
    rules=WriteRules(
        check=needs(Role.EDITOR, "Editing a page"), is_conditional=True, render=page_written
    ),
    errors=(RoleTooWeakError, ScopePageError),
)
async def edit_page(write: Write, given: Parameters, body: EditBody) -> EditPage:
    name = UNSET if body.name is UNSET else write.name(body.name)
    description = UNSET if body.description is UNSET else write.description(body.description)
    if body.range is not UNSET:
        given_range = body.range
        whole, replaced = await write.call.server.pool.run(
            lambda: edit_by_range(write, write.page_id, write.expected, given_range, body.body)
        )
        return EditPage(
            page=write.page_id,
            expected_version=write.expected,
            name=name,
            description=description,
            body=whole,
            range=replaced,
        )
    return EditPage(
        page=write.page_id,
        expected_version=write.expected,
        name=name,
        description=description,
        body=UNSET if body.body is UNSET else await write.body(body.body),
    )


@writes(
    "movePage",
    "POST",
    "/pages/{pageId}/move",
    "Move a page, with all below it, to another scope, parent or key",
    parameters=Parameters,
    body=MoveBody,
    answer=PageWritten,
    rules=WriteRules(
        check=needs(Role.EDITOR, "Moving a page"), is_conditional=True, render=page_written
    ),
    errors=(
        *PLACING,
        WouldCreateCycleError,
        TooManyPagesError,
        ScopePageError,
        PageDeclaredError,
    ),
)
async def move_page(write: Write, given: Parameters, body: MoveBody) -> MovePage:
    if (body.scope, body.parent, body.key) == (UNSET, UNSET, UNSET):
        raise ValidationError(
            "Moving a page needs at least one of scope, parent and key.",
            field="body",
            reason="missing",
        )
    return MovePage(
        page=write.page_id,
        expected_version=write.expected,
        scope=body.scope,
        parent=body.parent,
        key=body.key,
    )


@writes(
    "mergePage",
    "POST",
    "/pages/{pageId}/merge",
    "Merge a page into another one",
    parameters=Parameters,
    body=MergeBody,
    answer=PageWritten,
    rules=WriteRules(
        check=needs(Role.OWNER, "Merging a page away"), is_conditional=True, render=page_written
    ),
    errors=(
        *PLACING,
        WouldCreateCycleError,
        TooManyPagesError,
        ScopePageError,
        PageDeclaredError,
    ),
)
async def merge_page(write: Write, given: Parameters, body: MergeBody) -> MergePage:
    return MergePage(
        page=write.page_id,
        into=body.into,
        expected_version=write.expected,
        into_version=body.into_version,
        on_key_collision=body.on_key_collision,
    )


@writes(
    "restorePage",
    "POST",
    "/pages/{pageId}/restore",
    "Give a page an earlier content, or bring back a deleted one",
    parameters=Parameters,
    body=RestoreBody,
    answer=PageWritten,
    rules=WriteRules(
        check=needs(Role.OWNER, "Restoring a page", "restorable"),
        is_conditional=True,
        render=page_written,
    ),
    errors=(*PLACING, TooManyPagesError, ScopePageError, RevisionNotReachedError),
)
async def restore_page(write: Write, given: Parameters, body: RestoreBody) -> RestorePage:
    return RestorePage(
        page=write.page_id,
        expected_version=write.expected,
        version=body.version,
        revision=body.revision,
        deletion=body.deletion,
        parent=body.parent,
        key=body.key,
    )


@writes(
    "deletePage",
    "DELETE",
    "/pages/{pageId}",
    "Delete a page, with subtree=true all below it too",
    parameters=DeleteParameters,
    body=NoBody,
    answer=PageWritten,
    rules=WriteRules(
        check=needs(Role.OWNER, "Deleting a page"),
        is_conditional=True,
        is_body_optional=True,
        render=page_written,
    ),
    errors=(
        RoleTooWeakError,
        PageHasChildrenError,
        TooManyPagesError,
        ScopePageError,
        PageDeclaredError,
    ),
)
async def delete_page(write: Write, given: DeleteParameters, body: NoBody) -> DeletePage:
    return DeletePage(page=write.page_id, expected_version=write.expected, subtree=given.subtree)


OPERATIONS = (
    create_page,
    find_page,
    read_one_page,
    edit_page,
    move_page,
    merge_page,
    restore_page,
    delete_page,
)
