"""The role table of reference 2, cell by cell."""

import pytest

from kbstore.domain.commands import (
    AddNote,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    PageOperation,
    RemoveNote,
    RemovePin,
    RestampNote,
    RestorePage,
    SetPin,
)
from kbstore.errors import NotFoundError, RoleTooWeakError
from kbstore.testing import SCOPE, Story, body, given, note_text, page, text

TEAM = "team:acme:support"

HELD = {
    "none": (),
    "viewer": ("viewer:acme",),
    "contributor": ("contributor:acme",),
    "editor": ("editor:acme",),
    "owner": (SCOPE,),
}
"""What a run holds to have the role on `org:acme` and on its teams."""

ORDER = list(HELD)


def story() -> Story:
    return given(
        page("A", content="one"),
        page("B"),
        page("Gone"),
        page("Team", scope=TEAM),
        EditPage(page="$0", body=body("two")),
        DeletePage(page="$2"),
        AddNote(page="$0", text=note_text("n"), stamps=(SCOPE,)),
        SetPin(page="$0", kind="page", audience=(TEAM,)),
    )


STORY = story()
NOTE = STORY.store.notes(STORY.id(0), 1)[0].note_id

TABLE: list[tuple[str, str, PageOperation]] = [
    ("create", "contributor", page("New")),
    ("create below", "contributor", page("New", parent="$0")),
    ("edit", "editor", EditPage(page="$0", name=text("x"))),
    ("edit without a change", "editor", EditPage(page="$0", name=text("A"))),
    ("edit with a stale version", "editor", EditPage(page="$0", body=None, expected_version=2)),
    ("move within a scope", "editor", MovePage(page="$0", parent="$1")),
    ("move to another scope", "owner", MovePage(page="$0", scope=TEAM)),
    ("move from another scope", "owner", MovePage(page="$3", scope=SCOPE)),
    ("merge", "owner", MergePage(page="$0", into="$1")),
    ("merge across scopes", "owner", MergePage(page="$0", into="$3")),
    ("delete", "owner", DeletePage(page="$0")),
    ("go back", "owner", RestorePage(page="$0", version=1)),
    ("add a note", "contributor", AddNote(page="$0", text=note_text("m"), stamps=(SCOPE, TEAM))),
    ("restamp a note", "editor", RestampNote(note=NOTE, stamps=(TEAM,))),
    ("remove a note", "editor", RemoveNote(note=NOTE)),
    ("pin", "editor", SetPin(page="$0", kind="list", audience=(SCOPE,))),
    ("unpin", "editor", RemovePin(page="$0", kind="page", audience=(TEAM,))),
]


@pytest.mark.parametrize("role", ORDER)
@pytest.mark.parametrize(("what", "needed", "command"), TABLE, ids=[row[0] for row in TABLE])
def test_each_role(what: str, needed: str, command: PageOperation, role: str) -> None:
    outcome = STORY.when(command, held=HELD[role])
    if role == "none":
        refusal = outcome.then_refused(NotFoundError)
        assert refusal.details == {}, what
    elif ORDER.index(role) < ORDER.index(needed):
        outcome.then_refused(RoleTooWeakError, needed=needed, actual=role)
    elif what not in ("edit without a change", "edit with a stale version"):
        assert outcome.events


@pytest.mark.parametrize("role", ORDER)
def test_a_deleted_page_is_there_for_its_owner_alone(role: str) -> None:
    outcome = STORY.when(RestorePage(page="$2"), held=HELD[role])
    if role == "owner":
        assert outcome.events
    else:
        outcome.then_refused(NotFoundError)


@pytest.mark.parametrize(("what", "needed", "command"), TABLE, ids=[row[0] for row in TABLE])
def test_an_auditor_reads_everything_and_writes_nothing(
    what: str, needed: str, command: PageOperation
) -> None:
    outcome = STORY.when(command, held=(), grants=["auditor"])
    outcome.then_refused(RoleTooWeakError, needed=needed, actual="auditor")
