"""Restoring: an earlier content as a new version, and deleted pages brought back.

A page's content shows only to who may see it today and could read where it stood then.
"""

from collections.abc import Collection
from uuid import UUID

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from kbstore.access import Role
from kbstore.domain.commands import PageTarget, RestorePage
from kbstore.domain.decision import Context, Decision, Subject
from kbstore.domain.drafting import Draft, Target, unchanged
from kbstore.domain.events import PageEdited, PageRestored
from kbstore.domain.placing import too_many
from kbstore.domain.state import PageState
from kbstore.domain.targets import (
    check_version,
    not_found,
    page_target,
    parent_target,
    resolve,
    scope_target,
)
from kbstore.domain.tree import check_key_free, check_levels, key_taken, level_of
from kbstore.errors import RevisionNotReachedError, ValidationError
from kbstore.limits import IMPORT_OPERATIONS_PER_LINE_MAX, IMPORT_PAGES_PER_LINE_MAX
from kbstore.text import clean_key, fold_key

ACTION = "Restoring a page"


def restore(command: RestorePage, context: Context) -> Decision:
    """A live page gets an earlier content, a deleted one comes back with the one it had last
    or an earlier one, at its old place or under `parent` and `key`.

    Needs owner on the page's scope, of a deleted page on its last one; where that comes to
    stand in another scope, owner there too, as a move does. `deletion` is the revision that
    deleted the page and brings back all that commit deleted in scopes the caller owns.
    """
    _check_source(command)
    page_id = resolve(context, command.page, "page")
    page = context.lookup.page(page_id)
    if page is not None and page.ended == "deleted":
        if not context.access.can_read_deleted(page.scope):
            raise not_found(context, str(command.page), page)
        context.access.require(Role.OWNER, page.scope, ACTION)
        if command.deletion is not None:
            return _bring_back_all(command, context, page, command.deletion)
        return _bring_back(command, context, page)
    live = page_target(context, command.page).page
    context.access.require(Role.OWNER, live.scope, ACTION)
    return _rewind(command, context, live)


# --- a live page ----------------------------------------------------------------------------


def _rewind(command: RestorePage, context: Context, page: PageState) -> Decision:
    if command.deletion is not None:
        raise ValidationError("The page is not deleted.", field="deletion", reason="notDeleted")
    for field, given in (("parent", command.parent), ("key", command.key)):
        if given is not UNSET:
            raise ValidationError(
                "Only a deleted page is restored to a place; move this one.",
                field=field,
                reason="notDeleted",
            )
    if command.version is None and command.revision is None:
        raise ValidationError(
            "Restoring a live page needs the version or the revision to go back to.",
            field="version",
            reason="missing",
        )
    source = _source(command, context, page)
    subject = Subject("page", page.page_id)
    edited = _back_to(page, source, context)
    if edited is None:
        return unchanged(subject)
    check_version(context, page, command.expected_version)
    draft = Draft(context)
    draft.add(edited)
    return draft.decision(subject)


def _back_to(page: PageState, source: PageState, context: Context) -> PageEdited | None:
    """The edit that makes a page's content that of an earlier state, None where it is.

    The texts are those already stored. Of a scope page only the body is a content.
    """
    assert source.name_ref is not None
    names = not page.is_scope_page
    name = source.name_ref if names and source.name != page.name else UNSET
    description = (
        source.description_ref if names and source.description != page.description else UNSET
    )
    same_body = _same_body(page, source, context)
    if name is UNSET and description is UNSET and same_body:
        return None
    return PageEdited(
        originator_id=page.page_id,
        originator_version=page.version + 1,
        name=name,
        description=description,
        body=UNSET if same_body else source.body,
        links=None if same_body else source.links,
        restored_version=_content_version(source),
    )


def _same_body(page: PageState, source: PageState, context: Context) -> bool:
    if page.body is None or source.body is None or page.body.text == source.body.text:
        return page.body == source.body
    return context.lookup.same_text(page.body.text, context.lookup.text(source.body.text))


# --- deleted pages --------------------------------------------------------------------------


def _bring_back(command: RestorePage, context: Context, page: PageState) -> Decision:
    source = _source(command, context, page)
    parent = _parent(context, page, command.parent)
    key = _key(page, command.key)
    check_version(context, page, command.expected_version)
    check_levels(level_of(context, parent.page), 1)
    check_key_free(context, parent.page, key)
    draft = Draft(context)
    draft.add(_restored(page, source, draft.write(parent), key))
    return draft.decision(Subject("page", page.page_id))


def _bring_back_all(
    command: RestorePage, context: Context, page: PageState, deletion: int
) -> Decision:
    if context.lookup.ended_at(page.page_id) != deletion:
        raise ValidationError(
            f"Revision {deletion} is not the one that deleted this page.",
            field="deletion",
            reason="unknown",
        )
    check_version(context, page, command.expected_version)
    returning = _Returning(context)
    for ended in _deleted_together(context, deletion):
        if ended.page_id == page.page_id:
            returning.add(ended, command.parent, command.key)
        else:
            returning.add(ended, UNSET, UNSET)
    return returning.draft.decision(Subject("page", page.page_id))


class _Returning:
    """Brings pages back one after the other, parents first, as if each were applied at once."""

    def __init__(self, context: Context) -> None:
        self.draft = Draft(context)
        self._context = context
        self._pages: dict[UUID, PageState] = {}
        self._levels: dict[UUID, int] = {}
        self._keys: dict[tuple[UUID, str], PageState] = {}

    def add(
        self,
        page: PageState,
        given_parent: PageTarget | None | UnsetType,
        given_key: str | None | UnsetType,
    ) -> None:
        key = _key(page, given_key)
        returned = self._returned_parent(page) if given_parent is UNSET else None
        if returned is not None:
            parent, level = returned, self._levels[returned.page_id]
        else:
            target = _parent(self._context, page, given_parent)
            level = level_of(self._context, target.page)
            check_key_free(self._context, target.page, key)
            parent = self.draft.write(target)
        check_levels(level, 1)
        self._take_key(page, parent, key)
        self._pages[page.page_id] = replace(
            page, scope=parent.scope, parent_id=parent.page_id, key=key, ended=None
        )
        self._levels[page.page_id] = level + 1
        self.draft.add(_restored(page, page, parent, key))

    def _returned_parent(self, page: PageState) -> PageState | None:
        return None if page.parent_id is None else self._pages.get(page.parent_id)

    def _take_key(self, page: PageState, parent: PageState, key: str | None) -> None:
        """One commit can delete, one after the other, pages that had the same key."""
        if key is None:
            return
        place = (parent.page_id, fold_key(key))
        if place in self._keys:
            raise key_taken(parent, key, self._keys[place])
        self._keys[place] = page


def _deleted_together(context: Context, deletion: int) -> list[PageState]:
    """The pages a commit deleted that still are, parents first, where the caller is owner.

    An auditor sees the others as well and may not restore them. What one line of an import
    deleted comes back in one operation.
    """
    pages = [
        page
        for page in context.lookup.deleted_by(deletion, IMPORT_PAGES_PER_LINE_MAX)
        if page.ended == "deleted"
        and context.access.role(page.scope) is Role.OWNER
        and context.lookup.ended_at(page.page_id) == deletion
    ]
    if len(pages) > IMPORT_OPERATIONS_PER_LINE_MAX:
        raise too_many("Restoring a deletion", IMPORT_OPERATIONS_PER_LINE_MAX)
    return pages


def _parent(context: Context, page: PageState, given: PageTarget | None | UnsetType) -> Target:
    """Where the page comes to stand, by default where it last stood; in another scope only for
    who could move it there."""
    assert page.parent_id is not None, "a scope page is never deleted"
    if given is None:
        target = scope_target(context, page.scope)
    else:
        target = parent_target(context, page.parent_id if given is UNSET else given, None)
    if target.page.scope != page.scope:
        context.access.require(Role.OWNER, target.page.scope, "Restoring a page across scopes")
    return target


def _key(page: PageState, given: str | None | UnsetType) -> str | None:
    if given is UNSET:
        return page.key
    return None if given is None else clean_key(given)


def _restored(
    page: PageState, source: PageState, parent: PageState, key: str | None
) -> PageRestored:
    assert source.name_ref is not None, "a page that was written has a stored name"
    return PageRestored(
        originator_id=page.page_id,
        originator_version=page.version + 1,
        scope=parent.scope,
        parent_id=parent.page_id,
        key=key,
        name=source.name_ref,
        description=source.description_ref,
        body=source.body,
        links=source.links,
        restored_version=_content_version(source),
    )


# --- what to go back to ---------------------------------------------------------------------


def _check_source(command: RestorePage) -> None:
    given = [command.version, command.revision, command.deletion]
    if sum(source is not None for source in given) > 1:
        raise ValidationError(
            "Restoring takes one of version, revision and deletion.",
            field="version",
            reason="exclusive",
        )


def _source(command: RestorePage, context: Context, page: PageState) -> PageState:
    """The state whose content is restored: as named, else the newest.

    Raises ValidationError with reason `unknown` where the page had no such state, or had it
    in a scope the caller cannot read. A version may have stood in several scopes, where it
    followed the pages above it; reading one of them is enough.
    """
    scopes: Collection[str]
    if command.version is not None:
        field, number = "version", command.version
        source = context.lookup.page_at_version(page.page_id, command.version)
        scopes = _scopes_of_content(context, source)
    elif command.revision is not None:
        field, number = "revision", command.revision
        if command.revision > context.revision:
            raise RevisionNotReachedError(
                f"Revision {command.revision} is not reached yet.",
                revision=command.revision,
                activeContentRevision=context.revision,
            )
        source = context.lookup.page_at_revision(page.page_id, command.revision)
        scopes = (source.scope,) if source else ()
    else:
        return page
    if source is None or not any(map(context.access.can_read, scopes)):
        raise ValidationError(
            f"The page has no {field} {number} to restore.", field=field, reason="unknown"
        )
    return source


def _scopes_of_content(context: Context, source: PageState | None) -> Collection[str]:
    if source is None:
        return ()
    return context.lookup.scopes_of_version(source.page_id, _content_version(source))


def _content_version(source: PageState) -> int:
    """The version that gave a state its content: the end of a page leaves it as it was."""
    return source.version if source.is_live else source.version - 1
