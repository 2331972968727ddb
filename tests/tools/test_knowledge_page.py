"""knowledge_page, sentence by sentence (reference 2); its refusals are in test_write_refusals."""

import pytest

from kbstore.ids import parse_uuid
from tests.asking import Client, Page
from tests.knowledge import SCOPE, TEAM, KnowledgeBase
from tests.tools.doors import Door, Json, Reply
from tests.tools.stage import LONG, WIDE, configuration

LINES = "one\ntwo\nthree\nfour\nfive"


def page_tool(door: Door, op: str, **arguments: object) -> Reply:
    given = {"range_": "range", "version": "expectedVersion"}
    named = {given.get(name, name): value for name, value in arguments.items()}
    return door.call("knowledge_page", {"op": op, **named})


def written(reply: Reply) -> Json:
    page = reply.ok["page"]
    assert isinstance(page, dict)
    return page


def read(door: Door, page: object, **arguments: object) -> Json:
    found = door.call("knowledge_read", {"page": page, **arguments}).ok["page"]
    assert isinstance(found, dict)
    return found


def lines(start: int, end: int) -> Json:
    return {"start": {"line": start}, "end": {"line": end}}


def body_of(ana: Client, page: Page) -> str | None:
    return ana.page(page.id).body


# --- create -------------------------------------------------------------------------------------


def test_write_without_page_creates_one(kb: KnowledgeBase, ana: Client, door: Door) -> None:
    made = page_tool(
        door,
        "write",
        scope=SCOPE,
        key="refund",
        name="Refund",
        description="Money back",
        body="# Refund\n",
    )
    page = written(made)
    assert made.ok == {
        "revision": kb.revision,
        "changed": True,
        "page": {"id": page["id"], "ref": f"{SCOPE}#refund", "name": "Refund", "version": 1},
    }
    stored = ana.page(str(page["id"]))
    assert (stored.description, stored.body) == ("Money back", "# Refund\n")
    assert stored.parent == ana.page_at(SCOPE).id


def test_a_page_without_a_key_stays_keyless(door: Door) -> None:
    page = written(page_tool(door, "write", scope=SCOPE, name="No key"))
    assert page["ref"] == page["id"]


def test_parent_supplies_the_rest_of_the_path(ana: Client, door: Door) -> None:
    parent = ana.made("guides", name="The Guides")
    for number, reference in enumerate((parent.id, f"{SCOPE}#guides/", "The Guides")):
        key = f"part-{number}"
        page = written(
            page_tool(door, "write", scope=SCOPE, parent=reference, key=key, name="Part")
        )
        assert page["ref"] == f"{SCOPE}#guides/{key}"
    top = written(page_tool(door, "write", scope=SCOPE, parent=SCOPE, key="top", name="Top"))
    assert top["ref"] == f"{SCOPE}#top"


def test_a_scope_nobody_wrote_to_takes_a_page(door: Door) -> None:
    page = written(page_tool(door, "write", scope="team:acme:new", key="a", name="A"))
    assert page["ref"] == "team:acme:new#a"
    # Its own page is its top, by its address as well.
    other = "team:acme:other"
    below = page_tool(door, "write", scope=other, parent=other, key="b", name="B")
    assert written(below)["ref"] == f"{other}#b"


# --- edit ---------------------------------------------------------------------------------------


def test_write_with_page_edits_it_by_any_reference(ana: Client, door: Door) -> None:
    page = ana.made("home", name="The Home")
    for version, reference in enumerate(
        (page.id, f"{SCOPE}#home", f"{SCOPE}#home//", "The Home"), start=2
    ):
        edited = page_tool(door, "write", page=reference, body=f"Body {version}")
        assert (edited.ok["changed"], written(edited)["version"]) == (True, version)
        assert body_of(ana, page) == f"Body {version}"


def test_an_empty_description_clears_it_and_what_is_left_out_stays(ana: Client, door: Door) -> None:
    page = ana.made("home", description="Old", body="Body")
    page_tool(door, "write", page=page.id, description="")
    cleared = ana.page(page.id)
    assert (cleared.description, cleared.body, cleared.name) == (None, "Body", "home")
    page_tool(door, "write", page=page.id, name="Home", description=None, body=None)
    assert (ana.page(page.id).name, body_of(ana, page)) == ("Home", "Body")


def test_an_empty_body_is_a_body(ana: Client, door: Door) -> None:
    page = ana.made("home", body="Body")
    assert page_tool(door, "write", page=page.id, body="").ok["changed"] is True
    assert body_of(ana, page) == ""


@pytest.mark.parametrize(
    ("range_", "body", "after"),
    [
        (lines(2, 3), "TWO", "one\nTWO\nfour\nfive"),
        (lines(2, 3), "2\n2b\n3", "one\n2\n2b\n3\nfour\nfive"),
        (lines(2, 3), "", "one\nfour\nfive"),
        (lines(1, 5), "", ""),
        (lines(5, 5), "5\n", "one\ntwo\nthree\nfour\n5\n"),
        (
            {"start": {"line": 1, "col": 1}, "end": {"line": 1, "col": 2}},
            "N",
            "oNe\ntwo\nthree\nfour\nfive",
        ),
        ({"start": {"line": 1, "col": 1}, "end": {"line": 3}}, "", "o\nfour\nfive"),
    ],
)
def test_a_range_replaces_only_those_lines(
    ana: Client, door: Door, range_: Json, body: str, after: str
) -> None:
    page = ana.made("home", body=LINES)
    edited = page_tool(door, "write", page=page.id, body=body, range_=range_, version=1)
    assert written(edited)["version"] == 2
    assert body_of(ana, page) == after


def test_the_range_of_any_read_can_be_written_back(ana: Client, door: Door) -> None:
    page = ana.made("long", body=f"{LONG}\n## Part\nlast")
    shown = read(door, page.id, **{"from": {"line": 50}})
    section = read(door, page.id, section="Part")
    found = door.call("knowledge_read", {"page": page.id, "match": "line 120"}).ok["matches"]
    assert isinstance(found, list)
    for part in (shown, section, *found):
        text = "\n".join(line.partition("│")[2] for line in part["lines"])
        edited = page_tool(door, "write", page=page.id, body=text, range_=part["range"], version=1)
        assert edited.ok["changed"] is False
    smaller = lines(60, 61)
    edited = page_tool(door, "write", page=page.id, body="A\nB", range_=smaller, version=1)
    assert edited.ok["changed"] is True
    body = body_of(ana, page)
    assert body is not None
    assert body.split("\n")[58:62] == [LONG.split("\n")[58], "A", "B", LONG.split("\n")[61]]


def test_a_line_too_long_for_a_read_is_edited_in_parts(ana: Client, door: Door) -> None:
    page = ana.made("wide", body=WIDE)
    first = read(door, page.id)
    range_ = first["range"]
    assert isinstance(range_, dict)
    end = range_["end"]["col"]
    assert 0 < end < len(WIDE)
    edited = page_tool(door, "write", page=page.id, body="start-", range_=range_, version=1)
    assert edited.ok["changed"] is True
    assert body_of(ana, page) == "start-" + WIDE[end:]


def test_a_range_is_one_read_and_not_a_line_more(ana: Client, door: Door) -> None:
    page = ana.made("long", body=LONG)
    shown = read(door, page.id)["range"]
    assert isinstance(shown, dict)
    last = shown["end"]["line"]
    wider = page_tool(door, "write", page=page.id, body="x", range_=lines(1, last + 1), version=1)
    assert wider.message.startswith(f"Lines 1–{last + 1} run past what one knowledge_read from")
    exact = page_tool(door, "write", page=page.id, body="x", range_=lines(1, last), version=1)
    assert exact.ok["changed"] is True


def test_a_body_is_numbered_only_if_each_of_its_lines_is(ana: Client, door: Door) -> None:
    page = ana.made("home")
    for body in ("1│one\ntwo", "│one", "a 1│one", "1|one", "\n\n", ""):
        assert page_tool(door, "write", page=page.id, body=body).result is not None, body
        assert body_of(ana, page) == body


def test_a_page_longer_than_a_read_takes_another_name(ana: Client, door: Door) -> None:
    page = ana.made("long", body=LONG)
    renamed = page_tool(door, "write", page=page.id, name="Long", description="Lines")
    assert written(renamed) == {
        "id": page.id,
        "ref": page.ref,
        "name": "Long",
        "version": 2,
    }
    assert body_of(ana, page) == LONG


def test_a_short_body_may_become_a_long_one(ana: Client, door: Door) -> None:
    page = ana.made("home", body="short")
    assert page_tool(door, "write", page=page.id, body=LONG).ok["changed"] is True


def test_one_read_is_as_long_as_it_is_configured(
    kb: KnowledgeBase, ana: Client, door: Door
) -> None:
    page = ana.made("home", body="word " * 150)
    assert page_tool(door, "write", page=page.id, body="word " * 150 + "x").result is not None
    kb.configure(configuration().replace("[settings]", "[settings]\nreadTokens = 150"))
    assert page_tool(door, "write", page=page.id, body="short").code == "VALIDATION_ERROR"


# --- scope pages and template pages -------------------------------------------------------------


def test_the_body_of_a_scope_page_can_be_written(ana: Client, door: Door) -> None:
    assert written(page_tool(door, "write", page=SCOPE, body="Hello"))["ref"] == SCOPE
    assert ana.page_at(SCOPE).body == "Hello"


def test_a_template_page_can_be_edited_annotated_and_merged_into(
    kb: KnowledgeBase, ana: Client, door: Door
) -> None:
    kb.configure(configuration())
    refund = f"{SCOPE}#policies/refund"
    assert written(page_tool(door, "write", page=refund, name="Refunds"))["version"] == 2
    noted = door.call(
        "knowledge_note", {"op": "add", "page": refund, "text": "A fact", "scope": [SCOPE]}
    )
    assert noted.ok["changed"] is True
    page = ana.made("other")
    merged = page_tool(door, "merge", page=page.id, into=f"{SCOPE}#policies")
    assert written(merged)["ref"] == f"{SCOPE}#policies"


def test_a_long_template_page_that_was_never_written_is_written_whole(
    kb: KnowledgeBase, ana: Client, door: Door
) -> None:
    """No range leads there: its version names no text."""
    kb.configure(configuration())
    refund = f"{SCOPE}#policies/refund"
    assert page_tool(door, "write", page=refund, body="Short").ok["changed"] is True
    assert ana.page_at(refund).body == "Short"


# --- move ---------------------------------------------------------------------------------------


def test_a_move_takes_what_is_below_along(ana: Client, door: Door) -> None:
    page, child = ana.chain("a", "b")
    moved = page_tool(door, "move", page="a", scope=TEAM)
    assert written(moved) == {"id": page.id, "ref": f"{TEAM}#a", "name": "a", "version": 2}
    assert ana.page(child.id).ref == f"{TEAM}#a/b"
    old = page_tool(door, "write", page=f"{SCOPE}#a/b", name="B")
    assert old.message == (f'Knowledge page "{SCOPE}#a/b" not found. It was moved to {TEAM}#a/b.')
    assert old.details == {"movedTo": f"{TEAM}#a/b"}


def test_a_move_goes_below_a_parent_or_to_the_top(ana: Client, door: Door) -> None:
    page, parent = ana.made("a"), ana.made("p")
    for reference in (parent.id, f"{SCOPE}#p", "p"):
        below = page_tool(door, "move", page=page.id, scope=SCOPE, parent=reference)
        assert written(below)["ref"] == f"{SCOPE}#p/a"
        for top in ({}, {"parent": SCOPE}):
            page_tool(door, "move", page=page.id, scope=SCOPE, parent=reference)
            back = page_tool(door, "move", page=page.id, scope=SCOPE, **top)
            assert written(back)["ref"] == f"{SCOPE}#a"


def test_a_move_may_give_another_key(ana: Client, door: Door) -> None:
    page = ana.made("a")
    moved = page_tool(door, "move", page=page.id, scope=SCOPE, key="z")
    assert written(moved)["ref"] == f"{SCOPE}#z"


# --- merge --------------------------------------------------------------------------------------


def test_a_merge_keeps_the_notes_and_the_children_of_both(ana: Client, door: Door) -> None:
    page, into = ana.made("a", body="Gone"), ana.made("b", body="Stays")
    for each in (page, into):
        ana.made("faq", parent=each.id)
        ana.ask("POST", f"/pages/{each.id}/notes", {"text": f"On {each.key}", "scope": [SCOPE]})
    merged = page_tool(door, "merge", page="a", into="b")
    assert written(merged) == {
        "id": into.id,
        "ref": f"{SCOPE}#b",
        "name": "b",
        "version": 2,
    }
    assert merged.ok["renamed"] == [{"page": f"{SCOPE}#b/faq-2", "from": "faq", "to": "faq-2"}]
    whole = door.call("knowledge_read", {"page": "b"}).ok
    notes, children = whole["notes"], whole["children"]
    assert isinstance(notes, list)
    assert isinstance(children, list)
    assert [note["text"] for note in notes] == ["On a", "On b"]
    assert {child["ref"] for child in children} == {f"{SCOPE}#b/faq", f"{SCOPE}#b/faq-2"}
    assert body_of(ana, into) == "Stays"
    again = page_tool(door, "merge", page=page.id, into="b")
    assert again.code == "NOT_FOUND"
    assert again.details == {"mergedInto": into.id}


def test_a_merge_without_collisions_says_nothing_of_them(ana: Client, door: Door) -> None:
    ana.made("a")
    ana.made("b")
    assert "renamed" not in page_tool(door, "merge", page="a", into="b").ok


# --- delete -------------------------------------------------------------------------------------


def test_a_delete_takes_a_page_from_reads_listings_and_pins(ana: Client, door: Door) -> None:
    page = ana.made("a", name="Alone")
    pin: Json = {"op": "pin", "page": "Alone", "audience": [SCOPE]}
    assert door.call("knowledge_pin", pin).result is not None
    # "A delete ignores scope", whatever it is.
    deleted = page_tool(door, "delete", page="Alone", scope="nowhere")
    assert (deleted.ok["changed"], deleted.ok["page"]) == (True, None)
    for call in (
        ("knowledge_read", {"page": page.id}),
        ("knowledge_pin", {**pin, "page": page.id}),
    ):
        assert door.call(*call).code == "NOT_FOUND"
    assert door.call("knowledge_list", {"from": SCOPE}).ok["entries"] == []
    assert ana.ask("GET", "/context").json["items"] == []
    assert page_tool(door, "delete", page=page.id).code == "NOT_FOUND"


def test_ids_are_ids(door: Door) -> None:
    page = written(page_tool(door, "write", scope=SCOPE, name="A"))
    assert parse_uuid(str(page["id"])) is not None
