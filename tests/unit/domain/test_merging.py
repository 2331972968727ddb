"""Merging one page into another."""

import pytest

from kbstore.domain.commands import (
    AddNote,
    DeletePage,
    EditPage,
    MergePage,
    RemoveNote,
    SetPin,
)
from kbstore.domain.events import (
    NoteAdded,
    NoteMoved,
    PageAbsorbed,
    PageCreated,
    PageMergedAway,
    PageMoved,
    PinRemoved,
    PinSet,
)
from kbstore.errors import (
    KeyTakenError,
    NestingTooDeepError,
    NotFoundError,
    PageDeclaredError,
    RoleTooWeakError,
    ScopePageError,
    TooManyPagesError,
    ValidationError,
    VersionConflictError,
    WouldCreateCycleError,
)
from kbstore.ids import declared_page_id, pin_id
from kbstore.limits import (
    KEY_CODE_POINTS_MAX,
    NESTING_LEVELS_MAX,
    NOTES_PER_MERGE_MAX,
    PAGES_PER_OPERATION_MAX,
    PIN_AUDIENCE_MAX,
)
from kbstore.testing import KB, SCOPE, body, given, note_text, nth_id, page, text

SCOPE_PAGE = declared_page_id(KB, SCOPE, (), 0)
POLICIES = declared_page_id(KB, SCOPE, ("policies",), 0)
TEAM = "team:acme:support"


def note(place: str) -> AddNote:
    return AddNote(page=place, text=note_text(f"on {place}"), stamps=(SCOPE,))


def test_children_notes_and_description_go_over() -> None:
    story = given(
        page("Old", key="old", description="What it is", content="Gone from reads"),
        page("New", key="new"),
        page("Child", parent="$0", key="child"),
        note("$0"),
        note("$1"),
    )
    old, new, child = story.id(0), story.id(1), story.id(2)
    moved_note = story.store.notes(old, 1)[0].note_id
    merge = MergePage(page="$0", into="$1", expected_version=1, into_version=1)
    outcome = story.when(merge)
    after = outcome.then(
        PageMoved(
            originator_id=child,
            originator_version=2,
            scope=SCOPE,
            parent_id=new,
            key="child",
            from_scope=SCOPE,
            from_parent_id=old,
            from_key="child",
        ),
        PageMergedAway(originator_id=old, originator_version=2, into=new),
        NoteMoved(originator_id=moved_note, originator_version=2, page_id=new),
        PageAbsorbed(
            originator_id=new,
            originator_version=2,
            page_id=old,
            description=text("What it is").ref,
        ),
    )
    assert outcome.decision.texts == ()
    assert outcome.decision.subjects[0].id == new
    into = after.store.page(new)
    assert into is not None
    assert (into.description, into.body) == ("What it is", None)
    assert len(after.store.notes(new, 9)) == 2
    after.when(merge).then_refused(NotFoundError, mergedInto=str(new))


def test_a_description_of_its_own_stays() -> None:
    story = given(page("A", description="a"), page("B", description="b"))
    absorbed = story.when(MergePage(page="$0", into="$1")).events[-1]
    assert absorbed == PageAbsorbed(
        originator_id=story.id(1), originator_version=2, page_id=story.id(0)
    )


def test_a_scope_page_takes_no_description() -> None:
    story = given(page("A", scope=TEAM, description="a"))
    team_page = declared_page_id(KB, TEAM, (), 0)
    absorbed = story.when(MergePage(page="$0", into=team_page)).events[-1]
    assert isinstance(absorbed, PageAbsorbed)
    assert absorbed.description is None


def test_removed_notes_stay_where_they_were() -> None:
    story = given(page("A"), page("B"), note("$0"))
    story = story.after(RemoveNote(note=story.store.notes(story.id(0), 1)[0].note_id))
    kinds = [type(event) for event in story.when(MergePage(page="$0", into="$1")).events]
    assert kinds == [PageMergedAway, PageAbsorbed]


def test_a_declared_page_can_absorb_and_is_written_for_it() -> None:
    outcome = given(page("A")).when(MergePage(page="$0", into=POLICIES, into_version=0))
    kinds = [type(event) for event in outcome.events]
    assert kinds == [PageCreated, PageMergedAway, PageAbsorbed]
    assert outcome.events[-1].originator_version == 2


# --- keys -----------------------------------------------------------------------------------


def test_all_keys_that_collide_are_listed() -> None:
    story = given(
        page("A"),
        page("B"),
        page("A faq", parent="$0", key="faq"),
        page("A how", parent="$0", key="how"),
        page("A own", parent="$0", key="own"),
        page("B faq", parent="$1", key="FAQ"),
        page("B how", parent="$1", key="how"),
    )
    story.when(MergePage(page="$0", into="$1")).then_refused(
        KeyTakenError,
        parentId=str(story.id(1)),
        collisions=[
            {"key": "faq", "pageId": str(story.id(2)), "takenBy": str(story.id(5))},
            {"key": "how", "pageId": str(story.id(3)), "takenBy": str(story.id(6))},
        ],
    )


def test_rename_gives_the_next_free_key_and_reports_it() -> None:
    story = given(
        page("A"),
        page("B"),
        page("A faq", parent="$0", key="faq"),
        page("A faq 2", parent="$0", key="faq-2"),
        page("B faq", parent="$1", key="faq"),
        page("B faq 3", parent="$1", key="Faq-3"),
    )
    outcome = story.when(MergePage(page="$0", into="$1", on_key_collision="rename"))
    assert outcome.decision.subjects[0].renamed == ((story.id(2), "faq", "faq-4"),)
    keys = {child.key for child in outcome.story.store.children(story.id(1), 9)}
    assert keys == {"faq", "faq-2", "Faq-3", "faq-4"}


def test_a_renamed_key_keeps_its_limit() -> None:
    long = "k" * KEY_CODE_POINTS_MAX
    story = given(
        page("A"), page("B"), page("1", parent="$0", key=long), page("2", parent="$1", key=long)
    )
    outcome = story.when(MergePage(page="$0", into="$1", on_key_collision="rename"))
    ((_, _, new),) = outcome.decision.subjects[0].renamed
    assert new == "k" * (KEY_CODE_POINTS_MAX - 2) + "-2"


def test_a_declared_key_collides_too() -> None:
    story = given(page("A"), page("R", parent="$0", key="refund"))
    story.when(MergePage(page="$0", into=POLICIES)).then_refused(KeyTakenError)
    outcome = story.when(MergePage(page="$0", into=POLICIES, on_key_collision="rename"))
    assert outcome.decision.subjects[0].renamed == ((story.id(1), "refund", "refund-2"),)


def test_a_child_may_inherit_the_key_of_the_page_merged_into_its_parent() -> None:
    story = given(page("Faq", key="faq"), page("Inner", parent="$0", key="Faq"))
    outcome = story.when(MergePage(page="$0", into=SCOPE_PAGE))
    # No two siblings have one key at any moment: the page ends before its heir moves.
    assert [type(event) for event in outcome.events] == [PageMergedAway, PageMoved, PageAbsorbed]
    inner = outcome.story.store.page(story.id(1))
    assert inner is not None
    assert (inner.parent_id, inner.key) == (SCOPE_PAGE, "Faq")


def test_an_unknown_policy_is_refused() -> None:
    merge = MergePage(page="$0", into="$1", on_key_collision="merge")
    given(page("A"), page("B")).when(merge).then_refused(
        ValidationError, field="onKeyCollision", reason="unknownValue"
    )


# --- pins -----------------------------------------------------------------------------------


def test_of_two_pins_the_one_of_into_stays_for_both_audiences() -> None:
    story = given(
        page("A"),
        page("B"),
        SetPin(page="$0", kind="list", audience=(SCOPE, TEAM), depth=3),
        SetPin(page="$1", kind="list", audience=("vault:acme",), depth=2),
    )
    a, b = story.id(0), story.id(1)
    events = story.when(MergePage(page="$0", into="$1")).events
    assert events[1:3] == (
        PinSet(
            originator_id=pin_id(b, "list"),
            originator_version=2,
            page_id=b,
            kind="list",
            audience=(SCOPE, TEAM, "vault:acme"),
            depth=2,
        ),
        PinRemoved(originator_id=pin_id(a, "list"), originator_version=2),
    )


def test_a_pin_that_into_lacks_goes_over() -> None:
    story = given(page("A"), page("B"), SetPin(page="$0", kind="list", audience=(SCOPE,), depth=3))
    a, b = story.id(0), story.id(1)
    after = story.when(MergePage(page="$0", into="$1")).story
    over, gone = after.store.pin(pin_id(b, "list")), after.store.pin(pin_id(a, "list"))
    assert over is not None
    assert gone is not None
    assert (over.audience, over.depth, over.page_id) == ((SCOPE,), 3, b)
    assert gone.audience == ()


def test_a_pin_that_adds_nothing_just_goes() -> None:
    story = given(
        page("A"),
        page("B"),
        SetPin(page="$0", kind="page", audience=(SCOPE,)),
        SetPin(page="$1", kind="page", audience=(SCOPE, TEAM)),
    )
    kinds = [type(event) for event in story.when(MergePage(page="$0", into="$1")).events]
    assert kinds == [PageMergedAway, PinRemoved, PageAbsorbed]


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("merge", "conflict"),
    [
        (MergePage(page="$0", into="$1", expected_version=7), 0),
        (MergePage(page="$0", into="$1", into_version=7), 1),
    ],
)
def test_both_versions_are_compared(merge: MergePage, conflict: int) -> None:
    story = given(page("A"), page("B"))
    story.when(merge).then_refused(
        VersionConflictError,
        pageId=str(story.id(conflict)),
        expectedVersion=7,
        currentVersion=1,
    )


@pytest.mark.parametrize("into", ["$0", "$1", "$2"])
def test_a_page_goes_into_nothing_below_it(into: str) -> None:
    story = given(page("A"), page("B", parent="$0"), page("C", parent="$1"))
    story.when(MergePage(page="$0", into=into)).then_refused(WouldCreateCycleError)


def test_a_page_may_go_into_its_parent() -> None:
    story = given(page("A"), page("B", parent="$0"), page("C", parent="$1"))
    after = story.when(MergePage(page="$1", into="$0")).story
    assert [child.page_id for child in after.store.children(story.id(0), 9)] == [story.id(2)]


def test_missing_and_hidden_pages_are_refused_alike() -> None:
    story = given(page("A"), page("Secret", scope="vault:acme"))
    for other in (nth_id(999), story.id(1)):
        for merge in (MergePage(page="$0", into=other), MergePage(page=other, into="$0")):
            refusal = story.when(merge, held=[SCOPE]).then_refused(NotFoundError)
            assert refusal.message == f'Knowledge page "{other}" not found.'


def test_scope_pages_and_declared_pages_are_not_merged_away() -> None:
    story = given(page("A"), EditPage(page=POLICIES, body=body("x")))
    story.when(MergePage(page=SCOPE_PAGE, into="$0")).then_refused(ScopePageError)
    for told in (given(page("A")), story):
        refusal = told.when(MergePage(page=POLICIES, into="$0")).then_refused(PageDeclaredError)
        assert refusal.message.endswith("change the scope's pages to remove it.")


def test_the_roles_merging_needs() -> None:
    story = given(page("A"), page("B"), page("T", scope=TEAM))
    weak = story.when(MergePage(page="$0", into="$1"), held=["editor:acme"])
    assert weak.then_refused(RoleTooWeakError, scope=SCOPE).message == (
        'Merging a page away needs owner on "org:acme"; this run has editor there.'
    )
    assert story.when(MergePage(page="$0", into="$2"), held=[SCOPE]).events
    story.when(MergePage(page="$0", into="$2"), held=["vault:acme", "viewer:acme"]).then_refused(
        RoleTooWeakError
    )


def test_across_scopes_into_needs_an_owner() -> None:
    story = given(page("V", scope="vault:acme"), page("A"))
    refusal = story.when(MergePage(page="$0", into="$1"), held=["vault:acme", "editor:acme"])
    assert refusal.then_refused(RoleTooWeakError, scope=SCOPE).message == (
        'Merging a page across scopes needs owner on "org:acme"; this run has editor there.'
    )


def test_the_levels_below_count_under_into() -> None:
    low = [page("L0")] + [page(f"L{n}", parent=f"${n - 1}") for n in range(1, NESTING_LEVELS_MAX)]
    merged = page("M")
    child = page("Child", parent=f"${NESTING_LEVELS_MAX}")
    story = given(*low, merged, child)
    m = f"${NESTING_LEVELS_MAX}"
    assert story.when(MergePage(page=m, into=f"${NESTING_LEVELS_MAX - 2}")).events
    story.when(MergePage(page=m, into=f"${NESTING_LEVELS_MAX - 1}")).then_refused(
        NestingTooDeepError
    )


def test_500_children_move_and_no_more() -> None:
    story = given(page("A"), page("B"))
    for number in range(PAGES_PER_OPERATION_MAX + 1):
        if number == PAGES_PER_OPERATION_MAX:
            assert len(story.when(MergePage(page="$0", into="$1")).events) == number + 2
        child = PageCreated(
            originator_id=nth_id(10_000 + number),
            originator_version=1,
            scope=SCOPE,
            parent_id=story.id(0),
            name=text("A").ref,
        )
        story.store.apply([child])
    story.when(MergePage(page="$0", into="$1")).then_refused(TooManyPagesError)


def test_5_000_notes_move_and_no_more() -> None:
    story = given(page("A"), page("B"))
    for number in range(NOTES_PER_MERGE_MAX + 1):
        if number == NOTES_PER_MERGE_MAX:
            assert len(story.when(MergePage(page="$0", into="$1")).events) == number + 2
        added = NoteAdded(
            originator_id=nth_id(10_000 + number),
            originator_version=1,
            page_id=story.id(0),
            text=text("A").ref,
            stamps=(SCOPE,),
        )
        story.store.apply([added])
    refused = story.when(MergePage(page="$0", into="$1"))
    refusal = refused.then_refused(TooManyPagesError, maximum=NOTES_PER_MERGE_MAX)
    assert "notes" in refusal.message


def test_pins_together_may_have_more_audiences_than_one_request_gives() -> None:
    many = tuple(f"team:acme:{number}" for number in range(PIN_AUDIENCE_MAX))
    story = given(
        page("A"),
        page("B"),
        SetPin(page="$0", kind="page", audience=many),
        SetPin(page="$1", kind="page", audience=("vault:acme",)),
    )
    after = story.when(MergePage(page="$0", into="$1"), held=[SCOPE]).story
    pin = after.store.pin(pin_id(story.id(1), "page"))
    assert pin is not None
    assert set(pin.audience) == {*many, "vault:acme"}


def test_a_deleted_page_is_not_merged() -> None:
    story = given(page("A"), page("B"), DeletePage(page="$0"))
    story.when(MergePage(page="$0", into="$1")).then_refused(NotFoundError)
    story.when(MergePage(page="$1", into="$0")).then_refused(NotFoundError)
