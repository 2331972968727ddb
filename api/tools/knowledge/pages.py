"""knowledge_page: creating, editing, moving, merging and deleting pages."""

from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from api.tools.knowledge.page_arguments import (
    KnowledgePageArguments,
    KnowledgePageResult,
    page_result,
)
from api.tools.knowledge.page_edits import plan_edit, refuse_numbered
from api.tools.knowledge.planning import (
    at_head,
    expected,
    needed,
    page_there,
    refuse_others,
    scope_there,
)
from api.tools.tool import writes
from api.write import Write
from kbstore.access import Role
from kbstore.domain.commands import (
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
)
from kbstore.errors import (
    AmbiguousReferenceError,
    KeyTakenError,
    NestingTooDeepError,
    NotFoundError,
    PageDeclaredError,
    PageHasChildrenError,
    ParentDeletedError,
    ParentNotFoundError,
    PreconditionRequiredError,
    RoleTooWeakError,
    ScopePageError,
    TooManyPagesError,
    ValidationError,
    VersionConflictError,
    WouldCreateCycleError,
)
from kbstore.ids import parse_uuid
from projections.snapshot import Snapshot

_CREATING = "Creating a page"
_MOVING = "Moving a page"
_ACROSS = "Moving a page across scopes"
_MERGING = "Merging a page"
_DELETING = "Deleting a page"


@writes(
    "knowledge_page",
    "Write pages",
    "Create, edit, move, merge or delete a page. Edit part of a long page by range, with the "
    "lines and the version that knowledge_read gave you. A merge moves the children, the notes "
    "and the pins of `page` to `into`, whose body stays as it is. A delete takes a page that has "
    "no pages under it.",
    group="write",
    arguments=KnowledgePageArguments,
    result=KnowledgePageResult,
    render=page_result,
    destructive=True,
    errors=(
        NotFoundError,
        AmbiguousReferenceError,
        RoleTooWeakError,
        PreconditionRequiredError,
        VersionConflictError,
        ParentNotFoundError,
        ParentDeletedError,
        KeyTakenError,
        NestingTooDeepError,
        WouldCreateCycleError,
        TooManyPagesError,
        PageHasChildrenError,
        ScopePageError,
        PageDeclaredError,
    ),
)
async def knowledge_page(
    write: Write, given: KnowledgePageArguments
) -> CreatePage | EditPage | MovePage | MergePage | DeletePage:
    match given.op:
        case "write" if given.page is None:
            return await _create(write, given)
        case "write":
            return await plan_edit(write, given)
        case "move":
            return await _move(write, given)
        case "merge":
            return await _merge(write, given)
        case "delete":
            return await _delete(write, given)


async def _create(write: Write, given: KnowledgePageArguments) -> CreatePage:
    if not given.scope:
        raise _needs_scope_and_name("scope")
    address = given.scope

    def find(snapshot: Snapshot) -> CreatePage:
        scope = scope_there(snapshot, address)
        snapshot.access.require(Role.CONTRIBUTOR, scope, _CREATING)
        if not given.name:
            raise _needs_scope_and_name("name")
        refuse_others(given, _CREATING, ("scope", "parent", "key", "name", "description", "body"))
        refuse_numbered(given.body)
        return CreatePage(
            scope=scope,
            key=given.key,
            name=write.name(given.name),
            description=write.description(given.description),
            parent=_parent(write, snapshot, given.parent, scope),
        )

    return replace(await at_head(write, find), body=await write.body(given.body))


async def _move(write: Write, given: KnowledgePageArguments) -> MovePage:
    reference = _page_of(given, "Moving a page needs page: the page to move.")

    def find(snapshot: Snapshot) -> MovePage:
        page = page_there(write, snapshot, reference)
        scope = scope_there(snapshot, given.scope) if given.scope else page.scope
        if scope == page.scope:
            snapshot.access.require(Role.EDITOR, scope, _MOVING)
        else:
            snapshot.access.require(Role.OWNER, page.scope, _ACROSS)
            snapshot.access.require(Role.OWNER, scope, _ACROSS)
        if not given.scope:
            raise needed("Moving a page needs the destination scope.", "scope")
        refuse_others(given, _MOVING, ("page", "scope", "parent", "key", "expectedVersion"))
        return MovePage(
            page=page.page_id,
            expected_version=expected(snapshot, given.expected_version, _MOVING),
            scope=scope,
            parent=_parent(write, snapshot, given.parent, scope),
            key=UNSET if given.key is None else given.key,
        )

    return await at_head(write, find)


async def _merge(write: Write, given: KnowledgePageArguments) -> MergePage:
    reference = _page_of(given, "Merging needs page: the page that goes away.")

    def find(snapshot: Snapshot) -> MergePage:
        page = page_there(write, snapshot, reference)
        into = None if given.into is None else page_there(write, snapshot, given.into)
        snapshot.access.require(Role.OWNER, page.scope, "Merging a page away")
        if into is None:
            raise needed("Merging needs into: the page that remains.", "into")
        if into.scope != page.scope:
            snapshot.access.require(Role.OWNER, into.scope, "Merging a page across scopes")
        refuse_others(given, _MERGING, ("page", "into", "expectedVersion"))
        return MergePage(
            page=page.page_id,
            into=into.page_id,
            expected_version=expected(snapshot, given.expected_version, _MERGING),
            # Nothing is lost by a merge that goes on under other keys, and it says which.
            on_key_collision="rename",
        )

    return await at_head(write, find)


async def _delete(write: Write, given: KnowledgePageArguments) -> DeletePage:
    reference = _page_of(given, "Deleting a page needs page: the page to delete.")

    def find(snapshot: Snapshot) -> DeletePage:
        page = page_there(write, snapshot, reference)
        snapshot.access.require(Role.OWNER, page.scope, _DELETING)
        # It acts on the page's own scope: the reference has it ignore another one.
        refuse_others(given, _DELETING, ("page", "scope", "expectedVersion"))
        return DeletePage(
            page=page.page_id,
            expected_version=expected(snapshot, given.expected_version, _DELETING),
        )

    return await at_head(write, find)


def _page_of(given: KnowledgePageArguments, sentence: str) -> str:
    if given.page is None:
        raise needed(sentence, "page")
    return given.page


def _needs_scope_and_name(field: str) -> ValidationError:
    return needed("Creating a page needs scope and name.", field)


def _parent(write: Write, snapshot: Snapshot, given: str | None, scope: str) -> UUID | None:
    """The page to stand under, None for the scope's own.

    Raises ParentNotFoundError and AmbiguousReferenceError for the reference, ValidationError
    for a page of another scope. An id that is not there is left to the rules, which tell a
    deleted parent from a missing one.
    """
    if given is None:
        return None
    try:
        parent = page_there(write, snapshot, given)
    except NotFoundError as absent:
        page_id = parse_uuid(given)
        if page_id is not None and not absent.details:
            return page_id
        raise ParentNotFoundError(absent.message, **absent.details) from None
    if parent.scope != scope:
        raise ValidationError(
            f'The parent "{given}" is not in "{scope}".',
            field="parent",
            reason="otherScope",
            parentId=str(parent.page_id),
            scope=scope,
        )
    return None if parent.parent_id is None else parent.page_id
