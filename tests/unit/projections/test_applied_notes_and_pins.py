"""What note and pin events leave in the tables."""

from projections.tables import CURRENT
from tests.unit.projections.history import History
from tests.unit.projections.rows import rows_of

ORG, SUPPORT, SALES = "org:acme", "team:acme:support", "team:acme:sales"


def scopes(history: History, table: str, **where: object) -> list[tuple[object, ...]]:
    rows = rows_of(history, table, **where)
    return [(row["scope"], row["from_revision"], row["to_revision"]) for row in rows]


def test_a_note_is_filed_under_its_page_with_its_stamps(history: History) -> None:
    page = history.create()
    note = history.note(page, "Closed on Mondays.", [ORG, SUPPORT])
    row = rows_of(history, "notes", note_id=note)[0]
    assert row["text"] == "Closed on Mondays."
    assert (row["when_text"], row["stamps"]) == ("2026-03-01", f'["{ORG}","{SUPPORT}"]')
    assert row["added_position"] == 2
    assert scopes(history, "note_stamps", note_id=note) == [
        (ORG, 2, CURRENT),
        (SUPPORT, 2, CURRENT),
    ]
    assert rows_of(history, "note_heads")[0]["removed_at"] is None


def test_a_restamp_keeps_the_stamps_that_stay(history: History) -> None:
    page = history.create()
    note = history.note(page, stamps=[ORG, SUPPORT])
    history.restamp(note, SUPPORT, SALES)
    assert scopes(history, "note_stamps", note_id=note) == [
        (ORG, 2, 3),
        (SALES, 3, CURRENT),
        (SUPPORT, 2, CURRENT),
    ]
    rows = rows_of(history, "notes", note_id=note)
    assert [(r["version"], r["to_revision"]) for r in rows] == [(1, 3), (2, CURRENT)]
    assert rows[0]["created_at"] == rows[1]["created_at"] < rows[1]["updated_at"]
    assert rows[0]["added_position"] == rows[1]["added_position"]


def test_stamps_that_change_twice_in_one_commit_show_the_last_alone(history: History) -> None:
    page = history.create()
    with history.commit() as revision:
        note = history.note(page, stamps=[ORG])
        history.restamp(note, SUPPORT)
        history.restamp(note, ORG)
    assert scopes(history, "note_stamps", note_id=note) == [(ORG, revision, CURRENT)]
    rows = rows_of(history, "notes", note_id=note)
    assert [(r["version"], r["from_revision"]) for r in rows] == [(3, revision)]


def test_a_removed_note_keeps_its_last_row_and_no_stamp(history: History) -> None:
    page = history.create()
    note = history.note(page)
    history.remove_note(note)
    assert rows_of(history, "note_heads")[0]["removed_at"] == 3
    assert rows_of(history, "notes", note_id=note)[0]["to_revision"] == 3
    assert scopes(history, "note_stamps", note_id=note) == [(ORG, 2, 3)]
    state = history.lookup().note(note)
    assert state is not None
    assert (state.removed, state.version) == (True, 2)
    assert history.lookup().notes(page, 9) == []


def test_the_notes_of_a_deleted_page_keep_their_rows(history: History) -> None:
    top = history.create()
    page = history.create(parent=top)
    note = history.note(page)
    history.delete(page)
    assert rows_of(history, "notes", note_id=note)[0]["to_revision"] == CURRENT
    assert scopes(history, "note_stamps", note_id=note) == [(ORG, 3, CURRENT)]


def test_a_moved_note_stands_on_the_other_page(history: History) -> None:
    org, team = history.create(), history.create(scope=SUPPORT)
    note = history.note(org)
    history.move_note(note, team)
    assert rows_of(history, "note_heads")[0]["page_id"] == team.bytes
    assert [n.note_id for n in history.lookup().notes(team, 9)] == [note]
    assert history.lookup().notes(org, 9) == []
    row = rows_of(history, "activity", revision=history.revision)[0]
    assert (row["page_id"], row["other_page_id"]) == (team.bytes, org.bytes)
    assert (row["scope"], row["scope_before"]) == (SUPPORT, ORG)


def test_a_pin_that_is_set_again_keeps_its_age_until_it_is_removed(history: History) -> None:
    page = history.create()
    pin = history.pin(page, ORG)
    history.pin(page, ORG, SUPPORT, depth=2)
    rows = rows_of(history, "pins", pin_id=pin)
    assert [(r["version"], r["depth"], r["to_revision"]) for r in rows] == [
        (1, 1, 3),
        (2, 2, CURRENT),
    ]
    assert rows[0]["created_at"] == rows[1]["created_at"]
    history.unpin(pin)
    state = history.lookup().pin(pin)
    assert state is not None
    assert (state.version, state.audience) == (3, ())
    assert scopes(history, "pin_audiences", pin_id=pin) == [(ORG, 2, 4), (SUPPORT, 3, 4)]
    history.pin(page, SALES)
    rows = rows_of(history, "pins", pin_id=pin)
    assert (rows[-1]["version"], rows[-1]["from_revision"]) == (4, 5)
    assert rows[-1]["created_at"] == rows[-1]["updated_at"] > rows[0]["created_at"]


def test_a_pin_set_removed_and_set_by_one_commit_has_one_row(history: History) -> None:
    page = history.create()
    with history.commit() as revision:
        pin = history.pin(page, ORG)
        history.unpin(pin)
        history.pin(page, SUPPORT)
    rows = rows_of(history, "pins", pin_id=pin)
    assert [(r["version"], r["from_revision"], r["to_revision"]) for r in rows] == [
        (3, revision, CURRENT)
    ]
    assert scopes(history, "pin_audiences", pin_id=pin) == [(SUPPORT, revision, CURRENT)]


def test_two_kinds_of_pin_on_one_page_are_two_pins(history: History) -> None:
    page = history.create()
    history.pin(page, ORG)
    history.pin(page, ORG, kind="list", depth=2)
    kinds = [(r["kind"], r["depth"]) for r in rows_of(history, "pins", page_id=page)]
    assert sorted(kinds) == [("list", 2), ("page", 1)]
