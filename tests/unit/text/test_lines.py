import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.errors import ValidationError
from kbstore.text import (
    LineRange,
    Position,
    count_lines,
    replace_range,
    split_lines,
    text_of_range,
)

BODY = "one\ntwo\nthree\n"


def lines(start: int, end: int) -> LineRange:
    return LineRange(Position(start), Position(end))


def columns(start: tuple[int, int | None], end: tuple[int, int | None]) -> LineRange:
    return LineRange(Position(*start), Position(*end))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a\n", ["a", ""]),
        ("a\x0cb\x85c\u2028d\x1ee\rf", ["a\x0cb\x85c\u2028d\x1ee\rf"]),
    ],
)
def test_only_a_line_feed_ends_a_line(body: str, expected: list[str]) -> None:
    assert split_lines(body) == expected
    assert count_lines(body) == len(expected)


@pytest.mark.parametrize(
    ("range", "replacement", "expected"),
    [
        (lines(1, 1), "1", "1\ntwo\nthree\n"),
        (lines(2, 3), "x\ny\nz", "one\nx\ny\nz\n"),
        (lines(2, 2), "x\n", "one\nx\n\nthree\n"),
        (lines(2, 2), "", "one\nthree\n"),
        (lines(1, 4), "", ""),
        (lines(4, 4), "", "one\ntwo\nthree"),
        (lines(4, 4), "four", "one\ntwo\nthree\nfour"),
        (columns((3, 2), (3, 4)), "R", "one\ntwo\nthRe\n"),
        (columns((1, 1), (2, 2)), "", "oo\nthree\n"),
        (columns((2, 1), (2, None)), "", "one\nt\nthree\n"),
        (columns((2, 0), (2, None)), "", "one\nthree\n"),
        (columns((2, 0), (2, 3)), "", "one\n\nthree\n"),
        (columns((2, 3), (2, 3)), "!", "one\ntwo!\nthree\n"),
        (columns((1, None), (1, 0)), "> ", "> one\ntwo\nthree\n"),
    ],
)
def test_replace_range(range: LineRange, replacement: str, expected: str) -> None:
    assert replace_range(BODY, range, replacement) == expected


@pytest.mark.parametrize(
    ("range", "reason"),
    [
        (lines(0, 1), "malformed"),
        (lines(1, 0), "malformed"),
        (columns((1, -1), (1, 2)), "malformed"),
        (columns((1, 0), (1, -1)), "malformed"),
        (lines(3, 2), "startAfterEnd"),
        (columns((2, 2), (2, 1)), "startAfterEnd"),
        (lines(4, 5), "pastEnd"),
        (columns((2, 4), (3, 1)), "pastEnd"),
        (columns((2, 0), (2, 4)), "pastEnd"),
        (columns((4, 1), (4, None)), "pastEnd"),
    ],
)
def test_a_range_outside_the_body_is_refused(range: LineRange, reason: str) -> None:
    for attempt in (lambda: replace_range(BODY, range, "x"), lambda: text_of_range(BODY, range)):
        with pytest.raises(ValidationError) as caught:
            attempt()
        assert caught.value.details["field"] == "range"
        assert caught.value.details["reason"] == reason


def test_columns_count_code_points() -> None:
    assert replace_range("🤔é測", columns((1, 1), (1, 2)), "-") == "🤔-測"


@given(st.lists(st.text("ab🤔"), min_size=1, max_size=6), st.data())
def test_putting_back_what_was_read_changes_nothing(parts: list[str], data: st.DataObject) -> None:
    body = "\n".join(parts)
    start = data.draw(st.integers(1, len(parts)))
    end = data.draw(st.integers(start, len(parts)))
    start_col = data.draw(st.none() | st.integers(0, len(parts[start - 1])))
    low = (start_col or 0) if start == end else 0
    end_col = data.draw(st.none() | st.integers(low, len(parts[end - 1])))
    range = columns((start, start_col), (end, end_col))
    text = text_of_range(body, range)
    if text or not range.whole_lines:
        assert replace_range(body, range, text) == body
