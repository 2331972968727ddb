"""Moving pages."""

from uuid import UUID

import pytest

from kbstore.access import load_configuration
from kbstore.domain.commands import EditPage, MovePage
from kbstore.domain.events import Event, PageCreated, PageMoved
from kbstore.errors import (
    KeyTakenError,
    NestingTooDeepError,
    NotFoundError,
    PageDeclaredError,
    ParentNotFoundError,
    RoleTooWeakError,
    ScopePageError,
    TooManyPagesError,
    ValidationError,
    VersionConflictError,
    WouldCreateCycleError,
)
from kbstore.ids import declared_page_id
from kbstore.limits import NESTING_LEVELS_MAX, PAGES_PER_OPERATION_MAX
from kbstore.testing import KB, SCOPE, Story, given, nth_id, page, text
from tests.unit.domain.open_scopes import NO_ADDRESSES, OPEN

SCOPE_PAGE = declared_page_id(KB, SCOPE, (), 0)
POLICIES = declared_page_id(KB, SCOPE, ("policies",), 0)
TEAM = "team:acme:support"
TEAM_PAGE = declared_page_id(KB, TEAM, (), 0)


def family() -> Story:
    """a/b/c, and x beside them."""
    return given(
        page("A", key="a"),
        page("B", key="b", parent="$0"),
        page("C", key="c", parent="$1"),
        page("X", key="x"),
    )


def with_children(parent: UUID, count: int, story: Story) -> Story:
    """The story with this many more pages below one, all of one commit."""
    created: list[Event] = [
        PageCreated(
            originator_id=nth_id(10_000 + number),
            originator_version=1,
            scope=SCOPE,
            parent_id=parent,
            name=text("Child").ref,
        )
        for number in range(count)
    ]
    story.store.commit(created, [text("Child")])
    return story


def test_what_is_below_comes_along_without_events() -> None:
    story = family()
    after = story.when(MovePage(page="$1", expected_version=1, parent="$3")).then(
        PageMoved(
            originator_id=story.id(1),
            originator_version=2,
            scope=SCOPE,
            parent_id=story.id(3),
            key="b",
            from_scope=SCOPE,
            from_parent_id=story.id(0),
            from_key="b",
        )
    )
    leaf = after.store.page(story.id(2))
    assert leaf is not None
    assert leaf.version == 1
    assert after.store.key_path(leaf) == ("x", "b", "c")


def test_across_scopes_the_one_event_carries_the_scope_of_all() -> None:
    story = family()
    outcome = story.when(MovePage(page="$0", scope=TEAM))
    top, moved = outcome.events
    assert isinstance(top, PageCreated)
    assert isinstance(moved, PageMoved)
    assert (moved.scope, moved.parent_id, moved.from_scope) == (TEAM, TEAM_PAGE, SCOPE)
    for place in (0, 1, 2):
        below = outcome.story.store.page(story.id(place))
        assert below is not None
        assert below.scope == TEAM


def test_a_key_alone_can_change() -> None:
    story = family()
    for key in ("new", "A", None):
        (moved,) = story.when(MovePage(page="$0", key=key)).events
        assert isinstance(moved, PageMoved)
        assert (moved.parent_id, moved.key, moved.from_key) == (SCOPE_PAGE, key, "a")


@pytest.mark.parametrize(
    "move",
    [
        MovePage(page="$1", expected_version=9),
        MovePage(page="$1", expected_version=9, parent="$0"),
        MovePage(page="$1", expected_version=9, key="b", scope=SCOPE),
        MovePage(page="$0", expected_version=9, parent=None),
        MovePage(page=POLICIES, expected_version=9, key="policies"),
    ],
)
def test_a_move_that_changes_nothing_is_accepted_with_a_stale_version(move: MovePage) -> None:
    family().when(move).then_nothing()


def test_a_stale_version_conflicts() -> None:
    story = family()
    story.when(MovePage(page="$0", expected_version=4, key="z")).then_refused(
        VersionConflictError, pageId=str(story.id(0)), expectedVersion=4, currentVersion=1
    )


@pytest.mark.parametrize("parent", ["$0", "$1", "$2"])
def test_no_page_comes_to_stand_under_itself(parent: str) -> None:
    story = family()
    story.when(MovePage(page="$0", parent=parent)).then_refused(
        WouldCreateCycleError, pageId=str(story.id(0))
    )


def test_of_two_moves_that_make_a_cycle_the_second_loses() -> None:
    story = given(page("A"), page("B"), MovePage(page="$0", parent="$1"))
    story.when(MovePage(page="$1", parent="$0")).then_refused(WouldCreateCycleError)


def test_a_taken_key_is_refused_with_who_has_it() -> None:
    story = given(page("A", key="a"), page("B", key="b"))
    story.when(MovePage(page="$1", key="A")).then_refused(
        KeyTakenError, key="A", parentId=str(SCOPE_PAGE), pageId=str(story.id(0))
    )
    story.when(MovePage(page="$1", key="POLICIES")).then_refused(
        KeyTakenError, pageId=str(POLICIES)
    )


def test_a_key_that_no_path_can_hold_is_refused() -> None:
    family().when(MovePage(page="$0", key="a/b")).then_refused(ValidationError, field="key")


def test_a_missing_parent_is_refused() -> None:
    family().when(MovePage(page="$0", parent=nth_id(999))).then_refused(ParentNotFoundError)


def test_a_parent_outside_the_destination_is_refused() -> None:
    story = given(page("A"), page("T", scope=TEAM))
    for move in (MovePage(page="$0", parent="$1"), MovePage(page="$1", scope=SCOPE, parent="$1")):
        story.when(move).then_refused(ValidationError, field="parent", reason="otherScope")


@pytest.mark.parametrize("scope", ["vault:acme", "unknown:acme"])
def test_a_hidden_or_undeclared_destination_looks_absent(scope: str) -> None:
    refusal = family().when(MovePage(page="$0", scope=scope), held=[SCOPE])
    assert refusal.then_refused(NotFoundError).message == f'Knowledge page "{scope}" not found.'


@pytest.mark.parametrize(("scope", "reason"), NO_ADDRESSES)
def test_a_destination_is_an_address(scope: str, reason: str) -> None:
    open_scopes = load_configuration(OPEN, "toml")
    story = given(configured=open_scopes).when(page("A", scope="open:acme:x"), held=["org:acme"])
    story.story.when(MovePage(page="$0", scope=scope), held=["org:acme"]).then_refused(
        ValidationError, field="scope", reason=reason
    )


def test_a_destination_is_taken_in_nfc() -> None:
    open_scopes = load_configuration(OPEN, "toml")
    story = given(configured=open_scopes).when(page("A", scope="open:acme:x"), held=["org:acme"])
    move = MovePage(page="$0", scope="open:acme:cafe\u0301")
    moved = story.story.when(move, held=["org:acme"]).events[-1]
    assert isinstance(moved, PageMoved)
    assert moved.scope == "open:acme:caf\u00e9"


def test_moving_across_scopes_needs_owner_on_both() -> None:
    story = given(page("A"), page("T", scope=TEAM))
    move = MovePage(page="$0", scope=TEAM)
    refusal = story.when(move, held=["editor:acme"]).then_refused(RoleTooWeakError, scope=SCOPE)
    assert refusal.message == (
        'Moving a page across scopes needs owner on "org:acme"; this run has editor there.'
    )
    back = MovePage(page="$1", scope=SCOPE)
    story.when(back, held=["editor:acme"]).then_refused(RoleTooWeakError, scope=TEAM)
    assert story.when(back, held=[SCOPE]).events


def test_the_scope_page_stays() -> None:
    story = given(page("A"))
    for told in (given(), story):
        refusal = told.when(MovePage(page=SCOPE_PAGE, key="top")).then_refused(ScopePageError)
        assert refusal.message == (
            '"org:acme" is a scope page; scope pages can\'t be moved, merged or deleted.'
        )
    for move in (
        MovePage(page=SCOPE_PAGE, expected_version=9, parent="$0"),
        MovePage(page=SCOPE_PAGE, expected_version=9, key="top"),
        MovePage(page=SCOPE_PAGE, expected_version=9, scope=TEAM),
    ):
        story.when(move).then_refused(VersionConflictError)


@pytest.mark.parametrize(
    "move",
    [
        MovePage(page=SCOPE_PAGE, expected_version=9),
        MovePage(page=SCOPE_PAGE, expected_version=9, scope=SCOPE, parent=None, key=None),
    ],
)
def test_a_scope_page_may_be_told_to_stay(move: MovePage) -> None:
    given().when(move).then_nothing()
    given(page("A")).when(move).then_nothing()


def test_a_declared_page_stays_written_or_not() -> None:
    written = given(EditPage(page=POLICIES, name=text("Rules")))
    for story in (given(), written):
        refusal = story.when(MovePage(page=POLICIES, key="rules")).then_refused(PageDeclaredError)
        assert refusal.message == (
            '"org:acme#policies" is declared in config; change the scope\'s pages to move it.'
        )


def test_a_page_can_go_below_a_declared_one() -> None:
    story = given(page("A", key="a"))
    outcome = story.when(MovePage(page="$0", parent=POLICIES))
    assert [type(event) for event in outcome.events] == [PageCreated, PageMoved]


def test_the_deepest_page_counts() -> None:
    tall = [page("T0")] + [page(f"T{n}", parent=f"${n - 1}") for n in range(1, 5)]
    low = [page("L0")] + [page(f"L{n}", parent=f"${4 + n}") for n in range(1, 6)]
    story = given(*tall, *low)
    # Five levels fit below level five, not below level six.
    assert story.when(MovePage(page="$0", parent="$9")).events
    story.when(MovePage(page="$0", parent="$10")).then_refused(
        NestingTooDeepError, levels=NESTING_LEVELS_MAX + 1
    )


def test_500_pages_move_together_and_no_more() -> None:
    move = MovePage(page="$0", key="new")
    story = given(page("A", key="a"))
    with_children(story.id(0), PAGES_PER_OPERATION_MAX - 1, story)
    assert len(story.store.subtree(story.id(0), 1_000)) == PAGES_PER_OPERATION_MAX
    assert [type(e) for e in story.when(move).events] == [PageMoved]
    story.store.commit(
        [
            PageCreated(
                originator_id=nth_id(20_000),
                originator_version=1,
                scope=SCOPE,
                parent_id=story.id(0),
                name=text("Child").ref,
            )
        ]
    )
    story.when(move).then_refused(TooManyPagesError, maximum=PAGES_PER_OPERATION_MAX)
