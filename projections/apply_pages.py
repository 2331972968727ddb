"""Pages: a row for each event that leaves the page live, and what else a page's life moves."""

from typing import assert_never

from msgspec import UNSET
from sqlalchemy import bindparam, delete, exists, insert, null, select, update

from kbstore.domain.events import (
    PageAbsorbed,
    PageCreated,
    PageDeleted,
    PageEdited,
    PageEvent,
    PageMergedAway,
    PageMoved,
    PageRestored,
)
from kbstore.domain.state import evolve_page
from kbstore.store.statements import Statement
from projections.apply_activity import record
from projections.apply_links import (
    LinkSource,
    add_links,
    change_links,
    end_links_from_page,
    lead_links_on,
)
from projections.apply_notes import links_of_notes
from projections.apply_subtree import move_below
from projections.apply_terms import add_page_terms
from projections.apply_versions import (
    change_version,
    current_version,
    end_version,
    open_version,
)
from projections.intervals import of_kb
from projections.newest import NEWEST_PAGE
from projections.rows import newest_page_state
from projections.step import Step
from projections.tables import deletions, pages, scopes

_PAGE = pages.c.page_id == bindparam("page_id")
_ADD_PAGE = Statement(insert(pages))
_SET_SCOPE = Statement(update(pages).where(of_kb(pages), _PAGE).values(scope=bindparam("to_scope")))
_END_PAGE = Statement(
    update(pages)
    .where(of_kb(pages), _PAGE)
    .values(
        ended_at=bindparam("revision"),
        ended_how=bindparam("how"),
        ended_version=bindparam("at_version"),
        merged_into=bindparam("into"),
    )
)
_BRING_BACK = Statement(
    update(pages)
    .where(of_kb(pages), _PAGE)
    .values(scope=bindparam("to_scope"), ended_at=null(), ended_how=null(), ended_version=null())
)
_MERGE_ON = Statement(
    update(pages)
    .where(of_kb(pages), pages.c.merged_into == bindparam("page_id"))
    .values(merged_into=bindparam("into"))
)
_ADD_SCOPE = Statement(
    insert(scopes).from_select(
        ["kb_id", "generation", "scope", "since"],
        select(
            *(
                bindparam(name, type_=column.type)
                for name, column in zip(
                    ("kb_id", "generation", "scope", "revision"), scopes.c, strict=True
                )
            )
        ).where(~exists().where(of_kb(scopes), scopes.c.scope == bindparam("scope"))),
    )
)

_DELETION = (
    deletions.c.deletion == bindparam("deletion"),
    deletions.c.page_id == bindparam("page_id"),
)
_ADD_DELETION = Statement(insert(deletions))
_FORGET_DELETION = Statement(delete(deletions).where(of_kb(deletions), *_DELETION))
_UNDO_DELETION = Statement(
    update(deletions).where(of_kb(deletions), *_DELETION).values(restored_at=bindparam("revision"))
)


def apply_page_event(step: Step, event: PageEvent) -> None:
    """Rows of `pages`, `page_versions`, `deletions`, `scopes`, `links`, `search_documents` and
    `activity`."""
    match event:
        case PageEdited() | PageMoved() | PageAbsorbed():
            _change(step, event)
        case PageCreated():
            _create(step, event)
        case PageDeleted() | PageMergedAway():
            _end(step, event)
        case PageRestored():
            _restore(step, event)
        case _:
            assert_never(event)


def _create(step: Step, event: PageCreated) -> None:
    page = evolve_page(None, event, step.texts.text)
    author = event.author or step.actor
    step.run(
        _ADD_PAGE,
        {
            "page_id": page.page_id.bytes,
            "scope": page.scope,
            "ended_at": None,
            "ended_how": None,
            "ended_version": None,
            "merged_into": None,
            "created_at": step.committed_at,
            "created_by": author,
            "template_scope": None if page.template is None else page.scope,
            "template_path": page.template,
        },
    )
    open_version(step, page, author)
    add_page_terms(step, None, page)
    if page.is_scope_page:
        # Nothing is written to a scope before its page is.
        step.run(_ADD_SCOPE, {"scope": page.scope})
    add_links(step, LinkSource(page.page_id), page.links)
    record(step, event, page_id=page.page_id, scope=page.scope, actor=author)


def _change(step: Step, event: PageEdited | PageMoved | PageAbsorbed) -> None:
    current = current_version(step, event)
    before = current.page
    after = evolve_page(before, event, step.texts.text)
    change_version(step, current, after)
    add_page_terms(step, before, after)
    if after.scope != before.scope:
        step.run(_SET_SCOPE, {"page_id": after.page_id.bytes, "to_scope": after.scope})
        move_below(step, after.page_id, after.scope)
    if isinstance(event, PageEdited) and event.body is not UNSET and (before.links or after.links):
        change_links(step, LinkSource(after.page_id), after.links)
    record(
        step,
        event,
        page_id=after.page_id,
        scope=after.scope,
        scope_before=before.scope,
        other_page_id=event.page_id if isinstance(event, PageAbsorbed) else None,
    )


def _end(step: Step, event: PageDeleted | PageMergedAway) -> None:
    current = current_version(step, event)
    after = evolve_page(current.page, event, step.texts.text)
    end_version(step, after)
    add_page_terms(step, current.page, after)
    page_id = {"page_id": after.page_id.bytes}
    into = after.merged_into
    step.run(
        _END_PAGE,
        {
            **page_id,
            "how": after.ended,
            "at_version": after.version,
            "into": into.bytes if into else None,
        },
    )
    end_links_from_page(step, after.page_id)
    if into is not None:
        # Chains of merges collapse: a merged page always names one that was not merged.
        step.run(_MERGE_ON, {**page_id, "into": into.bytes})
        lead_links_on(step, after.page_id, into)
    else:
        if current.from_revision == step.revision:
            # Deleted, restored and deleted again by one commit.
            step.run(_FORGET_DELETION, {**page_id, "deletion": step.revision})
        step.run(
            _ADD_DELETION,
            {
                **page_id,
                "deletion": step.revision,
                "version": after.version,
                "scope": after.scope,
                "position": step.position,
                "restored_at": None,
            },
        )
    record(step, event, page_id=after.page_id, scope=after.scope, other_page_id=into)


def _restore(step: Step, event: PageRestored) -> None:
    page_id = {"page_id": event.originator_id.bytes}
    rows = step.all(NEWEST_PAGE, page_id)
    before = newest_page_state(rows[0]) if rows else None
    if before is None or before.ended != "deleted":
        raise AssertionError(f"{event.topic} of a page that is not deleted: {event.originator_id}")
    after = evolve_page(before, event, step.texts.text)
    open_version(step, after, step.actor)
    add_page_terms(step, before, after)
    step.run(_BRING_BACK, {**page_id, "to_scope": after.scope})
    step.run(_UNDO_DELETION, {**page_id, "deletion": rows[0][-1]})
    add_links(step, LinkSource(after.page_id), after.links)
    for note_id, links in links_of_notes(step, after.page_id):
        add_links(step, LinkSource(after.page_id, note_id), links)
    record(step, event, page_id=after.page_id, scope=after.scope, scope_before=before.scope)
