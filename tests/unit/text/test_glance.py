"""A long body at a glance."""

import re

from hypothesis import given
from hypothesis import strategies as st

from kbstore.text import estimate_tokens, outline_of, split_lines
from kbstore.text.glance import glance

BODIES = st.lists(
    st.one_of(
        st.sampled_from(["# One", "## Two", "### Three", "", "text", "- item"]),
        st.text(st.sampled_from("ab 漢"), max_size=200),
    ),
    min_size=1,
    max_size=60,
).map("\n".join)

_LINE = re.compile(r"(\d+)│(.*)", re.DOTALL)
_GAP = re.compile(r"⋯ lines? (\d+)(?:–(\d+))?")


@given(BODIES, st.integers(100, 400))
def test_every_heading_is_there_and_every_line_is_shown_or_accounted_for(
    body: str, cap: int
) -> None:
    lines, outline = split_lines(body), outline_of(body)
    shown = glance(lines, outline, cap)
    if shown is None:
        return
    seen: list[int] = []
    for each in shown:
        line = _LINE.fullmatch(each)
        if line is not None:
            number, text = int(line[1]), line[2]
            assert lines[number - 1].startswith(text.removesuffix("…"))
            seen.append(number)
        else:
            gap = _GAP.fullmatch(each)
            assert gap is not None, each
            seen += range(int(gap[1]), int(gap[2] or gap[1]) + 1)
    assert seen == sorted(set(seen))
    assert {heading.line for heading in outline} <= set(seen)
    assert all(not lines[n - 1].strip() for n in set(range(1, len(lines) + 1)) - set(seen))


@given(BODIES, st.integers(100, 400))
def test_it_keeps_to_the_cap(body: str, cap: int) -> None:
    shown = glance(split_lines(body), outline_of(body), cap)
    if shown is not None:
        gaps = sum(each.startswith("⋯") for each in shown)
        assert estimate_tokens("\n".join(shown)) <= cap + 2 * gaps + 1


def test_sections_share_evenly_and_in_order() -> None:
    sections = [
        "\n".join([f"# {name}", *(f"line {n} of {name}" for n in range(40))]) for name in "abcd"
    ]
    body = "\n".join([*sections, "# last", "short"])
    shown = glance(split_lines(body), outline_of(body), 400)
    assert shown is not None
    counts = [sum(f"of {name}" in line for line in shown) for name in "abcd"]
    assert max(counts) - min(counts) <= 2
    assert min(counts) > 5
    assert shown[-2:] == ("165│# last", "166│short")


def test_what_a_short_section_leaves_goes_to_the_next() -> None:
    long = "\n".join(f"line {n}" for n in range(100))
    alone = glance(split_lines(f"# a\n{long}"), outline_of(f"# a\n{long}"), 200)
    body = f"# a\nshort\n# b\n{long}"
    after_short = glance(split_lines(body), outline_of(body), 200)
    assert alone is not None
    assert after_short is not None
    assert len(after_short) > len(alone) - 10


def test_a_body_without_headings_has_none() -> None:
    assert glance(["a", "b"], (), 100) is None


def test_headings_over_the_cap_are_none() -> None:
    body = "\n".join(f"# heading {n}" for n in range(100))
    assert glance(split_lines(body), outline_of(body), 100) is None


def test_a_heading_is_cut_where_it_is_a_text_of_its_own() -> None:
    body = "# " + "word " * 1_000 + "\ntext"
    shown = glance(split_lines(body), outline_of(body), 200)
    assert shown is not None
    assert shown[0].endswith("…")
    assert estimate_tokens(shown[0]) <= 51
