"""knowledge_read, sentence by sentence (reference 2): notes and mentions."""

import re

from tests.asking import Ask, Client
from tests.knowledge import SCOPE, TEAM
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door
from tests.tools.reading import (
    add_note,
    items,
    more,
    page_of,
    read,
)


def test_a_whole_read_has_the_notes_and_those_that_mention_the_page(
    ana: Client, door: Door
) -> None:
    page, other = ana.made("p", name="The Page"), ana.made("other")
    note = add_note(ana, page, "A fact", when="2026-10-29")
    mention = add_note(ana, other, "As [[The Page]] says, and [[The Page]] again")
    add_note(ana, page, "I am [[The Page]] myself")
    whole = read(door, page.ref)
    first = items(whole, "notes")[0]
    assert first["id"] == note
    assert (first["text"], first["scope"], first["when"]) == ("A fact", [SCOPE], "2026-10-29")
    (mentioned,) = items(whole, "mentionedIn")
    assert (mentioned["id"], mentioned["page"]) == (mention, other.ref)


def test_long_lists_of_notes_are_left_out_and_read_on_their_own(ana: Client, door: Door) -> None:
    page, other = ana.made("p", name="The Page"), ana.made("other")
    for _ in range(4):
        add_note(ana, page, "word " * 190)
        add_note(ana, other, "[[The Page]] " + "word " * 180)
    whole = read(door, page.ref)
    assert whole.ok["notesLeftOut"] == 4
    assert whole.ok["mentionedInLeftOut"] == 4
    assert not {"notes", "mentionedIn"} & whole.ok.keys()
    told = " ".join(more(whole))
    assert re.search(r"notes: 4 notes of about 1,\d\d\d tokens left out\.", told)
    assert "Read them with notes: true." in told
    assert "Read them with mentionedIn: true." in told
    alone = read(door, page.ref, notes=True)
    assert len(items(alone, "notes")) == 4
    assert not {"body", "lines"} & page_of(alone).keys()
    assert "mentionedIn" not in alone.ok
    assert len(items(read(door, page.ref, mentionedIn=True), "mentionedIn")) == 4


def test_notes_are_walked_by_cursor(ana: Client, door: Door) -> None:
    page, other = ana.made("p", name="The Page"), ana.made("other")
    notes = [add_note(ana, page, f"fact {number}") for number in range(5)]
    mentions = [add_note(ana, other, f"[[The Page]] {number}") for number in range(5)]
    for field, argument, answer, made in (
        ("notes", "cursor", "nextCursor", notes),
        ("mentionedIn", "mentionedInCursor", "mentionedInCursor", mentions),
    ):
        part = read(door, page.ref, limit=2, **{field: True})
        walked = [each["id"] for each in items(part, field)]
        while answer in part.ok:
            assert f'Read on with {argument}: "{part.ok[answer]}".' in more(part)[-1]
            part = read(door, page.ref, **{argument: part.ok[answer]})
            walked += [each["id"] for each in items(part, field)]
        assert walked == made


def test_a_note_shows_to_who_reads_the_page_and_a_stamp(
    asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    page = ana.made("p", name="The Page")
    shown = add_note(ana, page, "for all", SCOPE)
    add_note(ana, page, "for the team", TEAM)
    viewer = open_door(asking("user:vic", "viewer:acme"))
    assert [each["id"] for each in items(read(viewer, page.ref), "notes")] == [shown]
