"""Links in a text: `[[Page Name]]`, `[[scope#path|label]]` and relative Markdown links.

The parser says where paragraphs and headings are, so fenced, indented and raw HTML blocks
hold no links. Their inline text is scanned here from left to right: code spans first, then
links. Every step moves forward, so the time is linear in the text.
"""

import re
from collections.abc import Iterator
from typing import Literal

from markdown_it.common.utils import unescapeAll
from msgspec import Struct

from kbstore.limits import LINKS_PER_TEXT_MAX
from kbstore.text.markdown import Blocks, parse_blocks

LinkKind = Literal["wiki", "relative"]

_CODE = "\0"  # stands for every character of a code span
_ESCAPED = "\1"  # stands for a backslash escape, two characters

_ESCAPE_OR_TICKS = re.compile(r"\\[!-/:-@\[-`{-~]|`+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_BRACKET = re.compile(r"!?\[|\]")
_WIKI = re.compile(r"\[\[([^\[\]\n\x00]{1,2000})\]\]")
_DESTINATION = re.compile(
    r"""\(\s*+
    (?: <(?P<angled>[^<>\n\x00]*+)> | (?P<bare>(?:[^\s()<\x00]++|\([^\s()\x00]*+\))++) )
    (?: \s++ (?: "[^"]*+" | '[^']*+' | \([^()]*+\) ) )?+
    \s*+ \)""",
    re.VERBOSE | re.ASCII,
)
_NOT_RELATIVE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|$")


class Link(Struct, frozen=True, gc=False):
    """A link as written: `target` is what it names, `line` where it first stands, from 1.

    A wiki target is what stands before the bar, a relative one an address with its fragment.
    Backslash escapes are resolved, in an address also entities; percent-writing is left to
    whoever resolves the target.
    """

    kind: LinkKind
    target: str
    line: int


def extract_links(text: str) -> tuple[Link, ...]:
    """The links of a note's text, or of any Markdown without front matter; see `links_of`."""
    if not _may_link(text):
        return ()
    return links_of(parse_blocks(text))


def links_of(blocks: Blocks) -> tuple[Link, ...]:
    """The links in parsed blocks, each kind and target once, where it first stands.

    Relative are inline links and link definitions without scheme, host or a mere fragment;
    images are no links, `![[embeds]]` are wiki links. At most 2,000: from the next distinct
    one on they are not followed and stay text.
    """
    first: dict[tuple[LinkKind, str], int] = {}
    for kind, target, line in _in_order(blocks):
        first.setdefault((kind, target), line)
        if len(first) >= LINKS_PER_TEXT_MAX:
            break
    return tuple(Link(kind, target, line) for (kind, target), line in first.items())


_Found = tuple[LinkKind, str, int]


def _in_order(blocks: Blocks) -> Iterator[_Found]:
    """Links by line, definitions among the inline ones."""
    definitions = iter(blocks.definitions)
    definition = next(definitions, None)
    for inline in blocks.inlines:
        while definition is not None and definition.line < inline.line:
            yield from _relative(definition.url, definition.line)
            definition = next(definitions, None)
        if _may_link(inline.content):
            yield from _scan(inline.content, inline.line)
    while definition is not None:
        yield from _relative(definition.url, definition.line)
        definition = next(definitions, None)


def _may_link(text: str) -> bool:
    return "[[" in text or "](" in text or "]:" in text  # links, or a definition of one


def _scan(content: str, line: int) -> Iterator[_Found]:
    """The links of one block's inline text, which begins on `line`."""
    masked = _mask(content)
    openers: list[bool] = []  # True for an image
    dead = 0  # openers below this index, images apart, already hold a link
    counted = done = 0
    for bracket in _BRACKET.finditer(masked):
        if bracket.start() < done:
            continue
        line += content.count("\n", counted, bracket.start())
        counted = bracket.start()
        if bracket[0] != "]":
            wiki = _WIKI.match(masked, bracket.end() - 1)
            # `[[x]](y)` is a Markdown link labelled `[x]`.
            if wiki is None or _DESTINATION.match(masked, wiki.end()):
                openers.append(bracket[0] == "![")
            else:
                yield from _wiki(content[wiki.start(1) : wiki.end(1)], line)
                done = wiki.end()
            continue
        if not openers:
            continue
        is_image = openers.pop()
        is_dead = len(openers) < dead and not is_image
        dead = min(dead, len(openers))
        destination = None if is_dead else _DESTINATION.match(masked, bracket.end())
        if destination is None:
            continue
        done = destination.end()
        if not is_image:
            dead = len(openers)
            group = "bare" if destination["angled"] is None else "angled"
            target = content[destination.start(group) : destination.end(group)]
            yield from _relative(unescapeAll(target), line)


def _wiki(text: str, line: int) -> Iterator[_Found]:
    # In a table the bar is written `\|`.
    target = _ESCAPE.sub(r"\1", text.partition("|")[0].removesuffix("\\")).strip()
    if target:
        yield "wiki", target, line


def _relative(url: str, line: int) -> Iterator[_Found]:
    if not _NOT_RELATIVE.match(url):
        yield "relative", url, line


def _mask(content: str) -> str:
    """The content, of the same length, with code spans and backslash escapes blotted out."""
    if "`" not in content and "\\" not in content:
        return content
    closers = _tick_runs(content)
    parts: list[str] = []
    position = 0
    while (match := _ESCAPE_OR_TICKS.search(content, position)) is not None:
        parts.append(content[position : match.start()])
        position = match.end()
        if match[0][0] == "\\":
            parts.append(_ESCAPED * 2)
            continue
        starts = closers.get(len(match[0]), [])
        while starts and starts[-1] < position:
            starts.pop()
        if starts:
            position = starts.pop() + len(match[0])
            parts.append(_CODE * (position - match.start()))
        else:
            parts.append(match[0])
    parts.append(content[position:])
    return "".join(parts)


def _tick_runs(content: str) -> dict[int, list[int]]:
    """The starts of the runs of backticks by length, the first one last: runs may be closers."""
    runs: dict[int, list[int]] = {}
    for match in re.finditer("`+", content):
        runs.setdefault(len(match[0]), []).append(match.start())
    for starts in runs.values():
        starts.reverse()
    return runs
