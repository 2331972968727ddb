"""One CommonMark parse of a text: its headings, block borders and inline content.

Only the block rules run. What the rest of this package needs to know of the structure, where
code is and where it is not, comes from here; nothing else looks for Markdown blocks.
"""

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock, blockquote, list_block
from markdown_it.token import Token
from msgspec import Struct

MARKDOWN_LEVELS_MAX = 40
"""How deep blocks may nest, as the parser counts: a list and its item are two levels."""

MARKDOWN_TOKENS_MAX = 500_000
"""How many tokens one parse makes: some 230 MB, and more than 4 MiB of dense Markdown needs."""


class HeadingBlock(Struct, frozen=True, gc=False):
    """A heading as parsed; `text` keeps its inline marks, with line ends as spaces."""

    level: int
    text: str
    line: int


class InlineBlock(Struct, frozen=True, gc=False):
    """Text of a paragraph or heading, without the marks of the blocks around it.

    Its nth line stands on line `line + n` of the body, n from 0.
    """

    line: int
    content: str


class Definition(Struct, frozen=True, gc=False):
    """A link reference definition, `[label]: url`."""

    line: int
    url: str


class Blocks(Struct, frozen=True):
    """What one parse found, in the order of the text; lines count from line 1 of the body.

    `borders` are the first lines of blocks that stand in no other block, `inner_borders`
    those of blocks inside lists and quotes; both ascend and may repeat a line.
    """

    headings: tuple[HeadingBlock, ...] = ()
    inlines: tuple[InlineBlock, ...] = ()
    definitions: tuple[Definition, ...] = ()
    borders: tuple[int, ...] = ()
    inner_borders: tuple[int, ...] = ()


class _BoundedBlocks(ParserBlock):
    """The library's loop over the block rules, within two limits of our own.

    At the nesting limit the rules that nest rest, and the text goes on as paragraphs: the
    library drops everything up to the end there, so that one deep list would take all later
    headings with it. At the token limit the parse ends.
    """

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:
        rules = self.ruler.getRules("")
        if state.level >= MARKDOWN_LEVELS_MAX:
            rules = [rule for rule in rules if rule not in (list_block, blockquote)]
        line = startLine
        blank_lines = False
        while line < endLine:
            state.line = line = state.skipEmptyLines(line)
            if line >= endLine or state.sCount[line] < state.blkIndent:
                break
            if len(state.tokens) >= MARKDOWN_TOKENS_MAX:
                state.line = endLine
                break
            if not any(rule(state, line, endLine, False) for rule in rules):
                raise RuntimeError("no block rule matched")
            state.tight = not blank_lines
            line = state.line
            if line - 1 < endLine and state.isEmpty(line - 1):
                blank_lines = True
            if line < endLine and state.isEmpty(line):
                blank_lines = True
                line += 1
                state.line = line


class _BlockParser(MarkdownIt):
    """CommonMark, block rules only; link definitions keep their address as written."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"inline_definitions": True})
        rules = self.block.ruler.get_active_rules()
        self.block = _BoundedBlocks()
        self.block.ruler.enableOnly(rules)

    def normalizeLink(self, url: str) -> str:
        return url

    def validateLink(self, url: str) -> bool:
        return True


_PARSER = _BlockParser()


def parse_blocks(text: str, lines_above: int = 0) -> Blocks:
    """The blocks of a Markdown text that has `lines_above` lines of the body above it.

    Time is linear in the length. Blocks nested deeper than 20 lists or 40 quotes are read as
    paragraphs. Only "\\n" ends a line.
    """
    # `MarkdownIt.parse` would first turn "\r" into line ends and NUL into U+FFFD: here the
    # text is read as it stands, so that line numbers are those of `split_lines`.
    tokens: list[Token] = []
    _PARSER.block.parse(text, _PARSER, {}, tokens)
    first = lines_above + 1
    headings: list[HeadingBlock] = []
    inlines: list[InlineBlock] = []
    definitions: list[Definition] = []
    borders: list[int] = []
    inner_borders: list[int] = []
    level = 0
    for token in tokens:
        if token.map is None:
            continue
        line = token.map[0] + first
        if token.type == "inline":
            inlines.append(InlineBlock(line, token.content))
            if level:
                text_lines = token.content.split("\n")
                headings.append(HeadingBlock(level, " ".join(map(str.strip, text_lines)), line))
                level = 0
            continue
        (inner_borders if token.level else borders).append(line)
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "definition":
            definitions.append(Definition(line, token.meta["url"]))
    return Blocks(
        tuple(headings),
        tuple(inlines),
        tuple(definitions),
        tuple(borders),
        tuple(inner_borders),
    )
