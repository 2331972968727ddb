"""What links come to: bound, unbound, kept, led on, ended and back."""

from uuid import UUID

import pytest

from projections.tables import CURRENT
from tests.unit.projections.history import History, Wanted
from tests.unit.projections.rows import rows_of

FAQ: Wanted = ("wiki", "Café FAQ", 1)
FILE: Wanted = ("relative", "../Other.md", 4)


def links(history: History, source: UUID) -> list[tuple[object, ...]]:
    """Ordinal, target page or its folded name, line and interval of each row of a text."""
    return [
        (
            row["ordinal"],
            UUID(bytes=row["target_page"]) if row["target_page"] else row["target_fold"],
            row["line"],
            row["from_revision"],
            row["to_revision"],
        )
        for row in rows_of(history, "links", source_id=source)
    ]


def test_a_bound_link_holds_the_page_and_an_unbound_one_the_folded_name(history: History) -> None:
    top = history.create()
    page = history.create(parent=top, body="x", links=[FAQ, FILE], bound={1: top})
    assert links(history, page) == [
        (0, "cafe faq", 1, 2, CURRENT),
        (1, top, 4, 2, CURRENT),
    ]
    row = rows_of(history, "links", source_id=page)[0]
    assert (row["kind"], row["target"], row["source_note"]) == ("wiki", "Café FAQ", None)


def test_a_link_that_stays_as_it_was_keeps_its_row(history: History) -> None:
    page = history.create(body="x", links=[FAQ, FILE])
    history.edit(page, body="y", links=[FAQ, ("relative", "../Other.md", 5)])
    assert links(history, page) == [
        (0, "cafe faq", 1, 1, CURRENT),
        (1, "other", 4, 1, 2),
        (1, "other", 5, 2, CURRENT),
    ]


def test_an_edit_that_leaves_the_body_alone_leaves_its_links_alone(history: History) -> None:
    page = history.create(body="x", links=[FAQ])
    history.edit(page, name="Other name")
    assert links(history, page) == [(0, "cafe faq", 1, 1, CURRENT)]
    history.edit(page, body=None)
    assert links(history, page) == [(0, "cafe faq", 1, 1, 3)]


def test_a_link_that_came_and_went_in_one_commit_leaves_no_row(history: History) -> None:
    with history.commit():
        page = history.create(body="x", links=[FAQ])
        history.edit(page, body="y", links=[FILE])
        history.edit(page, body="z")
    assert links(history, page) == []


def test_links_made_ended_and_back_in_one_commit_have_one_row(history: History) -> None:
    top = history.create()
    with history.commit() as revision:
        page = history.create(parent=top, body="x", links=[FAQ])
        note = history.note(page, links=[FILE])
        history.delete(page)
        history.restore(page, top)
    assert links(history, page) == [(0, "cafe faq", 1, revision, CURRENT)]
    assert links(history, note) == [(0, "other", 4, revision, CURRENT)]


def test_links_of_a_note_added_moved_and_removed_by_one_commit(history: History) -> None:
    page, into = history.create(), history.create(scope="team:acme:support")
    with history.commit() as revision:
        moved = history.note(page, links=[FAQ])
        history.move_note(moved, into)
        removed = history.note(page, links=[FAQ])
        history.remove_note(removed)
    assert links(history, moved) == [(0, "cafe faq", 1, revision, CURRENT)]
    assert links(history, removed) == []


def test_links_to_a_merged_page_lead_on_and_chains_collapse(history: History) -> None:
    top = history.create()
    a, b, c = (history.create(parent=top) for _ in range(3))
    page = history.create(parent=top, body="x", links=[FAQ], bound={0: a})
    history.merge_away(a, b)
    history.merge_away(b, c)
    assert links(history, page) == [
        (0, a, 1, 5, 6),
        (0, b, 1, 6, 7),
        (0, c, 1, 7, CURRENT),
    ]


def test_a_link_made_and_led_on_by_one_commit_has_one_row(history: History) -> None:
    top = history.create()
    a, b = history.create(parent=top), history.create(parent=top)
    with history.commit() as revision:
        page = history.create(parent=top, body="x", links=[FAQ], bound={0: a})
        history.merge_away(a, b)
    assert links(history, page) == [(0, b, 1, revision, CURRENT)]


def test_an_old_text_that_comes_back_leads_where_its_links_lead_now(history: History) -> None:
    top = history.create()
    a, b = history.create(parent=top), history.create(parent=top)
    page = history.create(parent=top, body="x", links=[FAQ], bound={0: a})
    history.edit(page, body="y")
    history.merge_away(a, b)
    history.rewind(page, 1)
    assert links(history, page)[-1] == (0, b, 1, history.revision, CURRENT)


def test_a_gone_page_has_no_links_and_gets_them_back_with_those_of_its_notes(
    history: History,
) -> None:
    top = history.create()
    page = history.create(parent=top, body="x", links=[FAQ])
    note = history.note(page, links=[FILE], bound={0: top})
    removed = history.note(page, links=[FILE])
    history.remove_note(removed)
    history.delete(page)
    deleted = history.revision
    assert links(history, page) == [(0, "cafe faq", 1, 2, deleted)]
    assert links(history, note) == [(0, top, 4, 3, deleted)]
    history.restore(page, top)
    assert links(history, page)[1:] == [(0, "cafe faq", 1, deleted + 1, CURRENT)]
    assert links(history, note)[1:] == [(0, top, 4, deleted + 1, CURRENT)]
    assert links(history, removed) == [(0, "other", 4, 4, 5)]


@pytest.mark.parametrize("merge", ["before", "after", "never"])
def test_a_moved_notes_links_stand_on_its_new_page(history: History, merge: str) -> None:
    top = history.create()
    page, into = history.create(parent=top), history.create(parent=top)
    note = history.note(page, links=[FAQ])
    with history.commit() as revision:
        if merge == "before":
            history.merge_away(page, into)
        history.move_note(note, into)
        if merge == "after":
            history.merge_away(page, into)
    rows = rows_of(history, "links", source_id=note)
    assert [(UUID(bytes=r["source_page"]), r["to_revision"]) for r in rows] == [
        (page, revision),
        (into, CURRENT),
    ]
    assert {r["source_note"] for r in rows} == {note.bytes}
