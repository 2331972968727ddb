"""From what a command names to the page it is about, under the caller's access.

Missing and hidden are answered in the same words with the same details.
"""

import re
from uuid import UUID

from kbstore.access import is_declared
from kbstore.domain.commands import ANY_VERSION, Expected, PageTarget
from kbstore.domain.decision import Context
from kbstore.domain.declared import DeclaredPage, way_down
from kbstore.domain.drafting import Target
from kbstore.domain.events import NIL
from kbstore.domain.state import PageState
from kbstore.errors import (
    NotFoundError,
    ParentDeletedError,
    ParentNotFoundError,
    ScopePageError,
    ValidationError,
    VersionConflictError,
)

MERGES_FOLLOWED_MAX = 100

_PLACE = re.compile(r"\$(0|[1-9][0-9]{0,3})")


def page_target(context: Context, given: PageTarget, field: str = "page") -> Target:
    """The live page a command names, written or declared.

    Raises NotFoundError for one that is missing, hidden or gone; `details.mergedInto` is the
    page that took over, where the caller may read it.
    """
    page_id = resolve(context, given, field)
    page = context.lookup.page(page_id)
    target = _declared_target(context, page_id) if page is None else Target(page)
    if target is None or not target.page.is_live or not context.access.can_read(target.page.scope):
        raise not_found(context, str(given), page)
    return target


def scope_target(context: Context, scope: str) -> Target:
    """The page at the top of a declared scope, written or not.

    Raises NotFoundError, in the words of a missing page, where the caller has no role on the
    scope or nothing declares it.
    """
    way = None
    if context.access.can_read(scope):
        way = way_down(context.configuration, context.kb_id, scope, (), context.lookup)
    if way is None:
        raise NotFoundError(f'Knowledge page "{scope}" not found.')
    return _target(way)


def parent_target(context: Context, given: PageTarget, scope: str | None) -> Target:
    """The live page that a page is to stand under, in `scope` (None: in whichever it is).

    Raises ParentNotFoundError, ParentDeletedError where the caller may see the deletion, and
    ValidationError with reason `otherScope`.
    """
    page_id = resolve(context, given, "parent")
    page = context.lookup.page(page_id)
    target = _declared_target(context, page_id) if page is None else Target(page)
    if target is None or not context.access.can_read(target.page.scope):
        raise ParentNotFoundError(_absent(str(given)), parentId=str(page_id))
    if not target.page.is_live:
        raise _gone_parent(context, target.page, given)
    if scope is not None and target.page.scope != scope:
        raise ValidationError(
            f'The parent "{given}" is not in "{scope}".',
            field="parent",
            reason="otherScope",
            parentId=str(page_id),
            scope=scope,
        )
    return target


def resolve(context: Context, given: PageTarget, field: str) -> UUID:
    """The page id, also of `$n`: the page that operation n of the same commit created.

    Raises ValidationError with reason `malformed` or `unknownPlace`.
    """
    if isinstance(given, UUID):
        return given
    place = _PLACE.fullmatch(given)
    if place is None:
        raise ValidationError(
            f'{field} must be a page id or "$n", the page that operation n creates.',
            field=field,
            reason="malformed",
        )
    number = int(place[1])
    if number >= len(context.places) or context.places[number] == NIL:
        raise ValidationError(
            f'"{given}" names no page: no earlier operation {number} of this commit creates one.',
            field=field,
            reason="unknownPlace",
        )
    return context.places[number]


def check_version(context: Context, page: PageState, expected: Expected) -> None:
    """Compares the version the caller read with the page's before this commit.

    Raises VersionConflictError; an unsaid version and ANY_VERSION pass.
    """
    if expected is None or expected == ANY_VERSION:
        return
    current = context.base_versions.get(page.page_id, page.version)
    if expected != current:
        raise VersionConflictError(
            f"Knowledge record version conflict: {page.page_id}",
            pageId=str(page.page_id),
            expectedVersion=expected,
            currentVersion=current,
        )


def refuse_scope_page(page: PageState) -> None:
    """Raises ScopePageError: it stays where it is for as long as its scope."""
    if page.is_scope_page:
        raise ScopePageError(
            f'"{page.scope}" is a scope page; scope pages can\'t be moved, merged or deleted.',
            pageId=str(page.page_id),
            scope=page.scope,
        )


def is_known_scope(context: Context, scope: str) -> bool:
    """Whether the scope is declared and the caller can read it; others look absent."""
    return context.access.can_read(scope) and is_declared(context.configuration, scope)


def not_found(context: Context, given: str, page: PageState | None) -> NotFoundError:
    """The refusal for a page that is missing, hidden or, as `page` then shows, gone."""
    successor = _successor(context, page) if page is not None else None
    return NotFoundError(_absent(given), mergedInto=str(successor.page_id) if successor else None)


def _absent(given: str) -> str:
    return f'Knowledge page "{given}" not found.'


def _gone_parent(
    context: Context, parent: PageState, given: PageTarget
) -> ParentDeletedError | ParentNotFoundError:
    parent_id = str(parent.page_id)
    if parent.ended == "merged":
        successor = _successor(context, parent)
        merged_into = str(successor.page_id) if successor else None
        return ParentNotFoundError(_absent(str(given)), parentId=parent_id, mergedInto=merged_into)
    if not context.access.can_read_deleted(parent.scope):
        return ParentNotFoundError(_absent(str(given)), parentId=parent_id)
    return ParentDeletedError(
        f'The parent "{given}" was deleted.',
        parentId=parent_id,
        hint="Restore the parent first, or name another parent.",
    )


def _successor(context: Context, page: PageState) -> PageState | None:
    """The live, readable page at the end of the merges that began with `page`; None where the
    caller may not know that `page` was: he cannot read the scope it ended in."""
    if not context.access.can_read(page.scope):
        return None
    for _ in range(MERGES_FOLLOWED_MAX):
        if page.merged_into is None:
            break
        following = context.lookup.page(page.merged_into)
        assert following is not None, "a page is merged into a written one"
        page = following
    else:
        return None
    if page.is_live and context.access.can_read(page.scope):
        return page
    return None


def _declared_target(context: Context, page_id: UUID) -> Target | None:
    """The unwritten declared page of this id, if it still is the one at its place."""
    declared = context.declared(page_id)
    if declared is None:
        return None
    way = way_down(
        context.configuration, context.kb_id, declared.scope, declared.path, context.lookup
    )
    if way is None or way[-1].page_id != page_id:
        return None
    return _target(way)


def _target(way: tuple[PageState | DeclaredPage, ...]) -> Target:
    last = way[-1]
    unwritten = tuple(page for page in way if isinstance(page, DeclaredPage))
    return Target(last.state if isinstance(last, DeclaredPage) else last, unwritten)
