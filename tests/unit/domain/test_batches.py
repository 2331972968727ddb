"""Several operations of one commit, decided one after the other."""

import pytest

from kbstore.domain.commands import AddNote, DeletePage, EditPage, MovePage, RestorePage, SetPin
from kbstore.domain.decision import Decision, Subject, after
from kbstore.domain.events import NIL, PageCreated
from kbstore.errors import (
    KeyTakenError,
    NotFoundError,
    ParentNotFoundError,
    ValidationError,
    VersionConflictError,
    WouldCreateCycleError,
)
from kbstore.ids import declared_page_id
from kbstore.testing import KB, SCOPE, body, given, note_text, page, text

SCOPE_PAGE = declared_page_id(KB, SCOPE, (), 0)
REFUND = declared_page_id(KB, SCOPE, ("policies", "refund"), 0)


def test_later_operations_name_what_earlier_ones_created() -> None:
    outcome = given().when(
        page("A", key="a"),
        page("B", key="b", parent="$0"),
        AddNote(page="$1", text=note_text("n"), stamps=(SCOPE,)),
        EditPage(page="$0", name=text("Alpha")),
        SetPin(page="$1", kind="page", audience=(SCOPE,)),
    )
    assert [subject.kind for subject in outcome.decision.subjects] == [
        "page",
        "page",
        "note",
        "page",
        "pin",
    ]
    a, b = outcome.story.id(0), outcome.story.id(1)
    child = outcome.story.store.page(b)
    assert child is not None
    assert child.parent_id == a


@pytest.mark.parametrize("place", ["$1", "$2", "$9", "$9999"])
def test_a_place_where_nothing_was_created_is_refused(place: str) -> None:
    for command, field in (
        (EditPage(page=place, name=text("x")), "page"),
        (page("C", parent=place), "parent"),
    ):
        given().when(
            page("A"), AddNote(page="$0", text=note_text("n"), stamps=(SCOPE,)), command
        ).then_refused(ValidationError, field=field, reason="unknownPlace")


@pytest.mark.parametrize("place", ["", "0", "$", "$x", "$-1", "$01", "$ 1", "$0\n", "$99999", "A"])
def test_a_place_that_is_none_is_refused(place: str) -> None:
    given(page("A")).when(EditPage(page=place, name=text("x"))).then_refused(
        ValidationError, field="page", reason="malformed"
    )


def test_versions_are_those_before_the_commit() -> None:
    story = given(page("A"))
    first = EditPage(page="$0", expected_version=1, name=text("B"))
    again = EditPage(page="$0", expected_version=1, body=body("x"))
    assert len(story.when(first, again).events) == 2
    story.when(first, EditPage(page="$0", expected_version=2, body=body("x"))).then_refused(
        VersionConflictError, expectedVersion=2, currentVersion=1
    )


def test_a_declared_page_had_version_0_before_the_commit() -> None:
    story = given()
    touch = AddNote(page=REFUND, text=note_text("n"), stamps=(SCOPE,))
    for expected in (0, None):
        edit = EditPage(page=REFUND, expected_version=expected, name=text("x"))
        assert story.when(touch, edit).events
    edit = EditPage(page=REFUND, expected_version=1, name=text("x"))
    story.when(touch, edit).then_refused(VersionConflictError, expectedVersion=1, currentVersion=0)


def test_a_page_of_the_same_commit_needs_no_version() -> None:
    edit = EditPage(page="$0", name=text("x"))
    assert given().when(page("A"), edit).events
    given().when(page("A"), EditPage(page="$0", expected_version=1, name=text("x"))).then_refused(
        VersionConflictError, currentVersion=0
    )


def test_operations_see_what_the_ones_before_left() -> None:
    story = given(page("A", key="a"))
    assert story.when(DeletePage(page="$0"), page("B", key="a")).events
    story.when(page("B", key="b"), page("C", key="B")).then_refused(KeyTakenError)
    story.when(DeletePage(page="$0"), EditPage(page="$0", name=text("x"))).then_refused(
        NotFoundError
    )
    two = given(page("A"), page("B"))
    two.when(MovePage(page="$0", parent="$1"), MovePage(page="$1", parent="$0")).then_refused(
        WouldCreateCycleError
    )


def test_a_page_deleted_and_restored_in_one_commit_is_as_it_was() -> None:
    story = given(page("A", key="a"))
    outcome = story.when(
        DeletePage(page="$0", expected_version=1), RestorePage(page="$0", expected_version=1)
    )
    back = outcome.story.store.page(story.id(0))
    assert back is not None
    assert (back.version, back.key, back.is_live) == (3, "a", True)


def test_a_refusal_leaves_the_story_as_it_was() -> None:
    story = given(page("A"))
    story.when(page("B"), page("C", parent=REFUND), page("D", parent="$99")).then_refused(
        ValidationError
    )
    assert len(list(story.store.live_pages())) == 2
    story.when(page("D", parent=SCOPE_PAGE)).story.store.check_tree()
    story.when(page("D", parent=NIL)).then_refused(ParentNotFoundError)


def test_what_a_decision_leaves_behind_for_the_next() -> None:
    context = given().context()
    created = [
        PageCreated(
            originator_id=identity,
            originator_version=1,
            scope=SCOPE,
            name=text("x").ref,
            template=template,
        )
        for identity, template in ((SCOPE_PAGE, ""), (REFUND, None))
    ]
    decision = Decision(events=tuple(created), subjects=(Subject("page", REFUND, created=True),))
    following = after(context, decision)
    assert following.base_versions == {SCOPE_PAGE: 0, REFUND: 0}
    assert following.created == {REFUND}
    assert following.places == (REFUND,)
    assert after(following, Decision(subjects=(Subject("page", REFUND),))).places == (REFUND, NIL)
    assert context.base_versions == {}
