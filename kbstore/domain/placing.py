"""Moving pages."""

from msgspec import UNSET

from kbstore.access import Role, parse_address
from kbstore.domain.commands import MovePage
from kbstore.domain.decision import Context, Decision, Subject
from kbstore.domain.drafting import Draft, Target, unchanged
from kbstore.domain.events import PageMoved
from kbstore.domain.state import PageState
from kbstore.domain.targets import (
    check_version,
    page_target,
    parent_target,
    refuse_scope_page,
    scope_target,
)
from kbstore.domain.tree import check_key_free, check_levels, level_of, refuse_declared
from kbstore.errors import TooManyPagesError, WouldCreateCycleError
from kbstore.limits import PAGES_PER_OPERATION_MAX
from kbstore.text import clean_key


def move(command: MovePage, context: Context) -> Decision:
    """Another scope, parent or key. Needs editor on the scope, across scopes owner on both.

    What is below the page comes along without events of its own: the one PageMoved carries
    the new scope, and projections set it for the whole subtree. Notes keep their stamps.
    """
    target = page_target(context, command.page)
    page = target.page
    scope = page.scope if command.scope is UNSET else parse_address(command.scope, "scope")
    _check_roles(context, page, scope)
    key = page.key if command.key is UNSET else command.key
    if key is not None and key != page.key:
        key = clean_key(key)
    if page.is_scope_page:
        return _stay(command, context, page, scope, key)
    parent = _destination(command, context, page, scope)
    if (parent.page.page_id, scope, key) == (page.parent_id, page.scope, page.key):
        return unchanged(Subject("page", page.page_id))
    check_version(context, page, command.expected_version)
    refuse_declared(context, page, "move")
    refuse_cycle(context, page, parent.page)
    _check_size(context, page, command.pages_max)
    check_levels(level_of(context, parent.page), context.lookup.subtree_levels(page.page_id))
    check_key_free(context, parent.page, key, page)
    draft = Draft(context)
    draft.add(moved(page, draft.write(parent), key))
    return draft.decision(Subject("page", page.page_id))


def moved(page: PageState, parent: PageState, key: str | None) -> PageMoved:
    """The event that puts a written page, which is no scope page, under another parent."""
    assert page.parent_id is not None, "a scope page is never moved"
    return PageMoved(
        originator_id=page.page_id,
        originator_version=page.version + 1,
        scope=parent.scope,
        parent_id=parent.page_id,
        key=key,
        from_scope=page.scope,
        from_parent_id=page.parent_id,
        from_key=page.key,
    )


def refuse_cycle(context: Context, page: PageState, parent: PageState) -> None:
    """Raises WouldCreateCycleError when `parent` is the page or stands below it."""
    above = {parent.page_id, *(a.page_id for a in context.lookup.ancestors(parent.page_id))}
    if page.page_id in above:
        raise WouldCreateCycleError(
            "A page cannot come to stand under itself or under a page below it.",
            pageId=str(page.page_id),
            parentId=str(parent.page_id),
        )


def too_many(
    what: str, maximum: int = PAGES_PER_OPERATION_MAX, things: str = "pages"
) -> TooManyPagesError:
    return TooManyPagesError(
        f"{what} takes at most {maximum} {things} in one operation.", maximum=maximum
    )


def _stay(
    command: MovePage, context: Context, page: PageState, scope: str, key: str | None
) -> Decision:
    """The decision for a scope page, which has no parent and no key: it can only stay."""
    stays = command.parent is UNSET or command.parent is None
    if not stays or (scope, key) != (page.scope, page.key):
        check_version(context, page, command.expected_version)
        refuse_scope_page(page)
    return unchanged(Subject("page", page.page_id))


def _check_roles(context: Context, page: PageState, scope: str) -> None:
    if scope == page.scope:
        context.access.require(Role.EDITOR, scope, "Moving a page")
        return
    context.access.require(Role.OWNER, page.scope, "Moving a page across scopes")
    scope_target(context, scope)
    context.access.require(Role.OWNER, scope, "Moving a page across scopes")


def _destination(command: MovePage, context: Context, page: PageState, scope: str) -> Target:
    if command.parent is UNSET and scope == page.scope:
        assert page.parent_id is not None
        return parent_target(context, page.parent_id, scope)
    if command.parent is UNSET or command.parent is None:
        return scope_target(context, scope)
    return parent_target(context, command.parent, scope)


def _check_size(context: Context, page: PageState, pages_max: int) -> None:
    if len(context.lookup.subtree(page.page_id, pages_max + 1)) > pages_max:
        raise too_many("Moving pages", pages_max)
