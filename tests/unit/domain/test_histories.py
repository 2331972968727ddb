"""Random histories: whatever was accepted, the pages are trees and the roles were held."""

from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from kbstore import testing
from kbstore.domain.commands import (
    AddNote,
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    PageOperation,
    RemoveNote,
    RestampNote,
    RestorePage,
    SetPin,
)
from kbstore.domain.state import PageState
from kbstore.errors import (
    AbsentError,
    ConflictError,
    KBStoreError,
    RoleTooWeakError,
    VersionConflictError,
)
from kbstore.ids import declared_page_id
from kbstore.testing import KB, SCOPE, MemoryStore, Story, body, note_text, page, text

TEAM = "team:acme:support"
VAULT = "vault:acme"
SCOPES = (SCOPE, TEAM, VAULT)
KEYS = (None, "a", "A", "b", "policies")
DECLARED = (
    *(declared_page_id(KB, scope, (), 0) for scope in SCOPES),
    declared_page_id(KB, SCOPE, ("policies",), 0),
    declared_page_id(KB, SCOPE, ("policies", "refund"), 0),
)

# Who has which role where: 0 none, 1 viewer, 2 contributor, 3 editor, 4 owner.
ROLES: dict[str, dict[str, int]] = {
    "viewer:acme": {SCOPE: 1, TEAM: 1, VAULT: 0},
    "contributor:acme": {SCOPE: 2, TEAM: 2, VAULT: 0},
    "editor:acme": {SCOPE: 3, TEAM: 3, VAULT: 0},
    "team:acme:support": {SCOPE: 0, TEAM: 3, VAULT: 0},
    "org:acme": {SCOPE: 4, TEAM: 4, VAULT: 0},
    "vault:acme": {SCOPE: 0, TEAM: 0, VAULT: 4},
}

Step = tuple[str, int, int, int, int, frozenset[str]]

steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["create"] * 4
            + ["edit", "move", "rename", "merge", "delete", "restore", "back", "undo"]
            + ["note", "restamp", "unnote", "pin"]
        ),
        *[st.integers(0, 30)] * 4,
        st.one_of(
            st.just(frozenset({SCOPE, VAULT})),
            st.frozensets(st.sampled_from(sorted(ROLES)), min_size=1, max_size=2),
        ),
    ),
    max_size=30,
)


def command_of(step: Step, story: Story, known: list[UUID]) -> PageOperation | None:
    """The command a step stands for; None where there is nothing yet to name."""
    what, one, two, three, four, _ = step
    target = known[one % len(known)]
    other = known[two % len(known)]
    scope = SCOPES[three % len(SCOPES)]
    key = KEYS[four % len(KEYS)]
    if what in ("note", "restamp", "unnote"):
        return note_command(what, story, target, scope)
    if what in ("restore", "back", "undo"):
        return restore_command(what, story, target, two, key)
    above = story.store.page(other)
    home = scope if above is None else above.scope
    match what:
        case "create":
            parent = None if two % 3 == 0 else other
            return page(f"Page {three % 4}", scope=home, parent=parent, key=key)
        case "edit":
            return EditPage(page=target, expected_version=two % 4, name=text(f"Page {three % 4}"))
        case "move":
            return MovePage(page=target, scope=home, parent=other)
        case "rename":
            return MovePage(page=target, key=key)
        case "merge":
            policy = "rename" if three % 2 else "fail"
            return MergePage(page=target, into=other, on_key_collision=policy)
        case "delete":
            return DeletePage(page=target, subtree=bool(two % 2))
        case _:
            return SetPin(page=target, kind="page", audience=(scope,))


def note_command(what: str, story: Story, target: UUID, scope: str) -> PageOperation | None:
    if what == "note":
        return AddNote(page=target, text=note_text("A note"), stamps=(scope,))
    notes = story.store.notes(target, 1)
    if not notes:
        return None
    if what == "restamp":
        return RestampNote(note=notes[0].note_id, stamps=(scope,))
    return RemoveNote(note=notes[0].note_id)


def restore_command(
    what: str, story: Story, target: UUID, number: int, key: str | None
) -> PageOperation | None:
    if what == "back":
        return RestorePage(page=target, version=number % 4 + 1)
    if what == "restore":
        return RestorePage(page=target, key=key) if number % 2 else RestorePage(page=target)
    ended = story.store.ended_at(target)
    return None if ended is None else RestorePage(page=target, deletion=ended)


Needs = list[tuple[int, str]]


def needed(command: PageOperation, story: Story, held: frozenset[str]) -> Needs:
    """The role and the scope for all that a command needs, by reference 2's table."""
    if isinstance(command, CreatePage):
        return [(2, command.scope)]
    if isinstance(command, RestampNote | RemoveNote):
        return needed_for_note(command, story)
    assert isinstance(command.page, UUID)
    home = scope_of(story, command.page)
    match command:
        case MovePage():
            destination = command.scope if isinstance(command.scope, str) else home
            across = destination != home
            return [(4, home), (4, destination)] if across else [(3, home)]
        case MergePage():
            assert isinstance(command.into, UUID)
            into = scope_of(story, command.into)
            return [(4, home), (3 if into == home else 4, into)]
        case DeletePage():
            return [(4, home)]
        case RestorePage():
            return needed_to_restore(story.store, command.page, home)
        case AddNote():
            return [(2, home), *((2, stamp) for stamp in command.stamps)]
        case SetPin():
            return [(3, home), *((3, scope) for scope in command.audience if scope not in held)]
        case _:
            return [(3, home)]


def needed_to_restore(store: MemoryStore, page_id: UUID, home: str) -> Needs:
    current = store.page(page_id)
    if current is None or current.is_live:
        return [(4, home)]
    above = None if current.parent_id is None else store.page(current.parent_id)
    # The parent may have gone to another scope since.
    return [(4, home), *([(2, above.scope)] if above is not None and above.is_live else [])]


def needed_for_note(command: RestampNote | RemoveNote, story: Story) -> Needs:
    note = story.store.note(command.note)
    assert note is not None
    found = [(3, scope_of(story, note.page_id))]
    if isinstance(command, RestampNote):
        found += [(2, stamp) for stamp in command.stamps if stamp not in note.stamps]
    return found


def scope_of(story: Story, page_id: UUID) -> str:
    written = story.store.page(page_id)
    if written is not None:
        return written.scope
    return dict(zip(DECLARED, (*SCOPES, SCOPE, SCOPE), strict=True))[page_id]


def holds(held: frozenset[str], needs: Needs) -> bool:
    return all(max(ROLES[scope][where] for scope in held) >= role for role, where in needs)


def tree_of(store: MemoryStore) -> list[PageState]:
    return sorted(store.live_pages(), key=lambda state: state.page_id)


@settings(max_examples=150)
@given(steps)
def test_every_history_keeps_trees_and_roles(history: list[Step]) -> None:
    story = testing.given(scopes=SCOPES)
    known = list(DECLARED)
    for step in history:
        command = command_of(step, story, known)
        if command is None:
            continue
        held = step[-1]
        needs = needed(command, story, held)
        before = story.store.events
        outcome = story.when(command, held=held)
        try:
            decision = outcome.decision
        except KBStoreError as refusal:
            assert story.store.events == before
            if isinstance(refusal, RoleTooWeakError):
                assert not holds(held, needs)
            elif isinstance(refusal, ConflictError):
                # What the state does not allow is told to none who may not do it anyway.
                assert holds(held, needs)
            elif isinstance(refusal, AbsentError):
                assert set(refusal.details) <= {"parentId", "mergedInto"}
            if isinstance(refusal, VersionConflictError):
                assert isinstance(command, EditPage)
            continue
        assert holds(held, needs)
        story = outcome.story
        story.store.check_tree()
        known += [s.id for s in decision.subjects if s.kind == "page" and s.id not in known]
    replayed = MemoryStore(story.store.configuration)
    replayed._texts = story.store._texts
    replayed.apply(story.store.events)
    assert tree_of(replayed) == tree_of(story.store)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_moves_of_eight_pages_never_make_a_loop(moves: list[tuple[int, int]]) -> None:
    story = testing.given(*(page(f"Page {n}") for n in range(8)))
    for one, other in moves:
        outcome = story.when(MovePage(page=f"${one}", parent=f"${other}"))
        below = {state.page_id for state in story.store.subtree(story.id(one), 99)}
        try:
            story = outcome.story
        except KBStoreError as refusal:
            assert refusal.code == "WOULD_CREATE_CYCLE"
            assert story.id(other) in below
    story.store.check_tree()
    assert len(list(story.store.live_pages())) == 9


@given(st.integers(0, 5), st.integers(1, 5), st.booleans())
def test_an_edit_passes_with_the_current_version_alone(
    expected: int, edits: int, changes: bool
) -> None:
    story = testing.given(
        page("A"), *(EditPage(page="$0", body=body(f"{n}")) for n in range(1, edits))
    )
    value = "new" if changes else ("" if edits == 1 else f"{edits - 1}")
    new = None if not changes and edits == 1 else body(value)
    outcome = story.when(EditPage(page="$0", expected_version=expected, body=new))
    if not changes:
        outcome.then_nothing()
    elif expected == edits:
        assert outcome.events
    else:
        outcome.then_refused(VersionConflictError, expectedVersion=expected, currentVersion=edits)
