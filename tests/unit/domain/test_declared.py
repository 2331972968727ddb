"""Declared pages: where they stand, what ids they have, and which live pages count as one."""

import msgspec
import pytest

from kbstore.domain.commands import (
    AddNote,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    RestorePage,
    SetPin,
)
from kbstore.domain.deciding import decide
from kbstore.domain.declared import DeclaredPage, declared_pages, nothing_declared
from kbstore.domain.events import NoteAdded, PageCreated, PinSet
from kbstore.errors import KeyTakenError, NotFoundError, PageDeclaredError
from kbstore.ids import declared_page_id
from kbstore.testing import (
    CONFIGURATION,
    KB,
    SCOPE,
    Story,
    body,
    configure,
    given,
    note_text,
    page,
    text,
)

SCOPE_PAGE = declared_page_id(KB, SCOPE, (), 0)
POLICIES = declared_page_id(KB, SCOPE, ("policies",), 0)
POLICIES_AGAIN = declared_page_id(KB, SCOPE, ("policies",), 1)
REFUND = declared_page_id(KB, SCOPE, ("policies", "refund"), 0)

BARE = (
    CONFIGURATION[: CONFIGURATION.index("[[scopes")]
    + (CONFIGURATION[CONFIGURATION.index('[scopes."team') :])
)
"""The same scopes without template pages."""


def unwritten(story: Story, scope: str = SCOPE) -> tuple[DeclaredPage, ...]:
    return declared_pages(story.store.configuration, KB, scope, story.store)


def test_a_scope_nobody_wrote_in_has_all_its_declared_pages() -> None:
    top, policies, refund = unwritten(given())
    assert (top.page_id, top.path, top.parent_id, top.name) == (SCOPE_PAGE, (), None, "acme")
    assert (policies.page_id, policies.parent_id, policies.body) == (POLICIES, SCOPE_PAGE, None)
    assert (refund.page_id, refund.parent_id, refund.template) == (
        REFUND,
        POLICIES,
        "policies/refund",
    )
    state = refund.state
    assert (state.version, state.key, state.is_virtual, state.is_live) == (0, "refund", True, True)
    assert (state.name, state.description) == ("Refunds", "When money goes back.")


def test_written_ones_are_left_out_and_undeclared_scopes_have_none() -> None:
    story = given(EditPage(page=POLICIES, body=body("x")))
    assert [declared.page_id for declared in unwritten(story)] == [REFUND]
    assert unwritten(story, "unknown:acme") == ()


@pytest.mark.parametrize("key", ["policies", "Policies"])
def test_a_declared_key_that_an_ordinary_page_holds_adopts_it(key: str) -> None:
    before = given(configure(BARE), page("Rules", key=key))
    assert before.when(DeletePage(page="$1")).events
    story = before.after(configure(CONFIGURATION))
    (refund,) = unwritten(story)
    # Its parent is the page that was adopted, so it is the same template at the same place.
    assert (refund.page_id, refund.parent_id) == (REFUND, story.id(1))
    story.when(DeletePage(page="$1")).then_refused(PageDeclaredError)
    story.when(MovePage(page="$1", key="rules")).then_refused(PageDeclaredError)
    (created, note) = story.when(AddNote(page=REFUND, text=note_text("n"), stamps=(SCOPE,))).events
    assert isinstance(created, PageCreated)
    assert isinstance(note, NoteAdded)
    assert (created.parent_id, created.template) == (story.id(1), "policies/refund")


def test_dropping_a_declaration_turns_written_pages_into_ordinary_ones() -> None:
    story = given(EditPage(page=REFUND, body=body("x")), configure(BARE))
    assert unwritten(story) == ()
    assert story.when(MovePage(page=REFUND, key="money")).events
    assert story.when(DeletePage(page=POLICIES, subtree=True)).events


def test_dropping_a_declaration_takes_away_what_was_not_written() -> None:
    story = given(configure(BARE))
    story.when(EditPage(page=REFUND, body=body("x"))).then_refused(NotFoundError)


def test_a_page_that_left_its_place_never_shares_its_id_with_the_next() -> None:
    story = given(
        EditPage(page=POLICIES, body=body("first")),
        configure(BARE),
        MovePage(page=POLICIES, key="old"),
        configure(CONFIGURATION),
    )
    policies = unwritten(story)[0]
    assert (policies.page_id, policies.occurrence) == (POLICIES_AGAIN, 1)
    after = story.when(EditPage(page=POLICIES_AGAIN, body=body("second"))).story
    first, second = after.store.page(POLICIES), after.store.page(POLICIES_AGAIN)
    assert first is not None
    assert second is not None
    assert (first.key, second.key) == ("old", "policies")
    assert after.when(MovePage(page=POLICIES, key="older")).events


def test_a_deleted_template_page_does_not_come_back_over_its_successor() -> None:
    story = given(
        EditPage(page=POLICIES, body=body("first")),
        configure(BARE),
        DeletePage(page=POLICIES),
        configure(CONFIGURATION),
    )
    assert unwritten(story)[0].page_id == POLICIES_AGAIN
    story.when(RestorePage(page=POLICIES)).then_refused(KeyTakenError, pageId=str(POLICIES_AGAIN))
    assert story.when(RestorePage(page=POLICIES, key="first")).events


def test_a_restored_subtree_is_not_measured_by_its_old_place() -> None:
    story = given(
        EditPage(page=REFUND, body=body("first")),
        configure(BARE),
        DeletePage(page=POLICIES, subtree=True),
    )
    deletion = story.store.revision
    story = story.after(configure(CONFIGURATION))
    restore = RestorePage(page=POLICIES, deletion=deletion, key="archive")
    after = story.when(restore).story
    refund = after.store.page(REFUND)
    assert refund is not None
    assert after.store.key_path(refund) == ("archive", "refund")


def test_the_declared_answer_of_an_older_state_is_not_believed() -> None:
    story = given(
        EditPage(page=POLICIES, body=body("first")),
        configure(BARE),
        MovePage(page=POLICIES, key="old"),
    )
    stale = given().context().declared
    for configured in (story, story.after(configure(CONFIGURATION))):
        context = msgspec.structs.replace(configured.context(), declared=stale)
        assert stale(REFUND) is not None
        if configured is story:
            with pytest.raises(NotFoundError):
                decide(EditPage(page=REFUND, body=body("x")), context)
        else:
            assert decide(EditPage(page=REFUND, body=body("x")), context).changed


def test_the_id_of_a_declared_page_is_not_that_of_the_page_adopted_in_its_place() -> None:
    story = given(configure(BARE), page("Rules", key="policies"), configure(CONFIGURATION))
    stale = given().context().declared
    assert stale(POLICIES) is not None
    context = msgspec.structs.replace(story.context(), declared=stale)
    with pytest.raises(NotFoundError):
        decide(EditPage(page=POLICIES, body=body("x")), context)


def test_a_stale_id_names_no_page() -> None:
    story = given(
        EditPage(page=POLICIES, body=body("first")),
        configure(BARE),
        MergePage(page=POLICIES, into=SCOPE_PAGE),
        configure(CONFIGURATION),
    )
    story.when(EditPage(page=POLICIES, body=body("x"))).then_refused(
        NotFoundError, mergedInto=str(SCOPE_PAGE)
    )


def test_nothing_is_declared_by_default() -> None:
    assert nothing_declared(POLICIES) is None


def test_pins_and_notes_write_the_page_first() -> None:
    for command, last in (
        (SetPin(page=REFUND, kind="list", audience=(SCOPE,), depth=2), PinSet),
        (AddNote(page=REFUND, text=note_text("n"), stamps=(SCOPE,)), NoteAdded),
    ):
        outcome = given().when(command)
        kinds = [type(event) for event in outcome.events]
        assert kinds == [PageCreated, PageCreated, PageCreated, last]
        ids = [event.originator_id for event in outcome.events[:3]]
        assert ids == [SCOPE_PAGE, POLICIES, REFUND]


def test_a_hidden_declared_page_looks_absent() -> None:
    top = declared_page_id(KB, "vault:acme", (), 0)
    story = given()
    edit = EditPage(page=top, body=body("x"))
    assert story.when(edit, held=["vault:acme"]).events
    story.when(edit, held=[SCOPE]).then_refused(NotFoundError)


def test_names_come_from_the_declaration_at_the_first_write() -> None:
    outcome = given().when(EditPage(page=REFUND, name=text("Money back")))
    created = outcome.events[2]
    assert isinstance(created, PageCreated)
    values = {prepared.ref: prepared.value for prepared in outcome.decision.texts}
    assert values[created.name] == "Refunds"
    assert created.body is not None
    assert values[created.body.text].startswith("# Refunds")
