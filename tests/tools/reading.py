"""What tests of knowledge_read share: bodies, and parts of its answers."""

import json
import re
from typing import Any

from tests.asking import Client, Page
from tests.knowledge import SCOPE
from tests.tools.doors import Door, Json, Reply

SECTION = "\n".join(f"line {number} with a few words in it" for number in range(30))
LONG = "before\n\n" + "\n".join(f"## Part {part}\n{SECTION}" for part in range(10))
FLAT = "\n".join(f"plain line {number}" for number in range(600))
WIDE = "word " * 4_000


def page_of(reply: Reply) -> Json:
    page = reply.ok["page"]
    assert isinstance(page, dict)
    return page


def more(reply: Reply) -> list[str]:
    lines = reply.ok.get("more", [])
    assert isinstance(lines, list)
    return lines


def items(reply: Reply, field: str) -> list[Json]:
    found = reply.ok[field]
    assert isinstance(found, list)
    return found


def next_spot(line: str) -> Json:
    """What `from` a line of `more` gives."""
    found = re.search(r"from: (\{.*\})", line)
    assert found is not None, line
    spot = json.loads(found[1])
    assert isinstance(spot, dict)
    return spot


def add_note(client: Client, page: Page, text: str, *stamps: str, when: str | None = None) -> str:
    body = {"text": text, "scope": list(stamps or (SCOPE,)), "when": when}
    answer = client.ask("POST", f"/pages/{page.id}/notes", body)
    assert answer.status == 201, answer.raw
    return str(answer.json["note"]["id"])  # type: ignore[index]


def made_long(ana: Client, body: str = LONG) -> Page:
    return ana.made("long", name="Long", body=body)


def read(door: Door, page: str | None = f"{SCOPE}#long", /, **arguments: Any) -> Reply:
    given = {} if page is None else {"page": page}
    return door.call("knowledge_read", {**given, **arguments})
