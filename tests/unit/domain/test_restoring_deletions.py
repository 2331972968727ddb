"""Restoring all that one commit deleted."""

from uuid import UUID

from kbstore.domain.commands import DeletePage, RestorePage
from kbstore.domain.events import PageCreated, PageDeleted
from kbstore.errors import (
    KeyTakenError,
    NestingTooDeepError,
    ParentDeletedError,
    RoleTooWeakError,
    TooManyPagesError,
    ValidationError,
    VersionConflictError,
)
from kbstore.limits import IMPORT_OPERATIONS_PER_LINE_MAX, NESTING_LEVELS_MAX
from kbstore.testing import SCOPE, Story, given, nth_id, page, text

TEAM = "team:acme:support"


def deleted_family() -> Story:
    """a/b/c, deleted together by revision 4."""
    return given(
        page("A", key="a"),
        page("B", key="b", parent="$0"),
        page("C", key="c", parent="$1"),
        DeletePage(page="$0", subtree=True),
    )


def test_a_deletion_comes_back_as_a_whole_parents_first() -> None:
    story = deleted_family()
    outcome = story.when(RestorePage(page="$2", deletion=4, expected_version=2))
    assert [event.originator_id for event in outcome.events] == [story.id(n) for n in range(3)]
    leaf = outcome.story.store.page(story.id(2))
    assert leaf is not None
    assert outcome.story.store.key_path(leaf) == ("a", "b", "c")
    assert outcome.decision.subjects[0].id == story.id(2)


def test_a_new_place_is_that_of_the_named_page_and_the_rest_follows() -> None:
    story = deleted_family().after(page("T", scope=TEAM, key="t"))
    after = story.when(RestorePage(page="$0", deletion=4, parent="$4", key="a2")).story
    leaf = after.store.page(story.id(2))
    assert leaf is not None
    assert leaf.scope == TEAM
    assert after.store.key_path(leaf) == ("t", "a2", "b", "c")


def test_a_page_below_the_others_can_be_named_with_a_new_key() -> None:
    story = deleted_family()
    inner = story.when(RestorePage(page="$1", deletion=4, key="renamed")).story
    leaf = inner.store.page(story.id(2))
    assert leaf is not None
    assert inner.store.key_path(leaf) == ("a", "renamed", "c")


def test_pages_that_are_back_already_stay_as_they_are() -> None:
    story = deleted_family().after(RestorePage(page="$0", key="again"))
    outcome = story.when(RestorePage(page="$1", deletion=4))
    assert [event.originator_id for event in outcome.events] == [story.id(1), story.id(2)]


def test_a_page_deleted_again_belongs_to_its_newer_deletion() -> None:
    story = deleted_family().after(RestorePage(page="$0")).after(DeletePage(page="$0"))
    story.when(RestorePage(page="$0", deletion=4)).then_refused(
        ValidationError, field="deletion", reason="unknown"
    )
    assert len(story.when(RestorePage(page="$0", deletion=6)).events) == 1


def test_pages_deleted_again_since_are_left_to_their_newer_deletion() -> None:
    story = given(page("A"), page("B"))
    story = story.when(DeletePage(page="$0"), DeletePage(page="$1")).story
    deletion = story.store.revision
    story = story.after(RestorePage(page="$0")).after(DeletePage(page="$0"))
    outcome = story.when(RestorePage(page="$1", deletion=deletion))
    assert [event.originator_id for event in outcome.events] == [story.id(1)]


def test_a_deletion_whose_parent_is_gone_since_is_refused() -> None:
    story = given(page("A"), page("B", parent="$0"), DeletePage(page="$1"), DeletePage(page="$0"))
    story.when(RestorePage(page="$1", deletion=3)).then_refused(
        ParentDeletedError, parentId=str(story.id(0))
    )
    assert story.when(RestorePage(page="$1", deletion=3, parent=None)).events


def test_a_deletion_is_that_of_the_page() -> None:
    deleted_family().when(RestorePage(page="$0", deletion=3)).then_refused(
        ValidationError, field="deletion", reason="unknown"
    )


def test_what_the_caller_may_not_see_of_a_deletion_is_left_out() -> None:
    story = given(page("A"), page("V", scope="vault:acme"))
    story = story.when(DeletePage(page="$0"), DeletePage(page="$1")).story
    deletion = story.store.revision
    restore = RestorePage(page="$0", deletion=deletion)
    seen = story.when(restore, held=[SCOPE]).events
    assert [event.originator_id for event in seen] == [story.id(0)]
    assert len(story.when(restore).events) == 2


def test_an_owner_who_is_auditor_too_brings_back_what_he_owns() -> None:
    story = given(page("A"), page("V", scope="vault:acme"))
    story = story.when(DeletePage(page="$0"), DeletePage(page="$1")).story
    restore = RestorePage(page="$0", deletion=story.store.revision)
    seen = story.when(restore, held=[SCOPE], grants=["auditor"]).events
    assert [event.originator_id for event in seen] == [story.id(0)]
    elsewhere = RestorePage(page="$1", deletion=story.store.revision)
    story.when(elsewhere, held=[SCOPE], grants=["auditor"]).then_refused(
        RoleTooWeakError, scope="vault:acme"
    )


def test_two_pages_of_a_deletion_that_had_one_key_collide() -> None:
    story = given(page("A", key="k"))
    story = story.when(DeletePage(page="$0"), page("B", key="k"), DeletePage(page="$2")).story
    deletion = story.store.revision
    assert story.store.deleted_by(deletion, 9)[1].key == "k"
    story.when(RestorePage(page="$0", deletion=deletion)).then_refused(KeyTakenError, key="k")
    assert len(story.when(RestorePage(page="$0", deletion=deletion, key="k2")).events) == 2


def test_a_whole_deletion_keeps_to_the_depth_and_to_taken_keys() -> None:
    low = [page("L0")] + [
        page(f"L{n}", parent=f"${n - 1}") for n in range(1, NESTING_LEVELS_MAX - 1)
    ]
    story = given(*low, page("A", key="a"), page("B", parent=f"${NESTING_LEVELS_MAX - 1}"))
    story = story.after(DeletePage(page=f"${NESTING_LEVELS_MAX - 1}", subtree=True))
    restore = RestorePage(
        page=f"${NESTING_LEVELS_MAX - 1}",
        deletion=story.store.revision,
        parent=f"${NESTING_LEVELS_MAX - 2}",
    )
    story.when(restore).then_refused(NestingTooDeepError, levels=NESTING_LEVELS_MAX + 1)
    story = story.after(page("New", key="a"))
    restore = RestorePage(page=f"${NESTING_LEVELS_MAX - 1}", deletion=story.store.revision - 1)
    story.when(restore).then_refused(KeyTakenError, key="a")


def test_a_whole_deletion_compares_the_version_of_the_named_page() -> None:
    deleted_family().when(RestorePage(page="$0", deletion=4, expected_version=1)).then_refused(
        VersionConflictError, currentVersion=2
    )


def test_what_an_import_line_deletes_comes_back_together_and_no_more() -> None:
    story = given(page("Parent"), text("A"))
    numbers = range(10_000, 10_000 + IMPORT_OPERATIONS_PER_LINE_MAX + 1)
    ids = [nth_id(number) for number in numbers]
    for page_id in ids:
        story.store.apply([created(page_id, SCOPE, story.id(0))])
    most, more = story.store.copy(), story.store.copy()
    most.commit([PageDeleted(originator_id=i, originator_version=2) for i in ids[:-1]])
    more.commit([PageDeleted(originator_id=i, originator_version=2) for i in ids])
    restore = RestorePage(page=ids[0], deletion=most.revision)
    story.store = most
    assert len(story.when(restore).events) == IMPORT_OPERATIONS_PER_LINE_MAX
    story.store = more
    refused = story.when(restore)
    refused.then_refused(TooManyPagesError, maximum=IMPORT_OPERATIONS_PER_LINE_MAX)


def test_what_the_caller_may_not_see_of_a_deletion_does_not_count() -> None:
    story = given(page("A"), page("V", scope="vault:acme"))
    numbers = range(10_000, 10_000 + IMPORT_OPERATIONS_PER_LINE_MAX)
    ids = [nth_id(number) for number in numbers]
    for page_id in ids:
        story.store.apply([created(page_id, "vault:acme", story.id(1))])
    gone = [PageDeleted(originator_id=i, originator_version=2) for i in (story.id(0), *ids)]
    story.store.commit(gone)
    restore = RestorePage(page="$0", deletion=story.store.revision)
    seen = story.when(restore, held=[SCOPE]).events
    assert [event.originator_id for event in seen] == [story.id(0)]
    story.when(restore).then_refused(TooManyPagesError)


def created(page_id: UUID, scope: str, parent_id: UUID) -> PageCreated:
    return PageCreated(
        originator_id=page_id,
        originator_version=1,
        scope=scope,
        parent_id=parent_id,
        name=text("A").ref,
    )
