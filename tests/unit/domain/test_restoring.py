"""Restoring pages."""

import pytest

from kbstore.domain.commands import (
    AddNote,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    RestorePage,
)
from kbstore.domain.events import PageCreated, PageEdited, PageRestored
from kbstore.errors import (
    KeyTakenError,
    NestingTooDeepError,
    NotFoundError,
    ParentDeletedError,
    ParentNotFoundError,
    RevisionNotReachedError,
    RoleTooWeakError,
    ValidationError,
    VersionConflictError,
)
from kbstore.ids import declared_page_id
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.testing import KB, SCOPE, Story, body, given, note_text, nth_id, page, text

SCOPE_PAGE = declared_page_id(KB, SCOPE, (), 0)
POLICIES = declared_page_id(KB, SCOPE, ("policies",), 0)
TEAM = "team:acme:support"
VAULT = "vault:acme"


def edited_thrice() -> Story:
    """Version 1: A/one; 2: A/two; 3: B/two with a description; revisions alike."""
    return given(
        page("A", content="one"),
        EditPage(page="$0", body=body("two [[B]]")),
        EditPage(page="$0", name=text("B"), description=text("d")),
    )


def deleted_family() -> Story:
    """a/b/c, deleted together by revision 4."""
    return given(
        page("A", key="a"),
        page("B", key="b", parent="$0"),
        page("C", key="c", parent="$1"),
        DeletePage(page="$0", subtree=True),
    )


# --- live pages -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "restore", [RestorePage(page="$0", version=1), RestorePage(page="$0", revision=1)]
)
def test_an_earlier_content_comes_back_as_a_new_version(restore: RestorePage) -> None:
    story = edited_thrice()
    outcome = story.when(restore)
    after = outcome.then(
        PageEdited(
            originator_id=story.id(0),
            originator_version=4,
            name=text("A").ref,
            description=None,
            body=body("one").ref,
            restored_version=1,
        )
    )
    assert outcome.decision.texts == ()
    now = after.store.page(story.id(0))
    assert now is not None
    assert (now.name, now.description, now.version) == ("A", None, 4)


def test_only_what_differs_is_edited_and_links_come_with_the_body() -> None:
    story = edited_thrice()
    story.when(RestorePage(page="$0", version=2)).then(
        PageEdited(
            originator_id=story.id(0),
            originator_version=4,
            name=text("A").ref,
            description=None,
            restored_version=2,
        )
    )
    story = story.after(EditPage(page="$0", body=body("three")))
    (edited,) = story.when(RestorePage(page="$0", version=3)).events
    assert isinstance(edited, PageEdited)
    two = story.store.page_at_version(story.id(0), 2)
    assert two is not None
    assert (edited.body, edited.links) == (two.body, two.links)
    assert edited.links is not None


def test_the_content_a_page_has_is_no_change() -> None:
    story = edited_thrice()
    story.when(RestorePage(page="$0", version=3, expected_version=1)).then_nothing()
    back = story.after(EditPage(page="$0", body=body("one"), name=text("A"), description=None))
    back.when(RestorePage(page="$0", version=1, expected_version=1)).then_nothing()


def test_a_stale_version_conflicts() -> None:
    story = edited_thrice()
    story.when(RestorePage(page="$0", version=1, expected_version=2)).then_refused(
        VersionConflictError, currentVersion=3
    )


@pytest.mark.parametrize(
    ("restore", "field", "reason"),
    [
        (RestorePage(page="$0"), "version", "missing"),
        (RestorePage(page="$0", version=1, revision=1), "version", "exclusive"),
        (RestorePage(page="$0", version=1, deletion=1), "version", "exclusive"),
        (RestorePage(page="$0", deletion=1), "deletion", "notDeleted"),
        (RestorePage(page="$0", version=1, parent=None), "parent", "notDeleted"),
        (RestorePage(page="$0", version=1, key="k"), "key", "notDeleted"),
        (RestorePage(page="$0", version=9), "version", "unknown"),
        (RestorePage(page="$0", version=0), "version", "unknown"),
        (RestorePage(page="$0", revision=0), "revision", "unknown"),
    ],
)
def test_what_cannot_be_restored(restore: RestorePage, field: str, reason: str) -> None:
    edited_thrice().when(restore).then_refused(ValidationError, field=field, reason=reason)


def test_a_revision_beyond_the_head_is_not_reached() -> None:
    edited_thrice().when(RestorePage(page="$0", revision=4)).then_refused(
        RevisionNotReachedError, revision=4, activeContentRevision=3
    )


def test_only_the_body_of_a_scope_page_goes_back() -> None:
    story = given(
        EditPage(page=SCOPE_PAGE, body=body("one")), EditPage(page=SCOPE_PAGE, body=body("two"))
    )
    story.when(RestorePage(page=SCOPE_PAGE, version=2)).then(
        PageEdited(
            originator_id=SCOPE_PAGE,
            originator_version=4,
            body=body("one").ref,
            restored_version=2,
        )
    )


def test_an_unwritten_page_has_nothing_to_go_back_to() -> None:
    given().when(RestorePage(page=POLICIES, version=0)).then_refused(ValidationError)


def test_a_content_of_a_scope_the_caller_cannot_read_stays_there() -> None:
    story = given(
        page("Secret", scope="vault:acme", content="secret"),
        EditPage(page="$0", body=body("harmless")),
        MovePage(page="$0", scope=SCOPE),
    )
    for restore in (RestorePage(page="$0", version=1), RestorePage(page="$0", revision=1)):
        story.when(restore, held=[SCOPE]).then_refused(ValidationError, reason="unknown")
        assert story.when(restore).events


@pytest.mark.parametrize(("first", "then"), [(SCOPE, VAULT), (VAULT, SCOPE)])
def test_a_version_that_stood_in_a_readable_scope_comes_back(first: str, then: str) -> None:
    """A page follows those above it, and one version of it then stands in several scopes."""
    story = given(
        page("Parent", scope=first),
        page("Child", scope=first, parent="$0", content="one"),
        MovePage(page="$0", scope=then),
        EditPage(page="$1", body=body("two")),
        MovePage(page="$0", scope=SCOPE),
    )
    (back,) = story.when(RestorePage(page="$1", version=1), held=[SCOPE]).events
    assert isinstance(back, PageEdited)
    assert back.body == body("one").ref
    # At a revision it stood in one scope alone.
    at = RestorePage(page="$1", revision=2)
    if first == VAULT:
        story.when(at, held=[SCOPE]).then_refused(ValidationError, reason="unknown")
    assert story.when(at).events
    ended = story.after(DeletePage(page="$1"))
    assert ended.when(RestorePage(page="$1", version=1), held=[SCOPE]).events


def test_a_version_that_stood_in_hidden_scopes_alone_stays_there() -> None:
    story = given(
        page("Parent", scope=VAULT),
        page("Child", scope=VAULT, parent="$0", content="one"),
        EditPage(page="$1", body=body("two")),
        MovePage(page="$0", scope=SCOPE),
    )
    story.when(RestorePage(page="$1", version=1), held=[SCOPE]).then_refused(
        ValidationError, reason="unknown"
    )


def test_what_one_commit_wrote_and_moved_stood_only_where_it_came_to_stand() -> None:
    story = given(page("Parent", scope=VAULT), page("Child", scope=VAULT, parent="$0"))
    edit = EditPage(page="$1", body=body("unseen"))
    story = story.when(edit, MovePage(page="$0", scope=SCOPE)).story
    assert story.store.scopes_of_version(story.id(1), 1) == {VAULT}
    assert story.store.scopes_of_version(story.id(1), 2) == {SCOPE}


@pytest.mark.parametrize("role", ["contributor", "editor"])
def test_rewinding_needs_an_owner(role: str) -> None:
    refusal = edited_thrice().when(RestorePage(page="$0", version=1), held=[f"{role}:acme"])
    assert refusal.then_refused(RoleTooWeakError).message == (
        f'Restoring a page needs owner on "org:acme"; this run has {role} there.'
    )


# --- one deleted page -----------------------------------------------------------------------


def test_a_deleted_page_comes_back_with_its_newest_content() -> None:
    story = given(page("A", key="a", content="one", description="d"), DeletePage(page="$0"))
    outcome = story.when(RestorePage(page="$0", expected_version=2))
    outcome.then(
        PageRestored(
            originator_id=story.id(0),
            originator_version=3,
            scope=SCOPE,
            parent_id=SCOPE_PAGE,
            key="a",
            name=text("A").ref,
            description=text("d").ref,
            body=body("one").ref,
            restored_version=1,
        )
    )
    assert outcome.decision.texts == ()


def test_an_earlier_content_brings_it_back_too() -> None:
    story = edited_thrice().after(DeletePage(page="$0"))
    for restore in (RestorePage(page="$0", version=1), RestorePage(page="$0", revision=1)):
        (restored,) = story.when(restore).events
        assert isinstance(restored, PageRestored)
        assert (restored.restored_version, restored.name) == (1, text("A").ref)
    (restored,) = story.when(RestorePage(page="$0", version=4)).events
    assert isinstance(restored, PageRestored)
    assert restored.restored_version == 3


def test_notes_alive_at_the_deletion_are_there_again() -> None:
    story = given(
        page("A"), AddNote(page="$0", text=note_text("n"), stamps=(SCOPE,)), DeletePage(page="$0")
    )
    after = story.when(RestorePage(page="$0")).story
    assert len(after.store.notes(story.id(0), 9)) == 1


def test_it_may_come_back_elsewhere() -> None:
    story = given(page("A", key="a"), page("P"), page("T", scope=TEAM), DeletePage(page="$0"))
    for parent, scope in (("$1", SCOPE), ("$2", TEAM)):
        (restored,) = story.when(RestorePage(page="$0", parent=parent, key=None)).events
        assert isinstance(restored, PageRestored)
        assert (restored.scope, restored.key) == (scope, None)
    created = story.when(RestorePage(page="$0", parent=POLICIES, key="old")).events
    assert [type(event) for event in created] == [PageCreated, PageRestored]


def test_the_scope_page_takes_it_when_the_parent_is_none() -> None:
    story = deleted_family()
    (restored,) = story.when(RestorePage(page="$2", parent=None)).events
    assert isinstance(restored, PageRestored)
    assert restored.parent_id == SCOPE_PAGE


def test_a_gone_parent_is_refused_with_a_hint() -> None:
    story = deleted_family()
    refusal = story.when(RestorePage(page="$1")).then_refused(
        ParentDeletedError, parentId=str(story.id(0))
    )
    assert refusal.details["hint"] == "Restore the parent first, or name another parent."


def test_a_merged_parent_is_not_found_but_named() -> None:
    story = given(
        page("A"),
        page("B", parent="$0"),
        page("C"),
        DeletePage(page="$1"),
        MergePage(page="$0", into="$2"),
    )
    story.when(RestorePage(page="$1")).then_refused(
        ParentNotFoundError, mergedInto=str(story.id(2))
    )


def test_a_taken_key_is_refused() -> None:
    story = given(page("A", key="a"), DeletePage(page="$0"), page("Next", key="A"))
    story.when(RestorePage(page="$0")).then_refused(KeyTakenError, pageId=str(story.id(2)))
    assert story.when(RestorePage(page="$0", key="a-2")).events
    story.when(RestorePage(page="$0", key="a/2")).then_refused(ValidationError, field="key")


def test_a_place_too_deep_is_refused() -> None:
    low = [page("L0")] + [page(f"L{n}", parent=f"${n - 1}") for n in range(1, NESTING_LEVELS_MAX)]
    story = given(*low, page("A"), DeletePage(page=f"${NESTING_LEVELS_MAX}"))
    restore = RestorePage(page=f"${NESTING_LEVELS_MAX}", parent=f"${NESTING_LEVELS_MAX - 1}")
    story.when(restore).then_refused(NestingTooDeepError)
    restore = RestorePage(page=f"${NESTING_LEVELS_MAX}", parent=f"${NESTING_LEVELS_MAX - 2}")
    assert story.when(restore).events


def test_the_version_expected_is_that_of_the_deletion() -> None:
    story = given(page("A"), DeletePage(page="$0"))
    story.when(RestorePage(page="$0", expected_version=1)).then_refused(
        VersionConflictError, expectedVersion=1, currentVersion=2
    )


def test_deleted_pages_are_absent_for_all_but_owners_and_auditors() -> None:
    story = given(page("A"), DeletePage(page="$0"))
    refusal = story.when(RestorePage(page="$0"), held=["editor:acme"]).then_refused(NotFoundError)
    assert refusal.details == {}
    story.when(RestorePage(page=nth_id(999)), held=["editor:acme"]).then_refused(NotFoundError)
    story.when(RestorePage(page="$0"), held=[], grants=["auditor"]).then_refused(
        RoleTooWeakError, actual="auditor"
    )


def test_another_scope_needs_an_owner_as_a_move_there_does() -> None:
    story = given(page("V", scope="vault:acme"), page("A"), DeletePage(page="$0"))
    restore = RestorePage(page="$0", parent="$1")
    for role in ("viewer", "contributor", "editor"):
        weak = story.when(restore, held=["vault:acme", f"{role}:acme"])
        weak.then_refused(RoleTooWeakError, scope=SCOPE, needed="owner")
    assert story.when(restore, held=["vault:acme", SCOPE]).events
    story.when(restore, held=["vault:acme"]).then_refused(ParentNotFoundError)


def test_a_merged_page_does_not_come_back() -> None:
    story = given(page("A"), page("B"), MergePage(page="$0", into="$1"))
    for restore in (RestorePage(page="$0"), RestorePage(page="$0", version=1)):
        story.when(restore).then_refused(NotFoundError, mergedInto=str(story.id(1)))
