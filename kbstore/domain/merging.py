"""Merging one page into another: what the one held goes over, and the one is gone."""

from collections.abc import Iterator
from uuid import UUID

from msgspec import Struct

from kbstore.access import Role
from kbstore.domain.commands import MergePage
from kbstore.domain.decision import Context, Decision, Subject
from kbstore.domain.drafting import Draft
from kbstore.domain.events import NoteMoved, PageAbsorbed, PageMergedAway
from kbstore.domain.pins import merge_pins
from kbstore.domain.placing import moved, refuse_cycle, too_many
from kbstore.domain.state import NoteState, PageState
from kbstore.domain.targets import check_version, page_target, refuse_scope_page
from kbstore.domain.tree import (
    check_levels,
    holder_of_key,
    key_taken,
    level_of,
    refuse_declared,
)
from kbstore.errors import ValidationError
from kbstore.limits import KEY_CODE_POINTS_MAX, NOTES_PER_MERGE_MAX, PAGES_PER_OPERATION_MAX
from kbstore.text import clean_key, fold_key

COLLISION_POLICIES = ("fail", "rename")
_FIRST_NUMBER = 2


class _Child(Struct, frozen=True):
    """A child of the merged page with the key it gets under the page that remains."""

    page: PageState
    key: str | None


def merge(command: MergePage, context: Context) -> Decision:
    """`page` goes into `into`: children, notes and pins move, the body stays in its history.

    Needs owner on the merged page's scope, and on that of `into` editor if it is the same,
    owner if it is another. With `rename` a child whose key is taken gets the next free one of
    `faq-2`, `faq-3` ...; with `fail` all such children are in `details.collisions`.
    """
    target = page_target(context, command.page)
    remaining = page_target(context, command.into, "into")
    page, into = target.page, remaining.page
    context.access.require(Role.OWNER, page.scope, "Merging a page away")
    if into.scope != page.scope:
        context.access.require(Role.OWNER, into.scope, "Merging a page across scopes")
    if command.on_key_collision not in COLLISION_POLICIES:
        raise ValidationError(
            "onKeyCollision is fail or rename.", field="onKeyCollision", reason="unknownValue"
        )
    check_version(context, page, command.expected_version)
    check_version(context, into, command.into_version)
    refuse_scope_page(page)
    refuse_declared(context, page, "remove")
    refuse_cycle(context, page, into)
    notes = _bounded(context, page)
    levels_below = context.lookup.subtree_levels(page.page_id) - 1
    check_levels(level_of(context, into), levels_below)
    children = _place_children(context, page, into, rename=command.on_key_collision == "rename")

    draft = Draft(context)
    absorber = draft.write(remaining)
    _end_after_children(draft, page, absorber, children)
    for note in notes:
        draft.add(
            NoteMoved(
                originator_id=note.note_id,
                originator_version=note.version + 1,
                page_id=into.page_id,
            )
        )
    merge_pins(context, draft, page.page_id, into.page_id)
    # A scope page's description comes from the configuration alone.
    takes_description = into.description is None and not into.is_scope_page
    draft.add(
        PageAbsorbed(
            originator_id=into.page_id,
            originator_version=absorber.version + 1,
            page_id=page.page_id,
            description=page.description_ref if takes_description else None,
        )
    )
    return draft.decision(Subject("page", into.page_id, renamed=tuple(_renamed(children))))


def _bounded(context: Context, page: PageState) -> list[NoteState]:
    """The notes to move; raises TooManyPagesError when they or the pages below are too many.

    Notes that the caller cannot see move as well, so their limit is far above any use.
    """
    limit = PAGES_PER_OPERATION_MAX
    if len(context.lookup.subtree(page.page_id, limit + 2)) > limit + 1:
        raise too_many("Merging pages with pages below them")
    notes = context.lookup.notes(page.page_id, NOTES_PER_MERGE_MAX + 1)
    if len(notes) > NOTES_PER_MERGE_MAX:
        raise too_many("Merging a page with notes", NOTES_PER_MERGE_MAX, "notes")
    return notes


def _place_children(
    context: Context, page: PageState, into: PageState, *, rename: bool
) -> list[_Child]:
    """The merged page's children with their keys under `into`; raises KeyTakenError."""
    children = context.lookup.children(page.page_id, PAGES_PER_OPERATION_MAX)
    collisions: list[tuple[PageState, str, PageState]] = []
    placed: list[_Child] = []
    for child in children:
        holder = None if child.key is None else holder_of_key(context, into, child.key)
        if child.key is None or holder is None or holder.page_id == page.page_id:
            placed.append(_Child(child, child.key))
        else:
            collisions.append((child, child.key, holder))
    if collisions and not rename:
        raise _collided(into, collisions)
    used = {fold_key(child.key) for child in placed if child.key is not None}
    for child, key, holder in collisions:
        free = _free_key(context, page, into, key, used)
        if free is None:
            raise _collided(into, [(child, key, holder)])
        used.add(fold_key(free))
        placed.append(_Child(child, free))
    return placed


def _free_key(
    context: Context, page: PageState, into: PageState, key: str, used: set[str]
) -> str | None:
    for number in range(_FIRST_NUMBER, PAGES_PER_OPERATION_MAX + _FIRST_NUMBER):
        suffix = f"-{number}"
        candidate = clean_key(key[: KEY_CODE_POINTS_MAX - len(suffix)] + suffix)
        if fold_key(candidate) in used:
            continue
        holder = holder_of_key(context, into, candidate)
        if holder is None or holder.page_id == page.page_id:
            return candidate
    return None


def _collided(into: PageState, collisions: list[tuple[PageState, str, PageState]]) -> Exception:
    _, key, holder = collisions[0]
    listed = [
        {"key": key, "pageId": str(child.page_id), "takenBy": str(holder.page_id)}
        for child, key, holder in collisions
    ]
    return key_taken(into, key, holder, collisions=listed)


def _end_after_children(
    draft: Draft, page: PageState, into: PageState, children: list[_Child]
) -> None:
    """The children move, then the page ends, so that it never ends above live pages.

    One child may take over the very key that the page has under `into`; as no two siblings
    share a key at any moment, that child alone moves after the page has ended.
    """
    heir: _Child | None = None
    for child in children:
        if _inherits_key(child, page, into):
            heir = child
        else:
            draft.add(moved(child.page, into, child.key))
    draft.add(
        PageMergedAway(
            originator_id=page.page_id,
            originator_version=page.version + 1,
            into=into.page_id,
        )
    )
    if heir is not None:
        draft.add(moved(heir.page, into, heir.key))


def _inherits_key(child: _Child, page: PageState, into: PageState) -> bool:
    if page.parent_id != into.page_id or child.key is None or page.key is None:
        return False
    return fold_key(child.key) == fold_key(page.key)


def _renamed(children: list[_Child]) -> Iterator[tuple[UUID, str, str]]:
    for child in children:
        if child.key is not None and child.page.key is not None and child.key != child.page.key:
            yield child.page.page_id, child.page.key, child.key
