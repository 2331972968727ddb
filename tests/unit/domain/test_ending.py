"""Deleting pages."""

from kbstore.domain.commands import AddNote, DeletePage, EditPage, SetPin
from kbstore.domain.events import PageCreated, PageDeleted
from kbstore.errors import (
    NotFoundError,
    PageDeclaredError,
    PageHasChildrenError,
    RoleTooWeakError,
    ScopePageError,
    TooManyPagesError,
    VersionConflictError,
)
from kbstore.ids import declared_page_id
from kbstore.limits import PAGES_PER_OPERATION_MAX
from kbstore.testing import KB, SCOPE, body, given, note_text, nth_id, page, text

SCOPE_PAGE = declared_page_id(KB, SCOPE, (), 0)
POLICIES = declared_page_id(KB, SCOPE, ("policies",), 0)


def test_a_page_is_deleted_and_its_notes_and_pins_get_no_events() -> None:
    story = given(
        page("A"),
        AddNote(page="$0", text=note_text("n"), stamps=(SCOPE,)),
        SetPin(page="$0", kind="page", audience=(SCOPE,)),
    )
    story.when(DeletePage(page="$0", expected_version=1)).then(
        PageDeleted(originator_id=story.id(0), originator_version=2)
    )


def test_a_page_with_children_stays_unless_the_subtree_is_meant() -> None:
    story = given(
        page("Escalation"), page("B", parent="$0"), page("C", parent="$1"), page("D", parent="$0")
    )
    refusal = story.when(DeletePage(page="$0")).then_refused(
        PageHasChildrenError, pageId=str(story.id(0))
    )
    assert refusal.message == '"Escalation" has child pages; move or delete them first.'
    outcome = story.when(DeletePage(page="$0", subtree=True))
    gone = [event.originator_id for event in outcome.events]
    assert gone[-1] == story.id(0)
    assert gone.index(story.id(2)) < gone.index(story.id(1))
    assert set(gone) == {story.id(n) for n in range(4)}
    assert outcome.decision.subjects[0].id == story.id(0)


def test_children_that_are_gone_do_not_count() -> None:
    story = given(page("A"), page("B", parent="$0"), DeletePage(page="$1"))
    assert story.when(DeletePage(page="$0")).events


def test_a_repeated_delete_finds_nothing() -> None:
    story = given(page("A"), DeletePage(page="$0"))
    for held in ([SCOPE], ["viewer:acme"]):
        refusal = story.when(DeletePage(page="$0", expected_version=1), held=held)
        assert refusal.then_refused(NotFoundError).details == {}


def test_the_key_is_free_again() -> None:
    story = given(page("A", key="a"), DeletePage(page="$0"))
    assert story.when(page("B", key="a")).events


def test_a_stale_version_conflicts() -> None:
    story = given(page("A"))
    story.when(DeletePage(page="$0", expected_version=2)).then_refused(
        VersionConflictError, expectedVersion=2, currentVersion=1
    )


def test_deleting_needs_an_owner() -> None:
    refusal = given(page("A")).when(DeletePage(page="$0"), held=["editor:acme"])
    assert refusal.then_refused(RoleTooWeakError).message == (
        'Deleting a page needs owner on "org:acme"; this run has editor there.'
    )


def test_a_scope_page_stays() -> None:
    for story in (given(), given(page("A"))):
        story.when(DeletePage(page=SCOPE_PAGE, subtree=True)).then_refused(ScopePageError)


def test_a_declared_page_stays_written_or_not() -> None:
    for story in (given(), given(EditPage(page=POLICIES, body=body("x")))):
        refusal = story.when(DeletePage(page=POLICIES, subtree=True))
        error = refusal.then_refused(PageDeclaredError, ref="org:acme#policies")
        assert error.message == (
            '"org:acme#policies" is declared in config; change the scope\'s pages to remove it.'
        )


def test_500_pages_end_together_and_no_more() -> None:
    story = given(page("A"))
    for number in range(PAGES_PER_OPERATION_MAX):
        if number == PAGES_PER_OPERATION_MAX - 1:
            events = story.when(DeletePage(page="$0", subtree=True)).events
            assert len(events) == PAGES_PER_OPERATION_MAX
        child = PageCreated(
            originator_id=nth_id(10_000 + number),
            originator_version=1,
            scope=SCOPE,
            parent_id=story.id(0),
            name=text("A").ref,
        )
        story.store.apply([child])
    story.when(DeletePage(page="$0", subtree=True)).then_refused(
        TooManyPagesError, maximum=PAGES_PER_OPERATION_MAX
    )
