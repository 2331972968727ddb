"""Notes by their stamps, pins by their audiences."""

from uuid import UUID, uuid4

import pytest

from kbstore.access import Caller
from kbstore.domain.commands import MergePage, RemoveNote, RestampNote
from kbstore.errors import NotFoundError
from projections.read.activity import events
from projections.read.notes import note, notes_of_page
from projections.read.pages import page_by_ref
from projections.read.pins import configured_pins, pins_for, pins_of_page
from projections.views import NoteView
from tests.unit.projections.read.world import (
    ANA,
    AUDITOR,
    CONFIGURATION,
    EVE,
    ORG,
    RED,
    ROOT,
    VAULT,
    World,
)

BLUE = "team:acme:blue"


def notes(
    world: World, page: UUID, caller: Caller = ANA, revision: int | None = None
) -> list[NoteView]:
    with world.reading(caller, revision) as snapshot:
        found: list[NoteView] = []
        after: UUID | None = None
        while True:
            part = notes_of_page(snapshot, page, after, 2)
            found += part.items
            after = part.after
            if after is None:
                assert [note(snapshot, view.id) for view in found] == found
                return found


def test_notes_show_by_their_stamps(world: World) -> None:
    page = world.create("Team", scope=RED, key="p")
    world.note(page, "for all", RED)
    world.note(page, "both", RED, VAULT)
    world.note(page, "secret", VAULT)
    ids = [view.text for view in notes(world, page, ROOT)]
    assert ids == ["for all", "both", "secret"]
    for caller in (ANA, EVE):
        assert [(view.text, view.scope) for view in notes(world, page, caller)] == [
            ("for all", (RED,)),
            ("both", (RED,)),
        ]
    assert len(notes(world, page, AUDITOR)) == 3
    assert notes(world, page)[0].ref == "team:acme:red#p"


def test_a_stamp_that_has_no_pages_counts(world: World) -> None:
    holder = Caller(principal="user:blue", held=frozenset({ORG, BLUE}))
    page = world.create("Team")
    made = world.note(page, "for blue", BLUE, caller=holder)
    # Ana holds the organisation, which reads every team.
    assert [view.id for view in notes(world, page)] == [made]


def test_restamped_notes_need_both_stamps(world: World) -> None:
    page = world.create("Page")
    made = world.note(page, "fact", ORG, VAULT)
    then = world.revision
    world.run(RestampNote(note=made, stamps=(VAULT,)))
    assert notes(world, page) == []
    assert notes(world, page, ANA, then) == []
    assert [view.scope for view in notes(world, page, ROOT, then)] == [(ORG, VAULT)]
    with world.reading() as snapshot, pytest.raises(NotFoundError):
        note(snapshot, made)


def test_removed_notes_show_to_owners_before_their_end(world: World) -> None:
    page = world.create("Page", scope=RED)
    made = world.note(page, "fact", RED)
    then = world.revision
    world.run(RemoveNote(note=made))
    for caller, sees in ((ANA, 0), (EVE, 1), (AUDITOR, 1)):
        assert len(notes(world, page, caller, then)) == sees
        assert notes(world, page, caller) == []
    with world.reading() as snapshot, pytest.raises(NotFoundError):
        note(snapshot, uuid4())


def test_notes_go_with_a_merge_and_a_deletion(world: World) -> None:
    page, into = world.create("Page"), world.create("Into")
    made = world.note(page, "fact", ORG)
    world.merge(page, into)
    assert [view.id for view in notes(world, into)] == [made]
    world.delete(into)
    with world.reading() as snapshot, pytest.raises(NotFoundError):
        note(snapshot, made)


def test_pins_show_the_audience_one_knows_of(world: World) -> None:
    page = world.create("Page", scope=RED)
    world.pin(page, RED, VAULT)
    world.pin(page, VAULT, kind="list")

    def seen(caller: Caller) -> list[tuple[str, tuple[str, ...], str]]:
        with world.reading(caller) as snapshot:
            return [
                (pin.kind, pin.audience, pin.updated_by) for pin in pins_of_page(snapshot, page)
            ]

    assert seen(ANA) == seen(EVE) == [("page", (RED,), "user:root")]
    assert seen(ROOT) == [
        ("page", (RED, VAULT), "user:root"),
        ("list", (VAULT,), "user:root"),
    ]


def test_a_change_to_the_hidden_audience_does_not_show(world: World) -> None:
    page = world.create("Page")
    world.pin(page, ORG, caller=ANA)
    with world.reading() as snapshot:
        before = pins_of_page(snapshot, page)
    world.pin(page, ORG, VAULT, caller=ROOT)
    with world.reading() as snapshot:
        assert pins_of_page(snapshot, page) == before
    world.pin(page, ORG, RED, VAULT, caller=ROOT)
    with world.reading() as snapshot:
        (after,) = pins_of_page(snapshot, page)
    assert (after.audience, after.updated_by) == ((ORG, RED), "user:root")
    assert after.updated_at > before[0].updated_at


def test_pins_deliver_what_can_be_read(world: World) -> None:
    shown, hidden = world.create("Shown"), world.create("Hidden", scope=VAULT)
    for page in (shown, hidden):
        world.pin(page, ORG)
    with world.reading() as snapshot:
        found = pins_for(snapshot, frozenset({ORG, VAULT}), None, 10)
        assert [pin.page for pin, _ in found.items] == [shown]
        assert pins_for(snapshot, frozenset(), None, 10).items == ()
    with world.reading(ROOT) as snapshot:
        first = pins_for(snapshot, frozenset({ORG}), None, 1)
        rest = pins_for(snapshot, frozenset({ORG}), first.after, 1)
        both = {pin.page for pin, _ in (*first.items, *rest.items)}
    assert (both, rest.after) == ({shown, hidden}, None)


def test_configured_pins_are_a_source_of_their_own(world: World) -> None:
    pinned: dict[str, object] = {
        "scopes": {
            "org:$org": {
                "access": [{"principal": "self", "role": "owner"}],
                "pages": [{"key": "a", "name": "A", "pin": {"kind": "list", "depth": 2}}],
            }
        }
    }
    assert pinned != CONFIGURATION
    world.configure(pinned)
    with world.reading() as snapshot:
        ((pin, page),) = configured_pins(snapshot, ORG)
        assert page.page_id == page_by_ref(snapshot, "org:acme#a").id
        assert (pin.kind, pin.depth, pin.audience) == ("list", 2, (ORG,))
        assert configured_pins(snapshot, VAULT) == ()
    with world.reading(EVE) as snapshot:
        assert configured_pins(snapshot, ORG) == ()


def note_events(world: World, page: UUID, caller: Caller = ANA) -> list[str]:
    with world.reading(caller) as snapshot:
        found = events(snapshot, 0, 100, page_id=page).items
    return [event.type for event in found if event.note_id is not None]


def test_a_removed_note_needs_one_of_its_last_stamps(world: World) -> None:
    page = world.create("Page")
    made = world.note(page, "fact", ORG)
    then = world.revision
    world.run(RestampNote(note=made, stamps=(VAULT,)))
    assert (notes(world, page, ANA, then), note_events(world, page)) == ([], [])
    world.run(RemoveNote(note=made))
    assert (notes(world, page, ANA, then), note_events(world, page)) == ([], [])
    for caller in (ROOT, AUDITOR):
        assert len(notes(world, page, caller, then)) == 1
        assert note_events(world, page, caller) == ["note.added", "note.restamped", "note.removed"]


def test_stamps_taken_by_the_removing_commit_are_not_the_last_ones(world: World) -> None:
    page = world.create("Page")
    gone = world.note(page, "gone", ORG, RED)
    kept = world.note(page, "kept", ORG, RED)
    then = world.revision
    for made, stamps in ((gone, (RED, VAULT)), (kept, (ORG, VAULT))):
        world.batch(RestampNote(note=made, stamps=stamps), RemoveNote(note=made))
    acme = Caller(principal="user:own", held=frozenset({ORG}))
    with world.reading(acme) as snapshot:
        assert snapshot.access.can_read(RED)
    world.configure({"scopes": {"org:$org": {"access": [{"principal": "self", "role": "owner"}]}}})
    assert [view.text for view in notes(world, page, ANA, then)] == ["kept"]
    assert [view.text for view in notes(world, page, AUDITOR, then)] == ["gone", "kept"]


def test_a_note_that_a_merge_took_out_of_reach_is_gone(world: World) -> None:
    page, into = world.create("Page"), world.create("Into", scope=VAULT)
    made = world.note(page, "fact", ORG)
    then = world.revision
    world.run(MergePage(page=page, into=into))
    for removes in (False, True):
        if removes:
            world.run(RemoveNote(note=made))
        assert (notes(world, page, ANA, then), note_events(world, page)) == ([], [])
        assert len(notes(world, page, ROOT, then)) == 1


def test_a_change_of_the_hidden_stamps_does_not_show(world: World) -> None:
    page = world.create("Page")
    made = world.note(page, "fact", ORG, VAULT, caller=ROOT)
    (before,) = notes(world, page)
    world.run(RestampNote(note=made, stamps=(ORG,)))
    assert notes(world, page) == [before]
    assert note_events(world, page) == ["note.added"]
    assert notes(world, page, ROOT)[0].version == 2
    world.run(RestampNote(note=made, stamps=(ORG, VAULT)))
    world.run(RestampNote(note=made, stamps=(ORG, RED, VAULT)))
    (after,) = notes(world, page)
    assert (after.scope, after.version, after.updated_by) == ((ORG, RED), 2, "user:root")
    assert after.updated_at > before.updated_at
    assert note_events(world, page) == ["note.added", "note.restamped"]
    assert notes(world, page, ROOT)[0].version == notes(world, page, AUDITOR)[0].version == 4
