"""The kit that rules are tested with: it says what happened, and notices what did not."""

import textwrap

import pytest

from kbstore import testing
from kbstore.domain.commands import DeletePage, EditPage
from kbstore.domain.events import NoteAdded, PageCreated, PageDeleted, PageEdited
from kbstore.domain.state import PageState
from kbstore.errors import KBStoreError, NotFoundError, ValidationError
from kbstore.testing import (
    KB,
    SCOPE,
    MemoryStore,
    SequentialIds,
    SteppingClock,
    body,
    configuration,
    given,
    note_text,
    nth_id,
    page,
    text,
)


def test_the_example_of_the_package_runs() -> None:
    example = (testing.__doc__ or "").split("\n\n    ", 1)[1].split("\n\nA history", 1)[0]
    code = textwrap.dedent(f"    {example}")
    assert "then(" in code
    exec(compile(code, "example", "exec"), {})


def test_everything_public_is_there() -> None:
    assert sorted(testing.__all__) == sorted(set(testing.__all__))
    assert [name for name in testing.__all__ if not hasattr(testing, name)] == []


def test_a_wrong_expectation_fails() -> None:
    story = given(page("A"))
    renamed = story.when(EditPage(page="$0", name=text("B")))
    right = PageEdited(originator_id=story.id(0), originator_version=2, name=text("B").ref)
    renamed.then(right)
    with pytest.raises(AssertionError):
        renamed.then(PageDeleted(originator_id=story.id(0), originator_version=2))
    with pytest.raises(AssertionError):
        renamed.then(right, right)
    with pytest.raises(AssertionError):
        renamed.then()
    with pytest.raises(AssertionError):
        renamed.then_nothing()
    with pytest.raises(AssertionError):
        renamed.then_refused(NotFoundError)


def test_a_refusal_is_of_one_class_and_has_the_details() -> None:
    refused = given().when(EditPage(page=nth_id(9), name=text("B")))
    assert refused.then_refused(NotFoundError).code == "NOT_FOUND"
    with pytest.raises(AssertionError):
        refused.then_refused(ValidationError)
    with pytest.raises(AssertionError):
        refused.then_refused(KBStoreError)
    with pytest.raises(AssertionError):
        refused.then_refused(NotFoundError, mergedInto="x")
    with pytest.raises(NotFoundError):
        refused.then_nothing()
    with pytest.raises(NotFoundError):
        _ = refused.story


def test_a_story_is_not_changed_by_what_follows() -> None:
    story = given(page("A"))
    after = story.when(DeletePage(page="$0")).story
    first, second = story.store.page(story.id(0)), after.store.page(story.id(0))
    assert first is not None
    assert second is not None
    assert (first.is_live, second.is_live) == (True, False)
    assert (story.store.revision, after.store.revision) == (1, 2)


def test_a_history_can_be_told_in_events() -> None:
    top = PageCreated(
        originator_id=nth_id(50), originator_version=1, scope=SCOPE, name=text("Top").ref
    )
    note = NoteAdded(
        originator_id=nth_id(51),
        originator_version=1,
        page_id=nth_id(50),
        text=note_text("See [[Top]]").ref,
        stamps=(SCOPE,),
    )
    story = given(text("Top"), note_text("See [[Top]]"), body("[x](y.md)"), top, note)
    assert story.id(0) == nth_id(50)
    written = story.store.scope_page(SCOPE)
    assert written is not None
    assert written.name == "Top"
    assert [n.text for n in story.store.notes(nth_id(50), 9)] == ["See [[Top]]"]
    assert story.store.revision == 2


def test_the_same_story_has_the_same_events() -> None:
    def told() -> tuple[object, ...]:
        return given(page("A", content="[[B]]"), page("B")).store.events

    assert told() == told()


def test_the_tree_is_checked() -> None:
    orphan = PageCreated(
        originator_id=nth_id(1),
        originator_version=1,
        scope=SCOPE,
        parent_id=nth_id(2),
        name=text("A").ref,
    )
    gone = PageDeleted(originator_id=nth_id(2), originator_version=2)
    top = PageCreated(
        originator_id=nth_id(2), originator_version=1, scope=SCOPE, name=text("T").ref
    )
    store = MemoryStore(configuration())
    store.commit([top, orphan])
    store.check_tree()
    store.commit([gone])
    with pytest.raises(AssertionError, match="gone page"):
        store.check_tree()
    twice = MemoryStore(configuration())
    twice.commit(
        [
            top,
            PageCreated(
                originator_id=nth_id(3), originator_version=1, scope=SCOPE, name=text("T").ref
            ),
        ]
    )
    with pytest.raises(AssertionError, match="two live pages"):
        twice.check_tree()


def test_ids_and_times_go_on_in_steps() -> None:
    ids = SequentialIds()
    assert [ids.new_id(), ids.new_id()] == [nth_id(1), nth_id(2)]
    assert nth_id(1).version == 7
    assert len(ids.new_salt()) == 16
    clock = SteppingClock(start=100, step=5)
    assert [clock.now(), clock.now()] == [100, 105]
    assert SteppingClock().now() == SteppingClock().now()


def test_equal_texts_are_one_text() -> None:
    assert text("a").ref == text("a").ref
    assert text("a").ref != text("b").ref
    linked = note_text("[[a]]")
    assert linked.targets is not None
    assert linked.targets.ref != linked.ref


def test_a_page_can_be_looked_up_as_it_was() -> None:
    story = given(page("A"), EditPage(page="$0", name=text("B")), DeletePage(page="$0"))
    names: list[str | None] = []
    for state in (
        story.store.page_at_version(story.id(0), 1),
        story.store.page_at_revision(story.id(0), 2),
        story.store.page_at_revision(story.id(0), 3),
    ):
        assert state is None or isinstance(state, PageState)
        names.append(state.name if state else None)
    assert names == ["A", "B", None]
    assert story.store.ended_at(story.id(0)) == 3
    assert story.context().kb_id == KB
