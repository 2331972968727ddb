"""knowledge_search, sentence by sentence (reference 2)."""

import pytest

from tests.asking import Ask, Client
from tests.knowledge import SCOPE, TEAM
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door, Json, Reply


def results(reply: Reply) -> list[Json]:
    found = reply.ok["results"]
    assert isinstance(found, list)
    return found


def names(reply: Reply) -> list[object]:
    """The pages in order; of a note its text."""
    return [
        each["note"]["text"] if each["type"] == "note" else each["page"]["name"]  # type: ignore[index]
        for each in results(reply)
    ]


def search(door: Door, query: str, **arguments: object) -> Reply:
    return door.call("knowledge_search", {"query": query, **arguments})


def add_note(client: Client, page: str, text: str, *stamps: str) -> None:
    body = {"text": text, "scope": list(stamps or (SCOPE,))}
    assert client.ask("POST", f"/pages/{page}/notes", body).status == 201


def test_each_word_matches_as_part_of_any_word_whatever_its_case(ana: Client, door: Door) -> None:
    ana.made(None, name="Refunds")
    ana.made(None, name="Other", body="a REFUNDABLE thing")
    ana.made(None, name="Neither")
    assert names(search(door, "refund")) == ["Refunds", "Other"]
    assert names(search(door, "FUNDA")) == ["Other"]


def test_quotation_marks_are_ignored(ana: Client, door: Door) -> None:
    ana.made(None, name="A", body="alpha beta")
    for query in ('"alpha beta"', "'alpha", "“alpha” zeta", '"'):
        expected = ["A"] if "alpha" in query else []
        assert names(search(door, query)) == expected


def test_a_page_matches_by_name_description_or_body_a_note_by_its_text(
    ana: Client, door: Door
) -> None:
    page = ana.made(None, name="needle in a name")
    ana.made(None, name="B", description="needle in a description")
    ana.made(None, name="C", body="needle in a body")
    other = ana.made(None, name="D")
    add_note(ana, other.id, "needle in a note")
    add_note(ana, page.id, "straw")
    assert names(search(door, "needle")) == ["needle in a name", "B", "C", "needle in a note"]


def test_the_order_is_whole_name_then_words_then_place_then_newest(ana: Client, door: Door) -> None:
    ana.made(None, name="one", body="red")
    ana.made(None, name="body has both", body="red fox")
    ana.made(None, name="name has red", body="a fox")
    ana.made(None, name="described", description="red fox")
    ana.made(None, name="The red fox runs")
    ana.made(None, name="two", body="red")
    add_note(ana, ana.made(None, name="noted").id, "the red fox, the red fox")
    assert names(search(door, "red fox")) == [
        "The red fox runs",
        "name has red",
        "described",
        "body has both",
        "two",
        "one",
        "the red fox, the red fox",
    ]


def test_scope_and_limit(ana: Client, door: Door) -> None:
    for number in range(4):
        ana.made(None, name=f"needle {number}")
    ana.made(None, name="needle of the team", scope=TEAM)
    assert names(search(door, "needle", scope=[TEAM])) == ["needle of the team"]
    found = search(door, "needle", limit=2, scope=[SCOPE])
    assert names(found) == ["needle 3", "needle 2"]
    assert (found.ok["total"], found.ok["more"]) == (
        4,
        [
            "results: showing 2 of 4. When none of them fits, narrow the query or raise limit "
            "(up to 50)."
        ],
    )
    for limit in (0, 51):
        assert search(door, "needle", limit=limit).details["field"] == "limit"


def test_nothing_found_says_what_to_do(ana: Client, door: Door) -> None:
    found = search(door, "enterprise pricing tiers")
    assert results(found) == []
    assert found.ok["more"] == [
        'results: no page or note contains any word of "enterprise pricing tiers". Search again '
        "with different key words, or browse with knowledge_list."
    ]
    assert results(search(door, "")) == []


def test_scope_takes_addresses_only(ana: Client, door: Door) -> None:
    page = ana.made("billing")
    for given in (f"{SCOPE}#billing", page.id):
        assert search(door, "x", scope=[given]).message == (
            f'knowledge_search: scope takes scope addresses, and "{given}" names a page. '
            "List what stands under it with knowledge_list."
        )
    assert search(door, "x", scope=["vault:acme"]).message == (
        'Knowledge page "vault:acme" not found.'
    )


def test_only_what_the_run_can_read_is_found_ranked_and_counted(
    asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    page = ana.made(None, name="Open", body="needle")
    ana.made(None, name="needle needle", scope=TEAM)
    add_note(ana, page.id, "needle for all", SCOPE)
    add_note(ana, page.id, "needle for the team", TEAM)
    found = search(open_door(asking("user:vic", "viewer:acme")), "needle")
    assert names(found) == ["Open", "needle for all"]
    assert found.ok["total"] == 2


def test_a_result_shows_the_line_that_matches_best(ana: Client, door: Door) -> None:
    page = ana.made("p", name="P", body="nothing\nred\nthe red fox\n" + "x" * 900 + " zebra")
    (hit,) = results(search(door, "fox red"))
    assert hit["page"] == {
        "ref": page.ref,
        "name": "P",
        "version": 1,
        "match": {"line": 3, "text": "the red fox"},
    }
    (hit,) = results(search(door, "zebra"))
    match = hit["page"]["match"]  # type: ignore[index]
    assert match["line"] == 4
    assert match["text"].startswith("…")
    assert "zebra" in match["text"]


def test_search_is_exact_at_once_and_at_any_revision(ana: Client, door: Door) -> None:
    page = ana.made(None, name="Before", body="needle")
    revision = ana.part("/scopes").revision
    ana.edit(page.id, name="After", body="straw")
    assert names(search(door, "needle")) == []
    assert names(search(door, "straw")) == ["After"]
    assert names(search(door, "needle", revision=revision)) == ["Before"]
    ana.delete(page.id)
    assert names(search(door, "straw")) == []


# C43, C44, C46: queries that search engines choke on, and words next to anything.


@pytest.mark.parametrize(
    "query",
    ["ask-codex", "2026-03-14", "memory:safe", 'say "hi', "(py", "foo AND", "C++", "*", "x\ty"],
)
def test_plain_language_is_found_whatever_it_looks_like(
    ana: Client, door: Door, query: str
) -> None:
    ana.made(None, name="Hit", body=f"before {query} after")
    assert names(search(door, query)) == ["Hit"]


@pytest.mark.parametrize(
    ("body", "query"),
    [
        ("big-house", "house"),
        ("«Rust»", "Rust"),
        ("CCU-Historian", "historian"),
        ("os.path.join", "path"),
        ("big-house", "big house"),
        ("本文是关于教务使用的一篇小教程", "一篇"),
        ("本文是关于教务使用的一篇小教程", "篇"),
        ("MySQL数据库", "数据库"),
        ("MySQL数据库", "mysql"),
        ("Crème brûlée", "creme"),
    ],
)
def test_words_next_to_anything_are_found(ana: Client, door: Door, body: str, query: str) -> None:
    ana.made(None, name="Hit", body=f"x {body} y")
    assert names(search(door, query)) == ["Hit"]


def test_an_over_long_query_is_refused(door: Door) -> None:
    assert search(door, "x" * 2_001).details["field"] == "query"
    many = " ".join(f"w{number}" for number in range(300))
    assert search(door, many).code == "VALIDATION_ERROR"


# C48, C49: no ghosts, and nothing vanishes.


def test_what_is_deleted_is_gone_and_what_comes_again_is_there(ana: Client, door: Door) -> None:
    page = ana.made("k", name="Ghost", body="boo")
    ana.delete(page.id)
    again = ana.made("k", name="Ghost again", body="boo")
    assert names(search(door, "boo")) == ["Ghost again"]
    ana.edit(again.id, name="Renamed", description="about boo")
    ana.move(again.id, key="other")
    assert names(search(door, "boo")) == ["Renamed"]
    assert names(search(door, "ghost")) == []
