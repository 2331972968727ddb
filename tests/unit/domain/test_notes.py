"""Adding, restamping and removing notes."""

import pytest

from kbstore.domain.commands import AddNote, DeletePage, RemoveNote, RestampNote
from kbstore.domain.events import NoteAdded, NoteRemoved, NoteRestamped
from kbstore.errors import NotFoundError, RoleTooWeakError, ValidationError
from kbstore.limits import NOTE_STAMPS_MAX
from kbstore.testing import SCOPE, Story, given, note_text, nth_id, page

TEAM = "team:acme:support"
VAULT = "vault:acme"


def noted(*stamps: str) -> Story:
    """A page with a note of these stamps."""
    return given(page("A"), AddNote(page="$0", text=note_text("n"), stamps=stamps or (SCOPE,)))


def add(*stamps: str, when: str | None = None) -> AddNote:
    return AddNote(page="$0", text=note_text("A fact"), stamps=stamps, when=when)


def restamp(story: Story, *stamps: str) -> RestampNote:
    return RestampNote(note=story.store.notes(story.id(0), 1)[0].note_id, stamps=stamps)


def remove(story: Story) -> RemoveNote:
    return RemoveNote(note=story.store.notes(story.id(0), 1)[0].note_id)


# --- add ------------------------------------------------------------------------------------


def test_a_note_is_added() -> None:
    story = given(page("A"))
    outcome = story.when(add(SCOPE, TEAM, when="2026-10-29"))
    subject = outcome.decision.subjects[0]
    assert (subject.kind, subject.created) == ("note", True)
    after = outcome.then(
        NoteAdded(
            originator_id=subject.id,
            originator_version=1,
            page_id=story.id(0),
            text=note_text("A fact").ref,
            stamps=(SCOPE, TEAM),
            when="2026-10-29",
        )
    )
    current = after.store.page(story.id(0))
    assert current is not None
    assert current.version == 1
    assert [prepared.value for prepared in outcome.decision.texts] == ["A fact"]


def test_links_of_a_note_are_bound_from_its_page() -> None:
    story = given(
        page("A", key="a"), page("B", parent="$0", key="b"), page("C", parent="$0", key="c")
    )
    note = AddNote(page="$1", text=note_text("[x](c.md) [[A]]"), stamps=(SCOPE,))
    outcome = story.when(note)
    (added,) = outcome.events
    assert isinstance(added, NoteAdded)
    assert added.links is not None
    assert set(added.links.bound) == {(0, story.id(2)), (1, story.id(0))}
    assert len(outcome.decision.texts) == 2


@pytest.mark.parametrize(
    "when",
    ["2026-10-29", "2024-02-29", "2026-10-29T14:30:00Z", "2026-10-29T14:30:00.5+02:00"],
)
def test_times_a_note_takes(when: str) -> None:
    assert given(page("A")).when(add(SCOPE, when=when)).events


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("", "notATime"),
        ("2026", "notATime"),
        ("2026-10", "notATime"),
        ("20261029", "notATime"),
        ("2026-W44-4", "notATime"),
        ("2026-13-01", "notATime"),
        ("2026-02-30", "notATime"),
        ("2026-10-29T14:30:00", "zoneMissing"),
        ("yesterday", "notATime"),
        (" 2026-10-29", "notATime"),
        ("２０２６-10-29", "notATime"),
    ],
)
def test_times_a_note_does_not_take(when: str, reason: str) -> None:
    refused = given(page("A")).when(add(SCOPE, when=when))
    refusal = refused.then_refused(ValidationError, field="when", reason=reason, given=when)
    assert "a date, such as 2026-10-29, or a time with a zone" in refusal.message


def test_stamps_are_needed_limited_and_different() -> None:
    many = tuple(f"team:acme:{n}" for n in range(NOTE_STAMPS_MAX + 1))
    story = given(page("A"))
    assert story.when(add(*many[1:])).events
    story.when(add(*many)).then_refused(
        ValidationError, field="scope", reason="tooMany", limit=NOTE_STAMPS_MAX
    )
    story.when(add(TEAM, TEAM)).then_refused(ValidationError, field="scope", reason="duplicate")
    story.when(add("team:acme:caf\u00e9", "team:acme:cafe\u0301")).then_refused(
        ValidationError, reason="duplicate"
    )
    story.when(add("support")).then_refused(ValidationError, field="scope", reason="malformed")
    refusal = story.when(add()).then_refused(ValidationError, field="scope", reason="missing")
    assert refusal.message == "Adding a note needs scope: the stamp scopes."


@pytest.mark.parametrize("stamp", [VAULT, "role:acme:sales", "unknown:acme"])
def test_a_stamp_that_is_hidden_or_undeclared_looks_absent(stamp: str) -> None:
    refusal = given(page("A")).when(add(SCOPE, stamp), held=[SCOPE]).then_refused(NotFoundError)
    assert refusal.message == f'Knowledge page "{stamp}" not found.'
    assert refusal.details == {}


def test_adding_needs_a_contributor_on_page_and_stamps() -> None:
    story = given(page("A"))
    weak = story.when(add(TEAM), held=["viewer:acme"]).then_refused(RoleTooWeakError, scope=SCOPE)
    assert weak.message == (
        'Adding a note needs contributor on "org:acme"; this run has viewer there.'
    )
    vault = given(page("V", scope=VAULT))
    vault.when(add(SCOPE), held=[VAULT, "viewer:acme"]).then_refused(RoleTooWeakError, scope=SCOPE)
    assert vault.when(add(SCOPE), held=[VAULT, "contributor:acme"]).events


def test_a_page_that_is_gone_takes_no_note() -> None:
    given(page("A"), DeletePage(page="$0")).when(add(SCOPE)).then_refused(NotFoundError)


# --- restamp --------------------------------------------------------------------------------


def test_stamps_are_replaced() -> None:
    story = noted(SCOPE)
    note = story.store.notes(story.id(0), 1)[0]
    story.when(restamp(story, TEAM)).then(
        NoteRestamped(originator_id=note.note_id, originator_version=2, stamps=(TEAM,))
    )


def test_the_same_stamps_change_nothing() -> None:
    story = noted(SCOPE, TEAM)
    story.when(restamp(story, TEAM, SCOPE)).then_nothing()


def test_stamps_the_caller_cannot_read_stay_and_do_not_show() -> None:
    story = noted(SCOPE, VAULT)
    story.when(restamp(story, SCOPE), held=[SCOPE]).then_nothing()
    (restamped,) = story.when(restamp(story, TEAM), held=[SCOPE]).events
    assert isinstance(restamped, NoteRestamped)
    assert restamped.stamps == (TEAM, VAULT)
    (restamped,) = story.when(restamp(story, TEAM)).events
    assert isinstance(restamped, NoteRestamped)
    assert restamped.stamps == (TEAM,)


def test_hidden_stamps_do_not_count_for_the_limit() -> None:
    story = noted(SCOPE, VAULT)
    teams = [f"team:acme:{n}" for n in range(NOTE_STAMPS_MAX)]
    (restamped,) = story.when(restamp(story, *teams), held=[SCOPE]).events
    assert isinstance(restamped, NoteRestamped)
    assert restamped.stamps == (*teams, VAULT)


def test_restamping_needs_an_editor_and_a_contributor_on_new_stamps() -> None:
    story = noted(SCOPE)
    weak = story.when(restamp(story, TEAM), held=["contributor:acme"])
    assert weak.then_refused(RoleTooWeakError).message == (
        'Restamping a note needs editor on "org:acme"; this run has contributor there.'
    )
    vault = given(page("V", scope=VAULT), AddNote(page="$0", text=note_text("n"), stamps=(SCOPE,)))
    held = [VAULT, "viewer:acme"]
    vault.when(restamp(vault, TEAM), held=held).then_refused(RoleTooWeakError, scope=TEAM)
    # A stamp the note already has is not new.
    assert vault.when(restamp(vault, SCOPE, VAULT), held=held).events


@pytest.mark.parametrize("stamps", [(), (TEAM, TEAM), ("unknown:acme",)])
def test_restamping_checks_the_stamps(stamps: tuple[str, ...]) -> None:
    story = noted()
    kind = NotFoundError if stamps == ("unknown:acme",) else ValidationError
    story.when(restamp(story, *stamps)).then_refused(kind)


# --- remove, and what is absent -------------------------------------------------------------


def test_a_note_is_removed_once() -> None:
    story = noted()
    command = remove(story)
    after = story.when(command).then(NoteRemoved(originator_id=command.note, originator_version=2))
    refusal = after.when(command).then_refused(NotFoundError)
    assert refusal.message == f'Knowledge note "{command.note}" not found.'


def test_removing_needs_an_editor() -> None:
    story = noted()
    weak = story.when(remove(story), held=["contributor:acme"]).then_refused(RoleTooWeakError)
    assert weak.message == (
        'Removing a note needs editor on "org:acme"; this run has contributor there.'
    )


def test_notes_that_are_missing_or_hidden_are_refused_alike() -> None:
    by_stamp = noted(VAULT)
    by_page = given(
        page("V", scope=VAULT), AddNote(page="$0", text=note_text("n"), stamps=(SCOPE,))
    )
    gone = noted()
    gone_note = remove(gone).note
    gone = gone.after(DeletePage(page="$0"))
    for story, note in (
        (by_stamp, remove(by_stamp).note),
        (by_page, remove(by_page).note),
        (gone, gone_note),
        (gone, nth_id(999)),
    ):
        for command in (RemoveNote(note=note), RestampNote(note=note, stamps=(SCOPE,))):
            refusal = story.when(command, held=[SCOPE]).then_refused(NotFoundError)
            assert refusal.message == f'Knowledge note "{note}" not found.'
            assert refusal.details == {}
