"""Lines that hold a term."""

from hypothesis import given
from hypothesis import strategies as st

from kbstore.text import Position, split_lines, text_of_range
from kbstore.text.finding import find_lines
from kbstore.text.windows import MARK

BODIES = st.lists(st.text(st.sampled_from("abAB .x漢"), max_size=120), min_size=1, max_size=40).map(
    "\n".join
)
TERMS = st.lists(st.text(st.sampled_from("abx."), min_size=1, max_size=3), min_size=1, max_size=3)


@given(BODIES, TERMS, st.integers(0, 3), st.integers(30, 200))
def test_followed_to_the_end_every_matching_line_was_shown(
    body: str, terms: list[str], context: int, cap: int
) -> None:
    lines = split_lines(body)
    hits = {
        number
        for number, line in enumerate(lines, 1)
        if any(term.lower() in line.lower() for term in terms)
    }
    seen: set[int] = set()
    start: Position | None = Position(1)
    for _ in range(10 * len(body) + 10):
        if start is None:
            break
        found = find_lines(lines, terms, context, start, cap)
        for match in found.found:
            texts = [line.partition(MARK)[2] for line in match.lines]
            assert texts == text_of_range(body, match.range).split("\n")
            seen |= set(range(match.range.start.line, match.range.end.line + 1))
        assert found.next is None or (found.next.line, found.next.col or 0) > (
            start.line,
            start.col or -1,
        )
        start = found.next
    assert start is None
    assert hits <= seen
    assert seen <= {near for hit in hits for near in range(hit - context, hit + context + 1)}


def test_groups_that_touch_are_one() -> None:
    lines = [f"line {n}" for n in range(1, 10)]
    found = find_lines(lines, ["line 2", "line 5"], 1, Position(1), 1_000)
    (match,) = found.found
    assert (match.range.start.line, match.range.end.line) == (1, 6)


def test_case_does_not_count_and_a_term_is_no_pattern() -> None:
    found = find_lines(["A.B", "axb", "a.b"], ["a.b"], 0, Position(1), 1_000)
    assert [match.lines for match in found.found] == [("1│A.B",), ("3│a.b",)]


def test_a_line_too_long_for_a_read_shows_the_part_with_the_term() -> None:
    lines = ["x" * 5_000 + " needle " + "y" * 5_000]
    found = find_lines(lines, ["needle"], 2, Position(1), 100)
    (match,) = found.found
    assert "needle" in match.lines[0]
    assert match.range.start.col is not None
    assert found.next is None
