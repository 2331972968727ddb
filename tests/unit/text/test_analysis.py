"""One analysis of a body: outline, title, passages, and what bounds them."""

import time
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kbstore.text import Link, analyse, estimate_tokens, markdown, split_lines
from kbstore.text.markdown import MARKDOWN_LEVELS_MAX, MARKDOWN_TOKENS_MAX, parse_blocks
from kbstore.text.outline import slug
from kbstore.text.passages import PASSAGE_CHARACTERS_MAX

Headings = list[tuple[int, str, int]]


def headings(body: str) -> Headings:
    return [(h.level, h.text, h.line) for h in analyse(body).outline]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("# A\n\n```\n# no\n```\n## B\n", [(1, "A", 1), (2, "B", 6)]),
        ("- item\n\n  ```\n  # no\n  ```\n\n# A\n", [(1, "A", 7)]),
        ("1. item\n   ~~~ sh\n   # no\n   ~~~\n# A", [(1, "A", 5)]),
        ("``` Python\n# no\n```\n# A", [(1, "A", 4)]),
        ("~~~\n# no\n```\n# no\n~~~\n# A", [(1, "A", 6)]),
        ("````md\n```\n# no\n```\n# no\n````\n# A", [(1, "A", 7)]),
        ("text\n\n    # no\n\n# A", [(1, "A", 5)]),
        ("text\n    # no, a lazy line", []),
        ("# A\n```\n# no\n## no", [(1, "A", 1)]),
        ("- ```\n  # no\n# A, behind a list item's unclosed fence", [(1, "A, behind", 3)]),
        ("Setext\n---\nOther\n===", [(2, "Setext", 1), (1, "Other", 3)]),
        ("two\nlines\n---", [(2, "two lines", 1)]),
        ("---\na: 1\n---\n# A", [(1, "A", 4)]),
        ("---\na: 1\n---\nSetext\n---\n", [(2, "Setext", 4)]),
        ("---\n# no\na: 1\n...\n# A", [(1, "A", 5)]),
        ("#no\n####### no\n\\# no\n# `#` yes #", [(1, "`#` yes", 4)]),
        ("> # Quoted\n\n- ## Listed", [(1, "Quoted", 1), (2, "Listed", 3)]),
        ("<!--\n# no\n-->\n# A", [(1, "A", 4)]),
        ("<div>\n# no\n\n# A", [(1, "A", 4)]),
        ("#\n# A", [(1, "", 1), (1, "A", 2)]),
        ("a\x0c\n# A\x85b\u2028c\n# B", [(1, "A\x85b\u2028c", 2), (1, "B", 3)]),
        ("| a |\n|---|\n| # no |\n# A", [(1, "A", 4)]),
        ("[ref]: /url\n===\n# A", [(1, "A", 3)]),
        ("", []),
    ],
)
def test_outline(body: str, expected: Headings) -> None:
    found = headings(body)
    assert [(level, line) for level, _, line in found] == [(e[0], e[2]) for e in expected]
    assert all(text.startswith(e[1]) for (_, text, _), e in zip(found, expected, strict=True))


MARKDOWN = st.lists(
    st.sampled_from(
        (
            *("# a", "## b", "---", "===", "```", "````", "~~~", "- x", "  - y", "1. z", "> q"),
            *("> # h", "    # c", "  # d", "text", "", "", "<!--", "-->", "<div>", "[r]: /u"),
            *("\t# t", "- # l"),
        )
    ),
    max_size=14,
).map("\n".join)


@given(MARKDOWN)
def test_the_outline_is_that_of_the_commonmark_parser(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(text)
    expected = [
        (int(token.tag[1]), token.map[0] + 1)
        for token in tokens
        if token.type == "heading_open" and token.map
    ]
    assert [(h.level, h.line) for h in parse_blocks(text).headings] == expected
    moved = parse_blocks(text, lines_above=5).headings
    assert [(h.level, h.line - 5) for h in moved] == expected


def test_sections_hold_their_subsections() -> None:
    body = "intro\n# A\na\n## B\nb\n### C\nc\n## D\n# E\n"
    spans = [(h.text, h.line, h.end_line) for h in analyse(body).outline]
    assert spans == [("A", 2, 8), ("B", 4, 7), ("C", 6, 7), ("D", 8, 8), ("E", 9, 10)]


@given(MARKDOWN, st.sampled_from(["", "測試", "é"]))
def test_section_tokens_are_those_of_its_lines(text: str, word: str) -> None:
    body = text.replace("text", word)
    lines = split_lines(body)
    for heading in analyse(body).outline:
        section = "\n".join(lines[heading.line - 1 : heading.end_line])
        assert heading.tokens == estimate_tokens(section)


def test_anchors_are_unique() -> None:
    body = "# A b!\n# A b\n# a-b-1\n# a B\n# ???\n# 測試 é\n# ???"
    anchors = [h.anchor for h in analyse(body).outline]
    assert anchors == ["a-b", "a-b-1", "a-b-1-1", "a-b-2", "section", "測試-é", "section-1"]
    assert slug("`code` -- & [x](y)") == "code----xy"


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("---\ntitle: ' T '\n---\n# H", "T"),
        ("---\ntitle: 12\n---\n# H", "H"),
        ("---\ntitle: ''\n---\n# H", "H"),
        ("---\ntitle: [\n---\n\n## H", "title: ["),
        ("text\n\n#\n### H", "H"),
        ("text", None),
        ("", None),
    ],
)
def test_title(body: str, title: str | None) -> None:
    assert analyse(body).title == title


def test_the_whole_analysis() -> None:
    body = "---\ntitle: T\n---\n# H\n\nsee [[P]]\n"
    found = analyse(body)
    assert (found.line_count, found.tokens) == (7, estimate_tokens(body))
    assert found.front_matter.values == {"title": "T"}
    assert found.links == (Link("wiki", "P", 6),)
    assert [(p.start_line, p.end_line, p.heading, p.text) for p in found.passages] == [
        (4, 7, 0, "# H\n\nsee [[P]]\n")
    ]


# --- passages ---------------------------------------------------------------------------------


@given(st.lists(st.tuples(MARKDOWN, st.sampled_from([0, 900, 2_100])), max_size=4))
def test_passages_lose_nothing(parts: list[tuple[str, int]]) -> None:
    body = "\n".join(text.replace("text", "w " * (size // 2) + "text") for text, size in parts)
    found = analyse(body)
    behind = "\n".join(split_lines(body)[found.front_matter.end_line :])
    if not behind.strip():
        assert found.passages == ()
        return
    assert "\n".join(passage.text for passage in found.passages) == behind
    next_line = found.front_matter.end_line + 1
    for passage in found.passages:
        assert passage.start_line == next_line
        assert passage.text.strip()
        next_line = passage.end_line + 1
        first_text = next(
            n
            for n, line in enumerate(split_lines(passage.text), passage.start_line)
            if line.strip()
        )
        above = [n for n, heading in enumerate(found.outline) if heading.line <= first_text]
        assert passage.heading == (above[-1] if above else None)
        assert not any(first_text < h.line <= passage.end_line for h in found.outline)
    assert next_line == found.line_count + 1


def test_passages_end_with_their_section() -> None:
    body = "\n\n# A\na\n\n## B\n\n\nb\n# C"
    assert [(p.start_line, p.end_line, p.heading) for p in analyse(body).passages] == [
        (1, 5, 0),
        (6, 9, 1),
        (10, 10, 2),
    ]


def test_a_long_section_is_cut_between_blocks() -> None:
    block = "x" * 900 + "\n" + "x" * 90
    body = "# A\n\n" + "\n\n".join([block] * 4)
    assert [(p.start_line, p.end_line) for p in analyse(body).passages] == [(1, 8), (9, 13)]


def test_a_long_block_is_cut_at_inner_blocks_and_then_at_lines() -> None:
    items = "\n".join("- " + "x" * 600 + "\n  " + "y" * 600 for _ in range(4))
    starts = [p.start_line for p in analyse(items).passages]
    assert starts == [1, 3, 5, 7]
    code = "```\n" + "\n".join(["x" * 99] * 50) + "\n```"
    sizes = [len(p.text) for p in analyse(code).passages]
    assert max(sizes) <= PASSAGE_CHARACTERS_MAX
    assert len(sizes) == 3
    assert [len(p.text) for p in analyse("x" * 5_000 + "\ny").passages] == [5_000, 1]


def test_the_passage_limit_is_met_exactly() -> None:
    half = PASSAGE_CHARACTERS_MAX // 2
    fits = "a" * (half - 2) + "\n\n" + "b" * half
    assert len(fits) == PASSAGE_CHARACTERS_MAX
    assert len(analyse(fits).passages) == 1
    assert len(analyse(fits + "b").passages) == 2


# --- bounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["- ", "> ", "> - ", "1. "])
def test_deep_nesting_does_not_swallow_what_follows(mark: str) -> None:
    body = f"{mark * 400}# deep\n\n# A\n"
    assert headings(body)[-1] == (1, "A", 3)
    assert "".join(p.text for p in analyse(body).passages).count(mark) == 400


def test_the_nesting_limit() -> None:
    quotes = "> " * (MARKDOWN_LEVELS_MAX - 1)
    assert [h[1] for h in headings(f"{quotes}# in")] == ["in"]
    assert [h[1] for h in headings(f"{quotes}> # in")] == ["in"]
    assert headings(f"{quotes}> > # text of a paragraph") == []


def test_a_parse_makes_a_bounded_number_of_tokens() -> None:
    assert MARKDOWN_TOKENS_MAX == 500_000
    with mock.patch.object(markdown, "MARKDOWN_TOKENS_MAX", 30):
        found = analyse("# a\n" * 11 + "- b\n" * 3)
    assert [h.line for h in found.outline] == list(range(1, 11))
    assert found.passages[-1].end_line == found.line_count == 15


def seconds_to_analyse(body: str) -> float:
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        analyse(body)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize(
    "unit",
    [
        "## H\n\n**bold** words `c` [[P]] [a](b.md)\n\n- x\n- y\n\n| a | b |\n|---|---|\n\n",
        "- [ ] ",
        "[[a",
        '](a "(<',
        "`\\`` ",
        "> - a\nb\n",
        "[a]: <\n",
        "<!--\n- ```\n",
    ],
)
def test_time_is_linear(unit: str) -> None:
    small = (unit * (20_000 // len(unit) + 1))[:20_000]
    assert seconds_to_analyse(small * 8) <= 8 * 4 * max(seconds_to_analyse(small), 0.002)


@given(st.text("#-*`~[]()<>!|\\ \t\n\"'=:&;a1.\x00\r\ud800", max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    assert analyse(text).line_count == text.count("\n") + 1
