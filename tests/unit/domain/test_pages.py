"""Creating and editing pages."""

import pytest
from msgspec import UNSET

from kbstore.access import load_configuration
from kbstore.domain.commands import ANY_VERSION, DeletePage, EditPage, MergePage
from kbstore.domain.declared import declared_pages
from kbstore.domain.events import CONFIG_AUTHOR, PageCreated, PageEdited, ReplacedRange
from kbstore.errors import (
    KeyTakenError,
    NestingTooDeepError,
    NotFoundError,
    ParentDeletedError,
    ParentNotFoundError,
    RoleTooWeakError,
    ScopePageError,
    ValidationError,
    VersionConflictError,
)
from kbstore.ids import declared_page_id
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.testing import KB, SCOPE, Story, body, given, nth_id, page, text
from tests.unit.domain.open_scopes import NO_ADDRESSES, OPEN

NOBODY = nth_id(999_999)
SCOPE_PAGE = declared_page_id(KB, SCOPE, (), 0)
POLICIES = declared_page_id(KB, SCOPE, ("policies",), 0)
REFUND = declared_page_id(KB, SCOPE, ("policies", "refund"), 0)
REFUND_BODY = "# Refunds\n\nWithin 30 days. See [the guide](../guide.md).\n"


def chain(levels: int) -> Story:
    """Pages one below the other; the last of them stands this many levels below the top."""
    pages = [
        page(f"Level {n}", parent=f"${n - 2}" if n > 1 else None) for n in range(1, levels + 1)
    ]
    return given(*pages)


# --- create ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("scope", "reason"), NO_ADDRESSES)
def test_a_scope_is_an_address(scope: str, reason: str) -> None:
    story = given(configured=load_configuration(OPEN, "toml"))
    story.when(page("A", scope=scope), held=[SCOPE]).then_refused(
        ValidationError, field="scope", reason=reason
    )


def test_a_scope_is_taken_in_nfc() -> None:
    story = given(configured=load_configuration(OPEN, "toml"))
    events = story.when(page("A", scope="open:acme:cafe\u0301"), held=[SCOPE]).events
    scopes = [event.scope for event in events if isinstance(event, PageCreated)]
    assert scopes == ["open:acme:caf\u00e9"] * 2


def test_the_first_page_writes_the_scope_page_before_it() -> None:
    outcome = given().when(page("Guide", key="guide", description="How", content="Text"))
    top, created = outcome.events
    assert isinstance(top, PageCreated)
    assert (top.originator_id, top.originator_version) == (SCOPE_PAGE, 1)
    assert (top.scope, top.parent_id, top.key) == (SCOPE, None, None)
    assert (top.template, top.author) == ("", CONFIG_AUTHOR)
    assert created == PageCreated(
        originator_id=outcome.decision.subjects[0].id,
        originator_version=1,
        scope=SCOPE,
        parent_id=SCOPE_PAGE,
        key="guide",
        name=text("Guide").ref,
        description=text("How").ref,
        body=body("Text").ref,
    )
    assert outcome.decision.subjects[0].created
    values = [prepared.value for prepared in outcome.decision.texts]
    assert values == ["acme", "What everyone at the organisation may read.", "Guide", "How", "Text"]


def test_the_second_page_writes_itself_alone() -> None:
    outcome = given(page("A")).when(page("B"))
    assert [type(event) for event in outcome.events] == [PageCreated]


def test_an_empty_description_is_none_and_an_empty_body_is_a_body() -> None:
    outcome = given(page("A")).when(page("B", description="", content=""))
    (created,) = outcome.events
    assert isinstance(created, PageCreated)
    assert created.description is None
    assert created.body == body("").ref
    assert [prepared.value for prepared in outcome.decision.texts] == ["B", ""]


def test_a_key_is_kept_in_nfc() -> None:
    (created,) = given(page("A")).when(page("B", key="cafe\u0301")).events
    assert isinstance(created, PageCreated)
    assert created.key == "caf\u00e9"


@pytest.mark.parametrize("key", ["", " ", ".", "..", "a/b", "a#b", "a%b", "a\tb", "k" * 101])
def test_a_key_that_no_path_can_hold_is_refused(key: str) -> None:
    given().when(page("A", key=key)).then_refused(ValidationError, field="key")


@pytest.mark.parametrize(
    ("taken", "wanted"), [("faq", "faq"), ("faq", "FAQ"), ("caf\u00e9", "CAFE\u0301")]
)
def test_sibling_keys_are_unique_folded(taken: str, wanted: str) -> None:
    story = given(page("A", key=taken))
    refusal = story.when(page("B", key=wanted)).then_refused(
        KeyTakenError, parentId=str(SCOPE_PAGE), pageId=str(story.id(0))
    )
    assert f"already exists under page {SCOPE_PAGE}. Keys are unique" in refusal.message


def test_other_parents_have_keys_of_their_own() -> None:
    given(page("A", key="a")).when(page("B", key="a", parent="$0")).story.store.check_tree()


def test_a_declared_page_holds_its_key_before_it_is_written() -> None:
    given().when(page("Mine", key="Policies")).then_refused(KeyTakenError, pageId=str(POLICIES))


def test_the_tenth_level_is_the_last() -> None:
    story = chain(NESTING_LEVELS_MAX - 1)
    deepest = story.when(page("Last", parent=f"${NESTING_LEVELS_MAX - 2}")).story
    assert len(deepest.store.ancestors(deepest.id(NESTING_LEVELS_MAX - 1))) == NESTING_LEVELS_MAX
    deepest.when(page("Too deep", parent=f"${NESTING_LEVELS_MAX - 1}")).then_refused(
        NestingTooDeepError, maximum=NESTING_LEVELS_MAX, levels=NESTING_LEVELS_MAX + 1
    )


def test_a_child_of_a_declared_page_writes_all_above_it() -> None:
    outcome = given().when(page("Late", parent=REFUND, key="late"))
    ids = [event.originator_id for event in outcome.events]
    assert ids == [SCOPE_PAGE, POLICIES, REFUND, outcome.decision.subjects[0].id]
    refund = outcome.events[2]
    assert isinstance(refund, PageCreated)
    assert (refund.template, refund.parent_id, refund.author) == (
        "policies/refund",
        POLICIES,
        CONFIG_AUTHOR,
    )
    assert refund.body is not None
    assert refund.body.lines == 4
    assert refund.links is not None
    assert refund.links.bound == ()
    named = {ref.text_id for ref in (refund.name, refund.body.text, refund.links.targets)}
    assert named <= {prepared.ref.text_id for prepared in outcome.decision.texts}
    assert declared_pages(outcome.story.store.configuration, KB, SCOPE, outcome.story.store) == ()


@pytest.mark.parametrize("scope", ["vault:acme", "org:other", "unknown:acme"])
def test_a_scope_that_is_hidden_or_undeclared_looks_absent(scope: str) -> None:
    refusal = given().when(page("A", scope=scope), held=["org:acme"]).then_refused(NotFoundError)
    assert refusal.message == f'Knowledge page "{scope}" not found.'
    assert refusal.details == {}


def test_an_undeclared_scope_is_absent_for_an_auditor_too() -> None:
    outcome = given().when(page("A", scope="unknown:acme"), held=[], grants=["auditor"])
    outcome.then_refused(NotFoundError)


def test_parents_that_are_missing_and_hidden_are_refused_alike() -> None:
    story = given(page("Secret", scope="vault:acme"))
    messages = set()
    for parent in (NOBODY, story.id(0)):
        refusal = story.when(page("A", parent=parent), held=["org:acme"]).then_refused(
            ParentNotFoundError, parentId=str(parent)
        )
        messages.add(refusal.message.replace(str(parent), "?"))
        assert set(refusal.details) == {"parentId"}
    assert messages == {'Knowledge page "?" not found.'}


def test_a_deleted_parent_is_told_to_those_who_may_see_the_deletion() -> None:
    story = given(page("A"), DeletePage(page="$0"))
    story.when(page("B", parent="$0")).then_refused(ParentDeletedError, parentId=str(story.id(0)))
    story.when(page("B", parent="$0"), held=["contributor:acme"]).then_refused(ParentNotFoundError)


def test_a_merged_parent_names_its_successor() -> None:
    story = given(page("A"), page("B"), MergePage(page="$0", into="$1"))
    story.when(page("C", parent="$0")).then_refused(
        ParentNotFoundError, mergedInto=str(story.id(1))
    )


def test_a_parent_in_another_scope_is_refused() -> None:
    story = given(page("A", scope="team:acme:support"))
    story.when(page("B", parent="$0")).then_refused(
        ValidationError, field="parent", reason="otherScope"
    )


# --- edit -----------------------------------------------------------------------------------


def test_an_edit_holds_the_fields_that_change_alone() -> None:
    story = given(page("A", description="d", content="one"))
    edit = EditPage(
        page="$0", expected_version=1, name=text("A"), description=text("d"), body=body("two")
    )
    outcome = story.when(edit)
    outcome.then(PageEdited(originator_id=story.id(0), originator_version=2, body=body("two").ref))
    assert [prepared.value for prepared in outcome.decision.texts] == ["two"]


def test_description_and_body_can_be_cleared() -> None:
    story = given(page("A", description="d", content="one"))
    story.when(EditPage(page="$0", description=text(""), body=None)).then(
        PageEdited(originator_id=story.id(0), originator_version=2, description=None, body=None)
    )
    page_now = story.when(EditPage(page="$0", description=None, body=None)).story.store.page(
        story.id(0)
    )
    assert page_now is not None
    assert (page_now.description, page_now.body) == (None, None)


@pytest.mark.parametrize(
    "edit",
    [
        EditPage(page="$0", expected_version=7, name=text("A")),
        EditPage(page="$0", expected_version=7, description=text("d")),
        EditPage(page="$0", expected_version=7, body=body("one")),
        EditPage(page="$0", name=text("A"), description=text("d"), body=body("one")),
        EditPage(page="$1", expected_version=7, description=None, body=None),
        EditPage(page="$1", expected_version=7, description=text("")),
    ],
)
def test_an_edit_that_changes_nothing_is_accepted_with_a_stale_version(edit: EditPage) -> None:
    given(page("A", description="d", content="one"), page("Empty")).when(edit).then_nothing()


def test_the_second_writer_of_a_version_gets_a_conflict() -> None:
    story = given(page("A", content="one"), EditPage(page="$0", body=body("two")))
    story.when(EditPage(page="$0", expected_version=1, body=body("three"))).then_refused(
        VersionConflictError, pageId=str(story.id(0)), expectedVersion=1, currentVersion=2
    )


@pytest.mark.parametrize("expected", [1, ANY_VERSION, None])
def test_versions_that_pass(expected: int | str | None) -> None:
    story = given(page("A"))
    story.when(EditPage(page="$0", expected_version=expected, name=text("B"))).then(
        PageEdited(originator_id=story.id(0), originator_version=2, name=text("B").ref)
    )


def test_a_range_is_information_and_the_body_is_whole() -> None:
    story = given(page("A", content="one\ntwo"))
    edit = EditPage(page="$0", expected_version=1, body=body("one\n2"), range=ReplacedRange(2, 2))
    story.when(edit).then(
        PageEdited(
            originator_id=story.id(0),
            originator_version=2,
            body=body("one\n2").ref,
            range=ReplacedRange(2, 2),
        )
    )


def test_a_range_with_a_stale_version_conflicts_even_if_it_changes_nothing() -> None:
    edit = EditPage(page="$0", expected_version=2, body=body("one"), range=ReplacedRange(1, 1))
    given(page("A", content="one")).when(edit).then_refused(VersionConflictError)
    edit = EditPage(page="$0", expected_version=1, body=body("one"), range=ReplacedRange(1, 1))
    given(page("A", content="one")).when(edit).then_nothing()


@pytest.mark.parametrize("expected", [None, ANY_VERSION])
def test_a_range_needs_a_version(expected: str | None) -> None:
    edit = EditPage(page="$0", expected_version=expected, body=body("x"), range=ReplacedRange(1, 1))
    given(page("A")).when(edit).then_refused(ValidationError, field="expectedVersion")


def test_a_range_needs_a_body() -> None:
    edit = EditPage(page="$0", expected_version=1, name=text("x"), range=ReplacedRange(1, 1))
    given(page("A")).when(edit).then_refused(ValidationError, field="body")


def test_an_edit_of_nothing_is_refused_in_the_words_of_reference_2() -> None:
    refusal = given(page("A")).when(EditPage(page="$0")).then_refused(ValidationError)
    assert refusal.message == "Editing a page needs at least one of name, description or body."


def test_only_the_body_of_a_scope_page_is_written() -> None:
    story = given()
    outcome = story.when(EditPage(page=SCOPE_PAGE, expected_version=0, body=body("Hello")))
    created, edited = outcome.events
    assert isinstance(created, PageCreated)
    assert edited == PageEdited(
        originator_id=SCOPE_PAGE, originator_version=2, body=body("Hello").ref
    )
    for edit in (
        EditPage(page=SCOPE_PAGE, name=text("Mine")),
        EditPage(page=SCOPE_PAGE, description=text("Mine"), body=body("x")),
    ):
        for told in (story, outcome.story):
            refusal = told.when(edit).then_refused(ScopePageError, scope=SCOPE)
            assert "name and description come from config" in refusal.message


def test_a_declared_page_is_edited_from_version_0() -> None:
    story = given()
    edit = EditPage(page=REFUND, expected_version=0, name=text("Money back"))
    after = story.when(edit).story
    refund = after.store.page(REFUND)
    assert refund is not None
    assert (refund.name, refund.version, refund.description) == (
        "Money back",
        2,
        "When money goes back.",
    )
    after.when(EditPage(page=REFUND, expected_version=0, name=text("Other"))).then_refused(
        VersionConflictError, expectedVersion=0, currentVersion=2
    )
    story.when(EditPage(page=REFUND, expected_version=1, name=text("Other"))).then_refused(
        VersionConflictError, expectedVersion=1, currentVersion=0
    )


@pytest.mark.parametrize(
    "edit",
    [
        EditPage(page=REFUND, name=text("Refunds")),
        EditPage(page=REFUND, description=text("When money goes back.")),
        EditPage(page=REFUND, body=body(REFUND_BODY)),
        EditPage(page=POLICIES, body=None, description=None),
        EditPage(page=SCOPE_PAGE, body=None, name=text("acme")),
    ],
)
def test_an_edit_that_leaves_a_declared_page_as_declared_writes_nothing(edit: EditPage) -> None:
    given().when(edit).then_nothing()


def test_pages_that_are_missing_hidden_or_gone_are_refused_alike() -> None:
    story = given(page("Secret", scope="vault:acme"), page("Gone"), DeletePage(page="$1"))
    for page_id in (NOBODY, story.id(0), story.id(1)):
        refusal = story.when(EditPage(page=page_id, name=text("x")), held=["org:acme"])
        error = refusal.then_refused(NotFoundError)
        assert error.message == f'Knowledge page "{page_id}" not found.'
        assert error.details == {}


def test_a_merged_page_names_its_successor_where_that_is_readable() -> None:
    story = given(
        page("A"),
        page("B"),
        page("Vault", scope="vault:acme"),
        MergePage(page="$0", into="$1"),
        MergePage(page="$1", into="$2"),
    )
    edit = EditPage(page="$0", name=text("x"))
    story.when(edit).then_refused(NotFoundError, mergedInto=str(story.id(2)))
    refusal = story.when(edit, held=["org:acme"]).then_refused(NotFoundError)
    assert refusal.details == {}


def test_a_role_that_is_too_weak_is_told_before_what_else_is_wrong() -> None:
    story = given(page("A"))
    refusal = story.when(EditPage(page="$0", expected_version=9), held=["viewer:acme"])
    error = refusal.then_refused(RoleTooWeakError, scope=SCOPE, needed="editor", actual="viewer")
    assert error.message == 'Editing a page needs editor on "org:acme"; this run has viewer there.'


def test_an_erased_text_equals_nothing() -> None:
    story = given(page("A", content="one"))
    story.store.erase(body("one").ref.text)
    (edited,) = story.when(EditPage(page="$0", body=body("one"))).events
    assert isinstance(edited, PageEdited)
    assert edited.body is not UNSET


def test_folded_body_links_come_with_the_body() -> None:
    story = given(page("Guide", key="guide"), page("A"))
    (edited,) = story.when(EditPage(page="$1", body=body("[[Guide]] and [[Nobody]]"))).events
    assert isinstance(edited, PageEdited)
    assert edited.links is not None
    assert edited.links.bound == ((0, story.id(0)),)
    (renamed,) = story.when(EditPage(page="$1", name=text("B"))).events
    assert isinstance(renamed, PageEdited)
    assert renamed.links is None
