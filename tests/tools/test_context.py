"""The pinned context: what is pinned for a run, within its budget, and only what it can read."""

import pytest

from tests.asking import Answer, Ask, Client, Page
from tests.knowledge import SCOPE, TEAM, KnowledgeBase

CONFIGURATION = """
[settings]
pinnedTokens = {tokens}
pinnedPages = {pages}

[scopes."org:$org"]
access = [
  {{ principal = "self", role = "owner" }},
  {{ principal = "viewer:$org", role = "viewer" }},
]

[[scopes."org:$org".pages]]
key = "rules"
name = "Rules"
body = "{rules}"
pin = true

[[scopes."org:$org".pages]]
key = "style"
name = "Style"
body = "Write short sentences."
pin = {{ kind = "list", depth = 2 }}

[scopes."team:$org:$team"]
access = [{{ principal = "org:$org", role = "owner" }}]
[scopes."viewer:$org"]
"""


def context(client: Client, **query: object) -> Answer:
    return client.ask("GET", "/context", query=query)


def items(client: Client, **query: object) -> list[dict[str, object]]:
    found = context(client, **query).json["items"]
    assert isinstance(found, list)
    return found


def left_out(client: Client) -> list[object]:
    found = context(client).json["leftOut"]
    assert isinstance(found, list)
    return [each["ref"] for each in found]


def pin(client: Client, page: Page, kind: str = "page", **more: object) -> None:
    body = {"audience": [SCOPE], **more}
    assert client.ask("PUT", f"/pages/{page.id}/pins/{kind}", body).status == 201


def configure(
    kb: KnowledgeBase, *, tokens: int = 500, pages: int = 20, rules: str = "Be kind"
) -> None:
    kb.configure(CONFIGURATION.format(tokens=tokens, pages=pages, rules=rules))


def test_without_pins_there_is_nothing(ana: Client) -> None:
    assert context(ana).json["items"] == []
    assert context(ana).json["tokens"] == 0


def test_config_pins_come_first_in_the_order_they_are_declared(
    kb: KnowledgeBase, ana: Client
) -> None:
    note = ana.made("note", name="Note", body="An agent's pin")
    pin(ana, note)
    configure(kb)
    found = items(ana)
    assert [(each["ref"], each["kind"], each["source"]) for each in found] == [
        (f"{SCOPE}#rules", "page", "config"),
        (f"{SCOPE}#style", "list", "config"),
        (note.ref, "page", "agent"),
    ]
    assert found[0]["body"] == "Be kind"
    assert found[2]["body"] == "An agent's pin"


def test_config_pins_are_shortened_and_never_dropped(kb: KnowledgeBase, ana: Client) -> None:
    configure(kb, tokens=60, rules="word " * 400)
    (rules, style) = items(ana)
    assert rules["shortened"] is True
    assert str(rules["body"]).startswith("word word")
    assert str(rules["body"]).endswith("…")
    assert style["ref"] == f"{SCOPE}#style"
    configure(kb, tokens=1, pages=1, rules="word " * 400)
    assert [each["ref"] for each in items(ana)] == [f"{SCOPE}#rules", f"{SCOPE}#style"]


def test_agent_pins_come_oldest_first_and_the_rest_is_named(ana: Client) -> None:
    first = ana.made("first", body="word " * 300)
    large = ana.made("large", body="word " * 300)
    small = ana.made("small", body="a few words")
    for page in (first, large, small):
        pin(ana, page)
    assert [each["ref"] for each in items(ana)] == [first.ref, small.ref]
    assert left_out(ana) == [large.ref]
    assert int(str(context(ana).json["tokens"])) <= 500


def test_no_more_pages_than_the_setting_says(kb: KnowledgeBase, ana: Client) -> None:
    pages = [ana.made(f"p{number}", body="x") for number in range(4)]
    for page in pages:
        pin(ana, page)
    kb.configure(
        '[settings]\npinnedPages = 3\n[scopes."org:$org"]\n'
        'access = [{ principal = "self", role = "owner" }]\n'
    )
    assert [each["ref"] for each in items(ana)] == [page.ref for page in pages[:3]]
    assert left_out(ana) == [pages[3].ref]


def test_a_listing_shows_the_pages_under_it_to_its_depth(ana: Client) -> None:
    pages = ana.chain("a", "b", "c", "d")
    pin(ana, pages[0], "list", depth=2)
    (listing,) = items(ana)
    assert listing["pages"] == [
        {"ref": pages[1].ref, "name": "b", "depth": 1},
        {"ref": pages[2].ref, "name": "c", "depth": 2},
    ]


def test_only_what_the_run_can_read(asking: Ask) -> None:
    ana = asking("user:ana", SCOPE, "viewer:acme")
    page, away = ana.made("p", body="text"), ana.made("away", body="text")
    below = ana.made("below", parent=page.id)
    audience = [SCOPE, "viewer:acme"]
    pin(ana, page, audience=audience)
    pin(ana, page, "list", audience=audience)
    pin(ana, away, audience=audience)
    viewer = asking("user:vic", "viewer:acme")
    assert [each["ref"] for each in items(viewer)] == [page.ref, page.ref, away.ref]
    ana.move(away.id, scope=TEAM)
    ana.move(below.id, scope=TEAM)
    page_pin, list_pin = items(viewer)
    assert page_pin["ref"] == list_pin["ref"] == page.ref
    assert list_pin["pages"] == []
    assert left_out(viewer) == []


def test_a_run_gets_what_is_pinned_for_the_scopes_it_holds(asking: Ask) -> None:
    ana = asking("user:ana", SCOPE, "editor:acme")
    page = ana.made("p", body="text")
    pin(ana, page, audience=["editor:acme"])
    assert items(asking("user:ed", "editor:acme")) != []
    assert items(asking("user:vic", "viewer:acme")) == []


def test_polling_costs_nothing_while_the_pins_stay(ana: Client) -> None:
    page = ana.made("p", body="text")
    pin(ana, page)
    first = context(ana)
    tag = first.headers["etag"]
    ana.made("elsewhere")
    again = ana.ask("GET", "/context", headers={"if-none-match": tag})
    assert again.status == 304
    assert again.headers["kb-revision"] != first.headers["kb-revision"]
    ana.edit(page.id, body="other text")
    changed = ana.ask("GET", "/context", headers={"if-none-match": tag})
    assert changed.status == 200
    assert changed.headers["etag"] != tag


def test_the_context_of_a_revision(ana: Client) -> None:
    page = ana.made("p", body="old")
    pin(ana, page)
    revision = ana.part("/scopes").revision
    ana.edit(page.id, body="new")
    ana.ask("DELETE", f"/pages/{page.id}/pins/page")
    assert items(ana) == []
    assert [each["body"] for each in items(ana, revision=revision)] == ["old"]


def test_a_listing_has_a_thousand_pages_at_most(
    kb: KnowledgeBase, ana: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.read.pinned.PINNED_LISTING_PAGES_MAX", 3)
    page = ana.made("p")
    for number in range(4):
        ana.made(f"c{number}", parent=page.id)
    pin(ana, page, "list")
    (listing,) = items(ana)
    pages = listing["pages"]
    assert isinstance(pages, list)
    assert (len(pages), listing["shortened"]) == (3, True)
