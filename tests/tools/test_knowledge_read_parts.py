"""knowledge_read, sentence by sentence (reference 2): parts of a body."""

import pytest

from tests.asking import Client
from tests.tools.doors import Door, Json
from tests.tools.reading import FLAT, LONG, WIDE, items, made_long, more, next_spot, page_of, read


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


def test_limits_are_kept(ana: Client, door: Door) -> None:
    made_long(ana, "a\nb\n")
    for arguments, is_kept in (
        ({"match": ["a"] * 10}, True),
        ({"match": ["a"] * 11}, False),
        ({"match": []}, False),
        ({"match": ""}, False),
        ({"match": "a", "context": 20}, True),
        ({"match": "a", "context": 21}, False),
        ({"match": "x" * 2_000}, True),
        ({"match": "x" * 2_001}, False),
        ({"limit": 50}, True),
        ({"limit": 51}, False),
        ({"limit": 0}, False),
    ):
        reply = read(door, **arguments)
        assert (reply.error is None) is is_kept, arguments
