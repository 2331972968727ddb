"""The command line and `docs/reference/cli.md` say the same, both ways."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
from markdown_it import MarkdownIt

from api.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
MARKDOWN = MarkdownIt("commonmark").enable("table")
COMMON = "common to all"

Option = tuple[str, str, str]
"""A name, its default ("needed" without one), and its environment variable."""


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def usage(path: str, command: click.Command) -> str:
    context = click.Context(command)
    arguments = [
        parameter.make_metavar(context)
        for parameter in command.params
        if isinstance(parameter, click.Argument)
    ]
    return " ".join([path, *arguments])


def options(command: click.Command) -> set[Option]:
    found = set()
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            (name,) = parameter.opts
            default = parameter.to_info_dict()["default"]
            said = "needed" if parameter.required else str(default) if shows(default) else ""
            found.add((name, said, str(parameter.envvar or "")))
    return found


def shows(default: object) -> bool:
    return isinstance(default, str | int) and not isinstance(default, bool)


def documented() -> dict[str, set[Option]]:
    """The options in the table under each heading, those above the first one under COMMON."""
    found: dict[str, set[Option]] = {COMMON: set()}
    section, row, in_body = COMMON, list[str](), False
    tokens = MARKDOWN.parse(PAGE.read_text("utf-8"))
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and before.type == "heading_open" and before.tag == "h2":
            section = token.content.strip("`")
            found[section] = set()
        elif token.type in ("tbody_open", "tbody_close"):
            in_body = token.type == "tbody_open"
        elif token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(token.content.strip("`"))
        elif token.type == "tr_close" and in_body:
            found[section].add((row[0], row[1], row[2]))
    return found


def test_every_command_and_option_is_documented_and_every_documented_one_exists() -> None:
    said = documented()
    common = said.pop(COMMON)
    real = {usage(path, command): options(command) for path, command in commands(main, "kbstore")}
    assert all(common <= found for found in real.values())
    assert said == {name: found - common for name, found in real.items()}


def test_every_option_and_command_explains_itself() -> None:
    for path, command in commands(main, "kbstore"):
        assert command.help, path
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (path, parameter.name)


def test_every_command_shows_an_output_that_is_json() -> None:
    text = PAGE.read_text("utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for section in sections:
        (example,) = re.findall(r"```json\n(.*?)\n```", section, re.DOTALL)
        assert isinstance(json.loads(example), dict), section
