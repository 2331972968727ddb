"""`docs/reference/tools.md` tells of every tool and argument, and its examples work."""

import json
import re
from pathlib import Path

import pytest

from api.tools.registry import TOOLS, TOOLS_BY_NAME
from api.tools.tool import Tool
from tests.asking import Client
from tests.tools.doors import HttpDoor, Json

PAGE = Path(__file__).parents[2] / "docs/reference/tools.md"
_EXAMPLE = re.compile(r"```json request (\w+)\n(.*?)```\n\n```json result\n(.*?)```", re.DOTALL)
COMMON = {"revision", "asOf", "minRevision"}
"""Arguments that are told of once for all tools."""


def section(tool: str) -> str:
    text = PAGE.read_text()
    start = text.index(f"\n## {tool}\n")
    end = text.find("\n## ", start + 1)
    return text[start:end]


def test_the_table_lists_the_tools_in_their_order() -> None:
    listed = re.findall(r"^\| \[`(\w+)`\]\(#\1\) \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    assert listed == [(tool.name, tool.group) for tool in TOOLS]


@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
def test_every_argument_is_told_of(tool: Tool) -> None:
    properties = tool.input_schema["properties"]
    assert isinstance(properties, dict)
    told = section(tool.name)
    missing = [name for name in properties if name not in COMMON and f"`{name}`" not in told]
    assert missing == []


def test_the_examples_work_and_answer_as_shown(ana: Client) -> None:
    door = HttpDoor(ana)
    for arguments in (
        {
            "op": "write",
            "scope": "org:acme",
            "key": "policies",
            "name": "Policies",
            "description": "What we promise",
        },
        {
            "op": "write",
            "scope": "org:acme",
            "parent": "Policies",
            "key": "refund",
            "name": "Refund policy",
            "body": "# Refunds\n\n",
        },
        {
            "op": "write",
            "page": "Refund policy",
            "body": "# Refunds\n\n## Deadlines\nWithin 14 days.",
        },
    ):
        assert door.call("knowledge_page", arguments).result is not None
    note = {
        "op": "add",
        "page": "Refund policy",
        "text": "A refund took 3 days",
        "scope": ["org:acme"],
    }
    assert door.call("knowledge_note", note).result is not None
    examples = _EXAMPLE.findall(PAGE.read_text())
    assert [name for name, _, _ in examples] == [tool.name for tool in TOOLS]
    for name, request, result in examples:
        assert name in TOOLS_BY_NAME
        answered, shown = door.call(name, json.loads(request)).ok, json.loads(result)
        assert keys_of(answered) == keys_of(shown), name


def keys_of(value: Json) -> dict[str, object]:
    """The fields of a result, and those of the objects in it."""
    return {
        name: sorted(inner) if isinstance(inner, dict) else None for name, inner in value.items()
    }
