"""The analysis of a body: one parse, and everything the surfaces show comes from it."""

from msgspec import Struct

from kbstore.text.frontmatter import FrontMatter, split_front_matter
from kbstore.text.lines import split_lines
from kbstore.text.links import Link, links_of
from kbstore.text.markdown import parse_blocks
from kbstore.text.outline import Heading, build_outline
from kbstore.text.passages import Passage, build_passages
from kbstore.text.tokens import estimate_tokens


class Analysis(Struct, frozen=True):
    """What is known of a body; all line numbers count from its line 1, front matter included.

    `title` is the front matter's `title` when that is a string with text in it, else the
    first heading that has text, else None.
    """

    line_count: int
    tokens: int
    front_matter: FrontMatter
    outline: tuple[Heading, ...]
    passages: tuple[Passage, ...]
    links: tuple[Link, ...]
    title: str | None


def analyse(body: str) -> Analysis:
    """The analysis of a body; linear in its length, never raises for any text."""
    lines = split_lines(body)
    front_matter = split_front_matter(body)
    above = front_matter.end_line
    blocks = parse_blocks("\n".join(lines[above:]) if above else body, above)
    outline = build_outline(lines, blocks.headings)
    return Analysis(
        line_count=len(lines),
        tokens=estimate_tokens(body),
        front_matter=front_matter,
        outline=outline,
        passages=build_passages(lines, blocks, above),
        links=links_of(blocks),
        title=_title(front_matter, outline),
    )


def outline_of(body: str) -> tuple[Heading, ...]:
    """The outline alone, as `analyse` has it, for a third of the time."""
    lines = split_lines(body)
    above = split_front_matter(body).end_line
    blocks = parse_blocks("\n".join(lines[above:]) if above else body, above)
    return build_outline(lines, blocks.headings)


def _title(front_matter: FrontMatter, outline: tuple[Heading, ...]) -> str | None:
    given = (front_matter.values or {}).get("title")
    if isinstance(given, str) and given.strip():
        return given.strip()
    return next((heading.text for heading in outline if heading.text), None)
