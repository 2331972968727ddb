"""knowledge_read, sentence by sentence (reference 2)."""

import json
import re
from typing import Any

import pytest

from tests.asking import Ask, Client, Page
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door, Json, Reply

SECTION = "\n".join(f"line {number} with a few words in it" for number in range(30))
LONG = "before\n\n" + "\n".join(f"## Part {part}\n{SECTION}" for part in range(10))
FLAT = "\n".join(f"plain line {number}" for number in range(600))
WIDE = "word " * 4_000


def page_of(reply: Reply) -> Json:
    page = reply.ok["page"]
    assert isinstance(page, dict)
    return page


def more(reply: Reply) -> list[str]:
    lines = reply.ok.get("more", [])
    assert isinstance(lines, list)
    return lines


def items(reply: Reply, field: str) -> list[Json]:
    found = reply.ok[field]
    assert isinstance(found, list)
    return found


def next_spot(line: str) -> Json:
    """What `from` a line of `more` gives."""
    found = re.search(r"from: (\{.*\})", line)
    assert found is not None, line
    spot = json.loads(found[1])
    assert isinstance(spot, dict)
    return spot


def add_note(client: Client, page: Page, text: str, *stamps: str, when: str | None = None) -> str:
    body = {"text": text, "scope": list(stamps or (SCOPE,)), "when": when}
    answer = client.ask("POST", f"/pages/{page.id}/notes", body)
    assert answer.status == 201, answer.raw
    return str(answer.json["note"]["id"])  # type: ignore[index]


def made_long(ana: Client, body: str = LONG) -> Page:
    return ana.made("long", name="Long", body=body)


def read(door: Door, page: str | None = f"{SCOPE}#long", /, **arguments: Any) -> Reply:
    given = {} if page is None else {"page": page}
    return door.call("knowledge_read", {**given, **arguments})


# --- without a page -----------------------------------------------------------------------------


def test_without_page_it_lists_the_scopes_the_run_holds(asking: Ask, open_door: OpenDoor) -> None:
    door = open_door(asking("user:eve", VAULT, "viewer:acme", "nowhere:else"))
    scopes = items(read(door, None), "scopes")
    assert [(each["ref"], each["held"], each["role"]) for each in scopes] == [
        ("nowhere:else", True, None),
        (VAULT, True, "owner"),
        ("viewer:acme", True, None),
    ]
    assert "merge and delete pages" in scopes[1]["can"]  # type: ignore[operator]
    assert scopes[0]["can"] == []


def test_parts_need_a_page(door: Door) -> None:
    for arguments in ({"outline": True}, {"notes": True}, {"from": {"line": 1}}):
        assert read(door, None, **arguments).details["field"] == "page"


# --- a whole read -------------------------------------------------------------------------------


def test_a_body_that_fits_comes_back_as_it_is(ana: Client, door: Door) -> None:
    page = ana.made("p", name="Page", description="Short", body="# One\n\nTwo\n")
    found = page_of(read(door, page.ref))
    assert found.pop("updatedAt")
    assert found == {
        "id": page.id,
        "ref": f"{SCOPE}#p",
        "scope": SCOPE,
        "name": "Page",
        "description": "Short",
        "version": 1,
        "role": "owner",
        "updatedBy": "user:ana",
        "body": "# One\n\nTwo\n",
    }


def test_a_page_that_only_groups_has_no_body(ana: Client, door: Door) -> None:
    page = ana.made("p")
    child = ana.made("c", parent=page.id)
    whole = read(door, page.ref)
    assert page_of(whole)["body"] is None
    assert items(whole, "children") == [{"ref": child.ref, "name": "c", "children": 0}]


def test_a_scope_address_reads_its_page_with_pages_and_child_scopes(
    kb: KnowledgeBase, asking: Ask, open_door: OpenDoor
) -> None:
    kb.configure(
        '[scopes."org:$org"]\naccess = [{principal = "self", role = "owner"}]\n'
        'displayLabel = "The $org"\ndescription = "All of it"\n'
        '[scopes."org:$org".children.staff]\n'
        '[scopes."team:$org:$team"]\nbelongsTo = "org:$org"\n'
        'access = [{principal = "org:$org", role = "editor"}]\n'
    )
    ana = asking("user:ana")
    ana.made("a")
    ana.made("t", scope=TEAM)
    whole = read(open_door(ana), SCOPE)
    assert page_of(whole)["name"] == "The acme"
    assert page_of(whole)["description"] == "All of it"
    assert [each["ref"] for each in items(whole, "children")] == [f"{SCOPE}#a"]
    assert [(each["ref"], each["role"]) for each in items(whole, "childScopes")] == [
        (f"{SCOPE}/staff", "owner"),
        (TEAM, "editor"),
    ]


def test_a_long_body_without_headings_comes_back_as_its_first_lines(
    ana: Client, door: Door
) -> None:
    made_long(ana, FLAT)
    whole = read(door)
    page = page_of(whole)
    lines = page["lines"]
    assert isinstance(lines, list)
    last = len(lines)
    assert lines[0] == "1│plain line 0"
    assert lines[11] == "12│plain line 11"
    assert page["range"] == {"start": {"line": 1}, "end": {"line": last}}
    assert page["lineCount"] == 600
    assert "body" not in page
    assert more(whole) == [
        f'body: showing lines 1–{last} of 600. Read on with from: {{"line":{last + 1}}}.'
    ]


def test_a_long_body_with_headings_is_shown_at_a_glance(ana: Client, door: Door) -> None:
    made_long(ana)
    whole = read(door)
    page = page_of(whole)
    lines = page["lines"]
    assert isinstance(lines, list)
    for part in range(10):
        assert any(line.endswith(f"│## Part {part}") for line in lines)
        assert any(line.startswith("⋯ lines ") for line in lines)
    assert "range" not in page
    assert page["lineCount"] == len(LONG.split("\n"))
    (line,) = more(whole)
    assert line.startswith("body: ")


def test_more_headings_than_fit_give_the_first_lines_and_the_headings_not_reached(
    ana: Client, door: Door
) -> None:
    body = "\n".join(f"# heading number {number}\ntext" for number in range(400))
    made_long(ana, body)
    whole = read(door)
    page = page_of(whole)
    reached = page["range"]["end"]["line"]  # type: ignore[index]
    outline = page["outline"]
    assert isinstance(outline, list)
    assert outline[0]["line"] == (reached + 2 if reached % 2 else reached + 1)
    assert len(more(whole)) == 2


def test_a_smaller_cap_is_a_setting(kb: KnowledgeBase, ana: Client, door: Door) -> None:
    page = ana.made("p", body="word " * 200)
    assert "body" in page_of(read(door, page.ref))
    kb.configure(
        '[settings]\nreadTokens = 100\n[scopes."org:$org"]\n'
        'access = [{principal = "self", role = "owner"}]\n'
    )
    assert "body" not in page_of(read(door, page.ref))


def test_children_past_the_limit_are_listed_elsewhere(ana: Client, door: Door) -> None:
    page = ana.made("p")
    for number in range(12):
        ana.made(f"c{number:02}", parent=page.id)
    whole = read(door, page.ref)
    assert len(items(whole, "children")) == 10
    assert more(whole) == [
        'children: showing 10 of 12. List them with knowledge_list and from: "org:acme#p".'
    ]
    assert len(items(read(door, page.ref, limit=12), "children")) == 12


# --- parts of a body ----------------------------------------------------------------------------


def test_outline_gives_headings_and_no_body(ana: Client, door: Door) -> None:
    made_long(ana, "# One\ntext\n## Two\nmore text\n")
    part = read(door, outline=True)
    assert page_of(part)["outline"] == [
        {"level": 1, "title": "One", "line": 1, "tokens": 7},
        {"level": 2, "title": "Two", "line": 3, "tokens": 5},
    ]
    assert not {"notes", "children", "mentionedIn"} & part.ok.keys()
    assert not {"body", "lines"} & page_of(part).keys()


def test_an_outline_is_read_on_from_a_line(ana: Client, door: Door) -> None:
    made_long(ana, "\n".join(f"# heading number {number}" for number in range(600)))
    part = read(door, outline=True)
    titles: list[object] = []
    for _ in range(50):
        outline = page_of(part)["outline"]
        assert isinstance(outline, list)
        titles += [entry["title"] for entry in outline]
        if not more(part):
            break
        part = read(door, outline=True, **{"from": next_spot(more(part)[0])})
    assert titles == [f"heading number {number}" for number in range(600)]


@pytest.mark.parametrize("asked", ["Part 1", "part 1", "#part-1", "RT 1"])
def test_section_takes_a_unique_part_of_the_title(ana: Client, door: Door, asked: str) -> None:
    made_long(ana, LONG)
    page = page_of(read(door, section=asked))
    lines = page["lines"]
    assert isinstance(lines, list)
    assert lines[0] == "34│## Part 1"
    assert page["range"] == {"start": {"line": 34}, "end": {"line": 64}}


def test_a_section_holds_its_subsections(ana: Client, door: Door) -> None:
    made_long(ana, "# A\n## B\ntext\n# C\n")
    assert page_of(read(door, section="A"))["lines"] == ["1│# A", "2│## B", "3│text"]


def test_an_ambiguous_or_missing_section_names_the_candidates(ana: Client, door: Door) -> None:
    made_long(ana, "# Set up\n# Set down\n")
    ambiguous = read(door, section="set")
    assert ambiguous.code == "VALIDATION_ERROR"
    assert ambiguous.message == (
        'knowledge_read: section "set" matches several headings: "Set up" (line 1, #set-up), '
        '"Set down" (line 2, #set-down). Pass one of these titles or anchors.'
    )
    missing = read(door, section="tear")
    assert missing.code == "NOT_FOUND"
    assert missing.message == (
        'knowledge_read: no heading of the page matches section "tear". Its headings: "Set up" '
        '(line 1, #set-up), "Set down" (line 2, #set-down).'
    )
    made = ana.made("none", body="text")
    assert read(door, made.ref, section="x").message.endswith("It has none.")


def test_a_long_section_is_read_on_with_from(ana: Client, door: Door) -> None:
    made_long(ana, "# A\n" + FLAT + "\n# B\n")
    part = read(door, section="A")
    seen: list[str] = []
    for _ in range(50):
        lines = page_of(part)["lines"]
        assert isinstance(lines, list)
        seen += [line.partition("│")[2] for line in lines]
        if not more(part):
            break
        assert "with the same section and from:" in more(part)[0]
        part = read(door, section="A", **{"from": next_spot(more(part)[0])})
    assert "\n".join(seen) == "# A\n" + FLAT


def test_from_outside_the_section_or_the_body_is_refused(ana: Client, door: Door) -> None:
    made_long(ana, "# A\na\n# B\nb")
    outside = read(door, section="B", **{"from": {"line": 1}})
    assert outside.message == (
        'knowledge_read: line 1 is outside the section "B", which has lines 3–4.'
    )
    past = read(door, **{"from": {"line": 5}})
    assert past.message == "knowledge_read: line 5 is past the end of the body, which has 4 lines."
    wide = read(door, **{"from": {"line": 1, "col": 4}})
    assert wide.message == (
        "knowledge_read: column 4 is past the end of line 1, which has 3 characters."
    )


def test_match_gives_the_lines_with_context(ana: Client, door: Door) -> None:
    made_long(ana, "a\nb\nc\nNeedle\nd\ne\nf\n")
    found = read(door, match="needle")
    assert items(found, "matches") == [
        {
            "range": {"start": {"line": 2}, "end": {"line": 6}},
            "lines": ["2│b", "3│c", "4│Needle", "5│d", "6│e"],
        }
    ]
    narrow = read(door, match=["needle", "f"], context=0)
    assert [match["lines"] for match in items(narrow, "matches")] == [["4│Needle"], ["7│f"]]
    nothing = read(door, match="straw")
    assert items(nothing, "matches") == []
    assert more(nothing) == ['match: no line contains "straw".']


def test_matches_past_the_cap_are_read_on(ana: Client, door: Door) -> None:
    made_long(ana, FLAT)
    part = read(door, match="plain", context=0)
    assert more(part)[0].startswith("match: stopped at about 1,000 tokens; more matches from line ")
    assert "Read again with the same match and from: " in more(part)[0]
    seen = 0
    for _ in range(50):
        for match in items(part, "matches"):
            lines = match["lines"]
            assert isinstance(lines, list)
            seen += len(lines)
        if not more(part):
            break
        spot = next_spot(more(part)[0])
        part = read(door, match="plain", context=0, **{"from": spot})
    assert seen == 600


def test_only_a_line_too_long_for_a_read_has_columns(ana: Client, door: Door) -> None:
    made_long(ana, "short\n" + WIDE)
    part = read(door, **{"from": {"line": 1}})
    assert page_of(part)["range"] == {"start": {"line": 1}, "end": {"line": 1}}
    part = read(door, **{"from": next_spot(more(part)[0])})
    range_ = page_of(part)["range"]
    assert isinstance(range_, dict)
    assert range_["start"] == {"line": 2, "col": 0}
    assert next_spot(more(part)[0]) == {"line": 2, "col": range_["end"]["col"]}


def test_only_one_body_option_at_a_time(ana: Client, door: Door) -> None:
    made_long(ana)
    for pair in ({"outline": True, "section": "x"}, {"section": "x", "match": "y"}):
        assert read(door, **pair).message == (
            "knowledge_read: pass at most one of outline, section and match."
        )


@pytest.mark.parametrize("of_notes", [{"notes": True}, {"mentionedIn": True}, {"cursor": "x"}])
@pytest.mark.parametrize("of_body", [{"outline": True}, {"match": "a"}, {"from": {"line": 1}}])
def test_notes_are_read_on_their_own(
    ana: Client, door: Door, of_notes: Json, of_body: Json
) -> None:
    made_long(ana)
    assert read(door, **of_notes, **of_body).message == (
        "knowledge_read: read notes or mentionedIn on their own, without outline, section, "
        "match or from."
    )


# --- notes and mentions -------------------------------------------------------------------------


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


# --- what is not there --------------------------------------------------------------------------


def test_a_page_that_does_not_exist_lists_close_matches(ana: Client, door: Door) -> None:
    for key in ("refund-policy", "refund-policies", "return-policy", "something-else"):
        ana.made(key)
    missing = read(door, f"{SCOPE}#refund-polcy")
    assert missing.code == "NOT_FOUND"
    close = missing.details["closeMatches"]
    assert isinstance(close, list)
    assert close[0] == f"{SCOPE}#refund-policy"
    assert len(close) == 3
    assert missing.message == (
        f'Knowledge page "{SCOPE}#refund-polcy" not found. Close matches: {", ".join(close)}.'
    )


def test_nothing_close_is_just_not_found(ana: Client, door: Door) -> None:
    ana.made("refund")
    assert read(door, "qqqq").message == 'Knowledge page "qqqq" not found.'


def test_a_hidden_page_is_absent_and_never_suggested(
    asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    ana.made("secret-plan", scope=TEAM, name="Secret plan")
    viewer = open_door(asking("user:vic", "viewer:acme"))
    for asked in (f"{TEAM}#secret-plan", "Secret plan", "secret-plan"):
        assert read(viewer, asked).refused == {
            "code": "NOT_FOUND",
            "message": f'Knowledge page "{asked}" not found.',
            "httpStatus": 404,
        }


def test_an_ambiguous_name_names_the_refs(ana: Client, door: Door) -> None:
    first = ana.made("a", name="Chargeback Playbook")
    second = ana.made("b", name="Chargeback Playbook", scope=TEAM)
    ambiguous = read(door, "Chargeback Playbook")
    assert ambiguous.code == "AMBIGUOUS_REFERENCE"
    assert ambiguous.message == (
        'Knowledge page name "Chargeback Playbook" is ambiguous; use one of these refs: '
        f"{first.ref}, {second.ref}."
    )


def test_a_moved_or_merged_page_leads_to_where_it_went(ana: Client, door: Door) -> None:
    page, into = ana.made("old"), ana.made("into")
    ana.move(page.id, key="new")
    moved = read(door, f"{SCOPE}#old")
    assert moved.message == (
        f'Knowledge page "{SCOPE}#old" not found. It was moved to {SCOPE}#new.'
    )
    ana.merge(page.id, into.id)
    merged = read(door, page.id)
    assert merged.details == {"mergedInto": into.id}
    assert merged.message.endswith(f"It was merged into {into.id}.")


# --- the past -----------------------------------------------------------------------------------


def test_every_part_is_read_at_a_revision(ana: Client, door: Door) -> None:
    page = ana.made("p", body="# Old\nold text")
    revision = ana.part("/scopes").revision
    ana.edit(page.id, body="# New\nnew text")
    add_note(ana, page, "later")
    at = read(door, page.ref, revision=revision)
    assert (page_of(at)["body"], page_of(at)["version"]) == ("# Old\nold text", 1)
    assert items(at, "notes") == []
    assert at.ok["revision"] == revision
    outline = page_of(read(door, page.ref, outline=True, revision=revision))["outline"]
    assert [entry["title"] for entry in outline] == ["Old"]  # type: ignore[attr-defined]
    assert items(read(door, page.ref, match="new", revision=revision), "matches") == []
    beyond = read(door, page.ref, revision=10_000)
    assert beyond.code == "REVISION_NOT_REACHED"
