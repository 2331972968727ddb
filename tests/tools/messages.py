"""The table of `docs/reference/tool-messages.md`, for holding answers against it."""

import re
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from msgspec import Struct

PAGE = Path(__file__).parents[2] / "docs/reference/tool-messages.md"
_PLACEHOLDER = re.compile(r"<[^<>]+>")


class Message(Struct, frozen=True):
    """A row; `<...>` in the message stands for what differs from case to case."""

    tools: tuple[str, ...]
    when: str
    message: str
    code: str

    def fits(self, message: str) -> bool:
        parts = map(re.escape, _PLACEHOLDER.split(self.message))
        return re.fullmatch(".+?".join(parts), message, re.DOTALL) is not None


@cache
def table() -> tuple[Message, ...]:
    rows: list[Message] = []
    cells: list[str] = []
    for token in MarkdownIt("commonmark").enable("table").parse(PAGE.read_text("utf-8")):
        if token.type == "tr_open":
            cells = []
        elif token.type == "td_open":
            cells.append("")
        elif token.type == "inline" and cells:
            code = [child.content for child in token.children or [] if child.type == "code_inline"]
            cells[-1] = code[0] if len(code) == 1 else token.content
        elif token.type == "tr_close" and len(cells) == 4:
            tools, when, message, code_ = cells
            rows.append(Message(tuple(tools.split(", ")), when, message, code_))
    return tuple(rows)


def documented(tool: str) -> list[Message]:
    """The messages of a tool, and those of every tool that writes."""
    return [row for row in table() if {tool, "writes", "all"} & set(row.tools)]
