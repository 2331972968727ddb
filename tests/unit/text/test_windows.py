"""Windows over a body: within the cap, without gaps, and back to the body."""

from hypothesis import example, given
from hypothesis import strategies as st

from kbstore.text import LineRange, Position, estimate_tokens, split_lines, text_of_range
from kbstore.text.windows import (
    MARK,
    Window,
    cut,
    fits,
    is_numbered,
    is_one_read,
    last_line_of_read,
    window,
)

CAPS = st.integers(20, 200)
BODIES = st.lists(
    st.text(st.sampled_from("ab 漢é\t│#9"), max_size=300), min_size=1, max_size=40
).map("\n".join)


def walk(body: str, cap: int) -> list[Window]:
    lines = split_lines(body)
    shown = [window(lines, Position(1), len(lines), cap)]
    while shown[-1].next is not None:
        assert len(shown) <= len(body) + 2, "a walk goes forward"
        shown.append(window(lines, shown[-1].next, len(lines), cap))
    return shown


@given(BODIES, CAPS)
def test_what_the_windows_cover_is_the_body(body: str, cap: int) -> None:
    pieces: list[str] = []
    at: Position | None = None
    for shown in walk(body, cap):
        text = text_of_range(body, shown.range)
        assert [line.partition(MARK)[2] for line in shown.lines] == text.split("\n")
        if at is not None and at.line == shown.range.start.line and shown.range.start.col:
            pieces[-1] += text
        else:
            pieces.append(text)
        at = shown.range.end
    assert "\n".join(pieces) == body


@given(BODIES, CAPS)
def test_a_window_keeps_to_the_cap(body: str, cap: int) -> None:
    for shown in walk(body, cap):
        assert estimate_tokens("".join(f"{line}\n" for line in shown.lines)) <= cap + 1


@given(BODIES, CAPS)
def test_only_a_line_too_long_for_a_read_has_columns(body: str, cap: int) -> None:
    for shown in walk(body, cap):
        if shown.range.end.col is not None:
            assert len(shown.lines) == 1


@given(BODIES, CAPS)
def test_the_range_of_every_window_is_one_read(body: str, cap: int) -> None:
    lines = split_lines(body)
    for shown in walk(body, cap):
        assert is_one_read(body, lines, shown.range, cap)


@given(BODIES, CAPS, st.data())
def test_a_range_past_what_a_read_shows_is_none(body: str, cap: int, data: st.DataObject) -> None:
    lines = split_lines(body)
    start = data.draw(st.integers(1, len(lines)))
    last = last_line_of_read(lines, start, cap)
    whole = LineRange(Position(start), Position(min(len(lines), last + 1)))
    if not fits(body, cap) and last < len(lines):
        assert not is_one_read(body, lines, whole, cap)


def test_a_read_of_a_body_that_fits_shows_all_of_it() -> None:
    body = "\n" * 390
    lines = split_lines(body)
    everything = LineRange(Position(1), Position(len(lines)))
    assert window(lines, Position(1), len(lines), 100).next is not None
    assert is_one_read(body, lines, everything, 100)


def test_a_window_ends_at_its_last_line() -> None:
    shown = window(["a", "b", "c"], Position(2), 2, 100)
    assert shown == Window(("2│b",), LineRange(Position(2), Position(2)), None)


def test_a_window_from_a_column_says_where_it_begins() -> None:
    shown = window(["abcdef", "x"], Position(1, 4), 2, 100)
    assert shown.lines == ("1│ef", "2│x")
    assert shown.range == LineRange(Position(1, 4), Position(2))


@given(st.text(st.sampled_from("ab漢"), max_size=400), st.integers(0, 60))
@example("漢" * 50, 10)
def test_a_cut_is_the_longest_beginning_within_its_tokens(text: str, tokens: int) -> None:
    part = cut(text, tokens)
    assert text.startswith(part)
    assert estimate_tokens(part) <= tokens
    if part != text and not text[len(part)].isascii():
        assert estimate_tokens(text[: len(part) + 1]) > tokens


def test_numbers_of_a_read_are_seen() -> None:
    assert is_numbered("12│text")
    assert is_numbered("1│a\n\n2│b")
    assert not is_numbered("12│text\nmore")
    assert not is_numbered("")
    assert not is_numbered("│text")
    assert not is_numbered("12 │text")
