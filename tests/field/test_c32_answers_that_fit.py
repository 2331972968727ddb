"""C32: one large page, or twenty hits, overflowed what an agent can take and failed as a whole.

A read shows as much of a body as its budget holds, by heading or range, and says how to go on in
the version that it shows; hits carry the line that matches, not the page.
"""

import json
import re

from kbstore.text import estimate_tokens
from tests.asking import Answer, Client
from tests.knowledge import SCOPE

BODY = "".join(
    f"## Section {number}\n\n" + "".join(f"Sentence {line} of {number}.\n" for line in range(60))
    for number in range(220)
)
ANSWER_TOKENS_MAX = 3_000
"""What an answer of any tool stays under, around the 1,000 tokens of text in it."""


def tool(client: Client, name: str, **arguments: object) -> Answer:
    answer = client.ask("POST", f"/tools/{name}", arguments)
    assert answer.status == 200, answer.raw
    assert estimate_tokens(answer.raw.decode()) <= ANSWER_TOKENS_MAX
    return answer


def test_a_page_of_300_kb_is_read_in_parts(ana: Client) -> None:
    assert len(BODY) > 250_000
    page = ana.made("large", name="Large", body=BODY)
    glance = tool(ana, "knowledge_read", page=page.ref).json["page"]
    assert isinstance(glance, dict)
    assert "body" not in glance
    part = tool(ana, "knowledge_read", page=page.ref, section="Section 100").json["page"]
    assert isinstance(part, dict)
    assert part["lines"][0].endswith("│## Section 100")
    outline = tool(ana, "knowledge_read", page=page.ref, outline=True)
    assert outline.json["more"]
    match = tool(ana, "knowledge_read", page=page.ref, match="Sentence 59", context=0)
    assert match.json["more"]


def test_parts_of_one_version_are_read_to_the_end_whatever_is_written_meanwhile(
    ana: Client,
) -> None:
    page = ana.made("large", body=BODY)
    lines: list[str] = []
    spot: object = {"line": 1}
    revision = ana.part("/scopes").revision
    while spot is not None:
        answer = tool(
            ana, "knowledge_read", page=page.ref, revision=revision, **{"from": spot}
        ).json
        shown = answer["page"]
        assert isinstance(shown, dict)
        assert shown["version"] == 1
        lines += [line.partition("│")[2] for line in shown["lines"]]
        more = answer.get("more")
        found = re.search(r"from: (\{.*\})", str(more[0])) if isinstance(more, list) else None
        spot = json.loads(found[1]) if found else None
        if len(lines) < 500:
            ana.edit(page.id, body=f"Other text {len(lines)}\n")
    assert "\n".join(lines) == BODY


def test_hits_carry_a_line_and_not_the_page(ana: Client) -> None:
    for number in range(20):
        ana.made(None, name=f"Large {number}", body="needle\n" + BODY[:20_000])
    found = tool(ana, "knowledge_search", query="needle", limit=20).json
    results = found["results"]
    assert isinstance(results, list)
    assert len(results) == 20
    assert {each["page"]["match"]["text"] for each in results} == {"needle"}


def test_a_tree_of_many_pages_is_listed_in_parts(ana: Client) -> None:
    for number in range(60):
        ana.made(None, name=f"{number:02} " + "a long name " * 20)
    listed = tool(ana, "knowledge_list", **{"from": SCOPE, "limit": 100})
    assert "left out" in str(listed.json["more"])
