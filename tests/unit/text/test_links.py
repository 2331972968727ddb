import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from kbstore.limits import LINKS_PER_TEXT_MAX
from kbstore.text import Link, analyse, extract_links


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Page Name]]", [("wiki", "Page Name", 1)]),
        ("a\n[[org:acme#policies/refund]]", [("wiki", "org:acme#policies/refund", 2)]),
        ("[[ x | the label ]]", [("wiki", "x", 1)]),
        ("| [[x\\|label]] |\n|---|", [("wiki", "x", 1)]),
        ("[[測試]] ![[embed]]", [("wiki", "測試", 1), ("wiki", "embed", 1)]),
        ("[[a]][[b]] [[a]]", [("wiki", "a", 1), ("wiki", "b", 1)]),
        ("[[[x]]]", [("wiki", "x", 1)]),
        ("[[a\\*b]]", [("wiki", "a*b", 1)]),
        ("[[]] [[ ]] [[|x]] [[a\nb]] [[a] ] \\[[a]] [\\[a]]", []),
        ("[t](../a/b.md#frag)", [("relative", "../a/b.md#frag", 1)]),
        ("[t](b.md) [t](/c.md?x)", [("relative", "b.md", 1), ("relative", "/c.md?x", 1)]),
        ("[t](<my page.md>)", [("relative", "my page.md", 1)]),
        ("[t](my%20page.md)", [("relative", "my%20page.md", 1)]),
        (
            "[t](a.md \"title\") [t](b.md 't') [t]( c.md (t) )",
            [("relative", "a.md", 1), ("relative", "b.md", 1), ("relative", "c.md", 1)],
        ),
        ("[t](a_(b).md) [t](c\\).md)", [("relative", "a_(b).md", 1), ("relative", "c).md", 1)]),
        ("[`code` [x]](a.md)", [("relative", "a.md", 1)]),
        ("[t](https://x.test) [t](mailto:a@x.test) [t](//x.test) [t](#here) [t]()", []),
        ("[t](HTTP:x) [t](org:acme#a)", []),
        ("[t] (a.md) t](a.md) \\[t](a.md) [t\\](a.md)", []),
        ("![alt](a.png)", []),
        ("[![alt](a.png)](b.md)", [("relative", "b.md", 1)]),
        ("[[inner](a.md)](b.md)", [("relative", "a.md", 1)]),
        ("[[x]](b.md)", [("relative", "b.md", 1)]),
        ("[[x]](see below)", [("wiki", "x", 1)]),
        ("[t][r]\n\n[r]: ../a.md 'title'\n[s]: https://x.test", [("relative", "../a.md", 3)]),
        ("# [[h]]\n\n> - [[q]]\n>   [[r]]", [("wiki", "h", 1), ("wiki", "q", 3), ("wiki", "r", 4)]),
        ("`[[a]]` ``[[b]] ` [[c]]`` [[d]]", [("wiki", "d", 1)]),
        ("`[[a]] [[b]]", [("wiki", "a", 1), ("wiki", "b", 1)]),
        ("\\`[[a]]`", [("wiki", "a", 1)]),
        ("`a\n[[no]]\n` [[b]]", [("wiki", "b", 3)]),
        ("```\n[[a]]\n```\n[[b]]", [("wiki", "b", 4)]),
        ("- x\n\n      [[a]]\n\n    [[b]]", [("wiki", "b", 5)]),
        ("text\n\n    [[a]]\n", []),
        ("~~~\n[[a]] unclosed", []),
        ("<!-- [[a]] -->\n\n<div>\n[[b]]\n</div>", []),
        ("[[b]] [t](b)", [("wiki", "b", 1), ("relative", "b", 1)]),
        ("", []),
    ],
)
def test_links(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert [(x.kind, x.target, x.line) for x in extract_links(text)] == expected
    assert analyse(text).links == extract_links(text)


def test_lines_count_the_front_matter() -> None:
    body = "---\nsee: '[[no]]'\n---\n[[a]]\n\n[b](b.md)\n[[c]]\n[[d]]\n"
    assert [(x.target, x.line) for x in analyse(body).links] == [
        ("a", 4),
        ("b.md", 6),
        ("c", 7),
        ("d", 8),
    ]


def test_the_limit_counts_distinct_links() -> None:
    text = "\n".join(f"[[p{n}]] [[p0]]" for n in range(LINKS_PER_TEXT_MAX))
    found = extract_links(text)
    assert len(found) == LINKS_PER_TEXT_MAX
    assert found[-1] == Link("wiki", f"p{LINKS_PER_TEXT_MAX - 1}", LINKS_PER_TEXT_MAX)
    assert extract_links(text + "\n[[one more]]") == found


class _AsWritten(MarkdownIt):
    def normalizeLink(self, url: str) -> str:
        return url


def destinations(text: str) -> set[str]:
    """What the full CommonMark parser finds, each address as written."""
    parser = _AsWritten("commonmark").disable(["html_inline", "autolink"])
    found: set[str] = set()
    todo: list[Token] = list(parser.parse(text))
    while todo:
        token = todo.pop()
        if token.type == "link_open":
            found.add(str(token.attrs["href"]))
        todo.extend(token.children or [])
    return {url for url in found if url and not url.startswith("#")}


INLINE = st.lists(
    st.sampled_from(
        (
            *("[", "]", "(", ")", "`", "``", "\\", "a", "b.md", " ", "\n", "[x](y)", "](c)", '"t"'),
            *(">", "> ", "- ", "    ", "#", "./d#f", "\n\n", "<e>", "[x](<f>)"),
        )
    ),
    max_size=14,
).map("".join)


@given(INLINE.filter(lambda text: "[[" not in text and "]:" not in text))
def test_markdown_links_are_those_of_the_commonmark_parser(text: str) -> None:
    assert {link.target for link in extract_links(text)} == destinations(text)
