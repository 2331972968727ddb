"""Feeds of commits and events, histories and deletions."""

from uuid import UUID

import pytest

from kbstore.access import Caller
from kbstore.domain.commands import EditPage, RemovePin, RestampNote, SetPin
from kbstore.errors import NotFoundError
from kbstore.texts import prepare_text
from projections.read import event_rows
from projections.read.activity import commit, events, list_commits
from projections.read.deletions import list_deletions
from projections.read.history import history
from projections.snapshot import Snapshot
from projections.views import CommitView, DeletionView, EventView, HistoryEntry
from tests.unit.projections.read.world import ANA, AUDITOR, EVE, ORG, RED, ROOT, VAULT, World


def all_events(snapshot: Snapshot, limit: int = 3, **wanted: object) -> list[EventView]:
    found: list[EventView] = []
    after: int | None = 0
    while after is not None:
        part = events(snapshot, after, limit, **wanted)  # type: ignore[arg-type]
        found += part.items
        after = part.after
    return found


def all_commits(snapshot: Snapshot, limit: int = 2) -> list[CommitView]:
    found: list[CommitView] = []
    after: int | None = 0
    while after is not None:
        part = list_commits(snapshot, after, limit)
        found += part.items
        after = part.after
    return found


def all_history(snapshot: Snapshot, page: UUID, *, newest_first: bool) -> list[HistoryEntry]:
    found: list[HistoryEntry] = []
    after: int | None = None
    while True:
        part = history(snapshot, page, after, 2, newest_first=newest_first)
        found += part.items
        after = part.after
        if after is None:
            return found


def test_events_show_where_their_pages_do(world: World) -> None:
    shown = world.create("Shown", scope=RED, key="shown", body="a\nb")
    hidden = world.create("Hidden", scope=VAULT)
    world.edit(shown, name="Renamed", caller=EVE)
    world.edit(hidden, name="Also renamed")
    with world.reading(EVE) as snapshot:
        found = all_events(snapshot)
        assert all_events(snapshot, limit=1) == found
        assert [(event.type, event.actor) for event in found] == [
            ("page.created", "service:config"),
            ("page.created", "user:root"),
            ("page.edited", "user:eve"),
        ]
        assert {event.ref for event in found} == {RED, "team:acme:red#shown"}
        assert found[1].data == {
            "scope": RED,
            "parent": str(found[0].page_id),
            "key": "shown",
            "name": "Shown",
            "description": None,
            "body": {"lines": 2, "tokens": 1},
        }
        assert found[2].data == {"name": "Renamed"}
        assert all_events(snapshot, type="page.edited") == found[2:]
        assert all_events(snapshot, actor="user:eve") == found[2:]
        assert all_events(snapshot, page_id=shown) == found[1:]
        assert all_events(snapshot, page_id=shown, actor="user:root") == found[1:2]
        assert all_events(snapshot, page_id=hidden) == []
    with world.reading(AUDITOR) as snapshot:
        types = [event.type for event in all_events(snapshot)]
    assert types[:2] == ["knowledge_base.created", "knowledge_base.configured"]
    assert types[2:].count("page.edited") == 2


def test_a_feed_stops_at_the_revision(world: World) -> None:
    page = world.create("Page")
    then = world.revision
    world.edit(page, name="Later")
    with world.reading(revision=then) as snapshot:
        assert "page.edited" not in {event.type for event in all_events(snapshot)}
        assert [found.revision for found in all_commits(snapshot)] == [then]


def test_a_feed_of_hidden_events_ends_early_and_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = world.create("Hidden", scope=VAULT)
    for number in range(event_rows.ROWS_SCANNED_MAX // 100):
        names = [world.creation(f"{number} {n}", VAULT, hidden) for n in range(100)]
        world.batch(*names)
    world.create("Shown", scope=RED)
    with world.reading(EVE) as snapshot:
        first = events(snapshot, 0, 10)
        assert first.items == ()
        assert first.after == event_rows.ROWS_SCANNED_MAX
        second = events(snapshot, first.after, 10)
        assert [event.type for event in second.items] == ["page.created"] * 2
        assert second.after is None
        (found,) = all_commits(snapshot, 200)
        assert found.event_count == 2


def test_a_commit_shows_its_readable_events_and_no_more(world: World) -> None:
    world.create("First", scope=RED)
    world.create("First", scope=VAULT)
    mixed = world.batch(
        world.creation("Shown", RED), world.creation("Hidden", VAULT), message="both"
    ).revision
    clear = world.batch(world.creation("Shown too", RED), message="one").revision
    with world.reading(EVE) as snapshot:
        found = all_commits(snapshot)
        half, whole = commit(snapshot, mixed), commit(snapshot, clear)
        assert found[-2:] == [half, whole]
        with pytest.raises(NotFoundError):
            commit(snapshot, mixed - 1)
        with pytest.raises(NotFoundError):
            commit(snapshot, clear + 1)
    assert (half.event_count, half.complete) == (1, False)
    assert (half.actor, half.run, half.message, half.digest) == (None, None, None, None)
    assert (whole.event_count, whole.complete) == (1, True)
    assert (whole.actor, whole.run, whole.message) == ("user:root", "run-1", "one")
    assert whole.digest is None
    with world.reading(AUDITOR) as snapshot:
        full = commit(snapshot, mixed)
        assert len(all_commits(snapshot)) == clear
    assert (full.event_count, full.message) == (2, "both")
    assert full.digest is not None


def test_an_event_hides_the_facts_of_hidden_places(world: World) -> None:
    page = world.create("Page", scope=VAULT, key="k")
    world.move(page, scope=RED)
    with world.reading(EVE) as snapshot:
        (moved,) = all_events(snapshot, page_id=page)
    assert moved.type == "page.moved"
    assert {"scope", "parent", "key"} == set(moved.data)
    with world.reading(ROOT) as snapshot:
        created, moved = all_events(snapshot, page_id=page)
    assert (created.type, moved.data["fromScope"]) == ("page.created", VAULT)


def test_note_and_pin_events_show_by_stamps_and_audiences(world: World) -> None:
    page = world.create("Page", scope=RED)
    world.note(page, "shown", RED, VAULT)
    world.note(page, "hidden", VAULT)
    world.pin(page, VAULT)
    world.pin(page, RED, VAULT)
    world.run(RemovePin(page=page, kind="page", audience=(VAULT,)))
    world.run(RemovePin(page=page, kind="page", audience=(RED,)))

    def seen(caller: Caller) -> list[tuple[str, object]]:
        with world.reading(caller) as snapshot:
            found = all_events(snapshot, page_id=page)
            return [
                (event.type, event.data.get("scope") or event.data.get("audience"))
                for event in found[1:]
            ]

    assert seen(EVE) == [("note.added", [RED]), ("pin.set", [RED]), ("pin.removed", None)]
    assert len(seen(ROOT)) == len(seen(AUDITOR)) == 6
    with world.reading(EVE) as snapshot:
        assert all_history(snapshot, page, newest_first=False)[0].type == "page.created"
        assert len(all_history(snapshot, page, newest_first=True)) == 1


def test_a_history_tells_what_changed(world: World) -> None:
    page, into = world.create("Page", key="a"), world.create("Into")
    world.edit(page, name="New", body="x", caller=ANA)
    world.rekey(page, "b")
    world.move(page, parent=into)
    with world.reading() as snapshot:
        oldest = all_history(snapshot, page, newest_first=False)
        newest = all_history(snapshot, page, newest_first=True)
    assert newest == oldest[::-1]
    assert [(entry.version, entry.changed) for entry in oldest] == [
        (1, ("created",)),
        (2, ("name", "body")),
        (3, ("key",)),
        (4, ("parent",)),
    ]
    assert [entry.actor for entry in oldest][1] == "user:ana"
    other = world.create("Other")
    world.merge(page, other)
    with world.reading() as snapshot:
        assert all_history(snapshot, other, newest_first=True)[0].changed == ("absorbed",)
        # Ana owns the scope, so the merged page's history is hers to read.
        assert all_history(snapshot, page, newest_first=True)[0].changed == ("merged",)
    with world.reading(EVE) as snapshot, pytest.raises(NotFoundError):
        history(snapshot, page, None, 2)


def test_deletions_show_to_owners(world: World) -> None:
    top = world.create("Top", scope=RED, key="top")
    leaf = world.create("Leaf", scope=RED, parent=top, key="leaf")
    secret = world.create("Secret", scope=VAULT)
    both = world.delete(top, subtree=True, caller=EVE)
    alone = world.delete(secret)

    def seen(caller: Caller, revision: int | None = None) -> list[DeletionView]:
        with world.reading(caller, revision) as snapshot:
            whole = list_deletions(snapshot, None, 50).items
            found: list[DeletionView] = []
            after: tuple[int, UUID] | None = None
            while True:
                part = list_deletions(snapshot, after, 1)
                found += part.items
                after = part.after
                if after is None:
                    assert found == list(whole)
                    return found

    assert seen(ANA) == []
    assert (seen(ROOT)[0].deletion, seen(ROOT)[0].page_id) == (alone, secret)
    listed = seen(EVE)
    assert {view.ref: view.page_id for view in listed} == {
        "team:acme:red#top": top,
        "team:acme:red#top/leaf": leaf,
    }
    assert {(view.deletion, view.deleted_by, view.version) for view in listed} == {
        (both, "user:eve", 2)
    }
    assert len(seen(AUDITOR)) == 3
    world.restore(top)
    assert [view.page_id for view in seen(EVE)] == [leaf]
    assert len(seen(EVE, both)) == 2
    assert seen(EVE, both - 1) == []
    assert ORG not in {view.ref for view in seen(AUDITOR)}


def test_parts_of_feeds_do_not_tell_of_hidden_changes(world: World) -> None:
    page = world.create("Page", scope=RED, key="p")
    for _ in range(3):
        world.pin(page, VAULT)
        world.run(RemovePin(page=page, kind="page", audience=(VAULT,)))
        world.create("Hidden", scope=VAULT)
    made = world.note(page, "fact", RED)
    world.run(RestampNote(note=made, stamps=(RED, VAULT)))
    world.edit(page, name="Other")
    world.pin(page, VAULT)

    def parts(snapshot: Snapshot) -> tuple[list[list[str]], list[int]]:
        shown: list[list[str]] = []
        after: int | None = 0
        while after is not None:
            part = events(snapshot, after, 1, page_id=page)
            shown.append([event.type for event in part.items])
            after = part.after
        sizes = []
        after = 0
        while after is not None:
            found = list_commits(snapshot, after, 1)
            sizes.append(len(found.items))
            after = found.after
        return shown, sizes

    with world.reading(EVE) as snapshot:
        shown, sizes = parts(snapshot)
        newest = history(snapshot, page, None, 1, newest_first=True)
        oldest = history(snapshot, page, None, 1)
    assert shown == [["page.created"], ["note.added"], ["page.edited"], []]
    assert sizes == [1, 1, 1]
    assert [entry.changed for entry in newest.items] == [("name",)]
    assert [entry.changed for entry in oldest.items] == [("created",)]


def test_hidden_pin_changes_end_a_part_only_after_the_scan(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_rows, "ROWS_SCANNED_MAX", 10)
    page = world.create("Page", scope=RED)
    with world.reading(EVE) as snapshot:
        start = events(snapshot, 0, 50).items[-1].position
    hidden = [
        SetPin(page=page, kind="list", audience=(VAULT,), depth=1 + number % 2)
        for number in range(25)
    ]
    world.batch(*hidden)
    world.edit(page, name="Other")
    sizes = []
    after: int | None = start
    with world.reading(EVE) as snapshot:
        while after is not None:
            part = events(snapshot, after, 1)
            sizes.append((after - start, len(part.items)))
            after = part.after
    assert sizes == [(0, 0), (10, 0), (20, 1), (26, 0)]


def test_events_of_notes_and_pins_tell_no_number_of_their_own(world: World) -> None:
    page = world.create("Page", scope=RED)
    world.pin(page, VAULT)
    world.pin(page, RED, VAULT)
    world.note(page, "fact", RED)
    with world.reading(EVE) as snapshot:
        found = [(event.type, event.version) for event in all_events(snapshot, page_id=page)]
    assert found == [("page.created", 1), ("pin.set", None), ("note.added", None)]


def test_a_history_tells_the_message_of_a_commit_that_shows_whole(world: World) -> None:
    page, other = world.create("Page", scope=RED), world.create("Other", scope=VAULT)

    def rename(page: UUID, name: str) -> EditPage:
        return EditPage(page=page, expected_version=None, name=prepare_text(name, world.ids))

    world.batch(rename(page, "a"), message="whole")
    world.batch(rename(page, "b"), rename(other, "b"), message="half")
    world.batch(
        rename(page, "c"), SetPin(page=page, kind="page", audience=(VAULT,)), message="pinned"
    )
    world.batch(
        rename(page, "d"), SetPin(page=page, kind="page", audience=(RED, VAULT)), message="known"
    )

    def messages(caller: Caller) -> list[str | None]:
        with world.reading(caller) as snapshot:
            return [entry.message for entry in history(snapshot, page, None, 50).items]

    assert messages(EVE) == [None, "whole", None, None, "known"]
    assert messages(ROOT) == messages(AUDITOR) == [None, "whole", "half", "pinned", "known"]
