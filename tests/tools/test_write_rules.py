"""The write contract through tools: what changes nothing, stale versions and the way on from
them, versions that are asked for, repeats, and limits on the tree."""

import pytest

from kbstore.limits import NESTING_LEVELS_MAX, PAGES_PER_OPERATION_MAX, READ_TOKENS_DEFAULT
from kbstore.text import estimate_tokens
from tests.asking import Ask, Client, Page
from tests.knowledge import SCOPE, TEAM, KnowledgeBase
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door, Json, Reply
from tests.tools.stage import LONG, configuration

BODY = "one\ntwo\nthree\nfour\nfive"
AGAIN = "Read it again with knowledge_read. If you still want this, send it again with"


def page_tool(door: Door, op: str, **arguments: object) -> Reply:
    return door.call("knowledge_page", {"op": op, **arguments})


def lines(start: int, end: int) -> Json:
    return {"start": {"line": start}, "end": {"line": end}}


# --- what changes nothing -----------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, 1, 2, 9])
def test_what_changes_nothing_is_accepted_with_any_version(
    kb: KnowledgeBase, ana: Client, door: Door, version: int | None
) -> None:
    page = ana.made("home", name="Home", description="Old", body="one")
    ana.edit(page.id, 1, body=BODY)
    expected = {} if version is None else {"expectedVersion": version}
    with kb.nothing_written():
        for call in (
            {"op": "write", "name": "Home"},
            {"op": "write", "description": "Old", "body": BODY},
            {"op": "write", "body": BODY.replace("\n", "\r\n")},
            {"op": "move", "scope": SCOPE},
            {"op": "move", "scope": SCOPE, "parent": SCOPE, "key": "home"},
        ):
            answered = door.call("knowledge_page", {**call, "page": "Home", **expected}).ok
            assert answered == {
                "revision": kb.revision,
                "changed": False,
                "page": {"id": page.id, "ref": page.ref, "name": "Home", "version": 2},
            }


def test_a_long_body_written_as_it_is_changes_nothing(ana: Client, door: Door) -> None:
    page = ana.made("long", body=LONG)
    assert page_tool(door, "write", page=page.id, body=LONG).ok["changed"] is False
    renamed = page_tool(door, "write", page=page.id, body=LONG, name="Long")
    assert renamed.ok["changed"] is True


def test_a_stale_version_goes_before_the_length_of_the_body(ana: Client, door: Door) -> None:
    page = ana.made("home", body="short")
    ana.edit(page.id, 1, body=LONG)
    stale = page_tool(door, "write", page=page.id, body="mine", expectedVersion=1)
    assert stale.code == "VERSION_CONFLICT"


def test_a_range_with_a_stale_version_always_conflicts(ana: Client, door: Door) -> None:
    page = ana.made("home", body=BODY)
    part = {"page": page.id, "body": "one", "range": lines(1, 1)}
    same = page_tool(door, "write", **part, expectedVersion=1)
    assert same.ok["changed"] is False
    ana.edit(page.id, 1, name="Home")
    assert page_tool(door, "write", **part, expectedVersion=1).code == "VERSION_CONFLICT"
    assert page_tool(door, "write", **part, expectedVersion=2).ok["changed"] is False


# --- stale versions -----------------------------------------------------------------------------


def edited(ana: Client, ben: Client, **change: object) -> tuple[Page, str]:
    """A page whose version 1 is stale, and the beginning of what a conflict on it says."""
    page = ana.made("home", body=BODY, description="Old")
    now = ben.edit(page.id, 1, **change).page
    at = ben.ask("GET", f"/pages/{page.id}").json["page"]
    assert isinstance(at, dict)
    return page, (
        f"Knowledge record version conflict: {page.id}. Nothing was written: you expected "
        f'version 1, and "{now.ref}" is at version 2 since user:ben changed it at '
        f"{at['updatedAt']}."
    )


@pytest.fixture
def ben(asking: Ask) -> Client:
    return asking("user:ben")


@pytest.mark.parametrize("by_range", [False, True])
def test_edits_that_do_not_overlap_are_merged_for_the_writer(
    kb: KnowledgeBase, ana: Client, ben: Client, door: Door, by_range: bool
) -> None:
    page, said = edited(ana, ben, body=BODY.replace("one", "ONE"))
    mine: Json = {"body": BODY.replace("five", "FIVE")}
    if by_range:
        mine = {"body": "FIVE", "range": lines(5, 5)}
    with kb.nothing_written():
        refused = page_tool(door, "write", page=page.id, **mine, expectedVersion=1)
    assert refused.code == "VERSION_CONFLICT"
    assert refused.message == (
        f"{said} Your edit and the others do not overlap: to keep them all, write the whole body "
        "in details.merged with expectedVersion 2, without a range."
    )
    merged = refused.details["merged"]
    assert isinstance(merged, dict)
    followed = page_tool(door, "write", page=page.id, **merged)
    assert followed.ok["changed"] is True
    assert ana.page(page.id).body == "ONE\ntwo\nthree\nfour\nFIVE"


@pytest.mark.parametrize("by_range", [False, True])
def test_edits_that_overlap_are_told_what_changed(
    ana: Client, ben: Client, door: Door, by_range: bool
) -> None:
    page, said = edited(ana, ben, body=BODY.replace("one", "ONE"), description="New")
    mine: Json = {"body": BODY.replace("one", "Uno")}
    if by_range:
        mine = {"body": "Uno", "range": lines(1, 1)}
    refused = page_tool(door, "write", page=page.id, **mine, expectedVersion=1)
    assert refused.message == (
        f"{said} What changed: its description, its body, as the diff in the details shows. "
        f"{AGAIN} expectedVersion 2; take a range from that read."
    )
    assert "merged" not in refused.details
    assert "-one\n+ONE\n" in str(refused.details["diff"])
    assert refused.details["changes"] == {"description": {"before": "Old", "after": "New"}}
    again = page_tool(door, "write", page=page.id, **mine, expectedVersion=2)
    assert again.ok["changed"] is True


@pytest.mark.parametrize(
    "call",
    [
        {"op": "write", "name": "Other"},
        {"op": "move", "scope": TEAM},
        {"op": "move", "scope": SCOPE, "key": "other"},
        {"op": "merge", "into": "beside"},
        {"op": "delete"},
    ],
)
def test_each_operation_on_a_stale_version_is_refused_with_a_way_on(
    kb: KnowledgeBase, ana: Client, ben: Client, door: Door, call: Json
) -> None:
    page, said = edited(ana, ben, name="New name")
    ana.made("beside")
    with kb.nothing_written():
        refused = door.call("knowledge_page", {**call, "page": page.id, "expectedVersion": 1})
    assert refused.code == "VERSION_CONFLICT"
    assert refused.message == (
        f"{said} What changed: its name. {AGAIN} expectedVersion 2; take a range from that read."
    )
    assert refused.details["currentVersion"] == 2
    again = door.call("knowledge_page", {**call, "page": page.id, "expectedVersion": 2})
    assert again.ok["changed"] is True


def test_a_version_that_never_was_is_called_so(ana: Client, ben: Client, door: Door) -> None:
    page, said = edited(ana, ben, name="Home")
    for mine in ({"body": "x"}, {"body": "x", "range": lines(1, 1)}):
        refused = page_tool(door, "write", page=page.id, **mine, expectedVersion=7)
        assert refused.message == (
            f"{said.replace('expected version 1', 'expected version 7')} There is no version 7 "
            f"of it that you can read. {AGAIN} expectedVersion 2; take a range from that read."
        )


def test_a_conflict_is_no_longer_than_some_reads(ana: Client, ben: Client, door: Door) -> None:
    page = ana.made("long", body=LONG)
    ben.edit(page.id, 1, body=LONG.replace("line", "LINE"))
    overlapping = page_tool(
        door, "write", page=page.id, body="mine", range=lines(100, 100), expectedVersion=1
    )
    diff = str(overlapping.details["diff"])
    assert diff.endswith("[the rest of the diff is left out]\n")
    assert estimate_tokens(diff) <= READ_TOKENS_DEFAULT + 20
    apart = ana.made("apart", body=LONG)
    ben.edit(apart.id, 1, body=LONG.replace("line 200", "LINE 200"))
    refused = page_tool(
        door, "write", page=apart.id, body="mine", range=lines(1, 1), expectedVersion=1
    )
    # They could be merged, but the whole body is longer than what can be written at once.
    assert "merged" not in refused.details
    assert refused.message.endswith(f"{AGAIN} expectedVersion 2; take a range from that read.")


def test_of_two_writers_of_one_version_one_wins(
    ana: Client, ben: Client, open_door: OpenDoor
) -> None:
    page = ana.made("home", body=BODY)
    first, second = open_door(ana), open_door(ben)
    assert page_tool(first, "write", page=page.id, body="A", expectedVersion=1).ok["changed"]
    lost = page_tool(second, "write", page=page.id, body="B", expectedVersion=1)
    assert lost.code == "VERSION_CONFLICT"
    assert ana.page(page.id).body == "A"


# --- versions that are asked for ----------------------------------------------------------------


def test_a_knowledge_base_can_require_the_version(
    kb: KnowledgeBase, ana: Client, door: Door
) -> None:
    kb.configure(configuration(required=True))
    page, _ = ana.made("home", body=BODY), ana.made("beside")
    for action, call in (
        ("Editing", {"op": "write", "body": "x"}),
        ("Editing", {"op": "write", "body": BODY}),
        ("Moving", {"op": "move", "scope": TEAM}),
        ("Merging", {"op": "merge", "into": "beside"}),
        ("Deleting", {"op": "delete"}),
    ):
        with kb.nothing_written():
            refused = door.call("knowledge_page", {**call, "page": page.id})
        assert refused.code == "PRECONDITION_REQUIRED"
        assert refused.message == (
            f"{action} a page needs expectedVersion here: the version you read."
        )
    for version, call in enumerate(
        ({"op": "write", "body": "x"}, {"op": "move", "scope": TEAM}, {"op": "delete"}), start=1
    ):
        done = door.call("knowledge_page", {**call, "page": page.id, "expectedVersion": version})
        assert done.ok["changed"] is True
    assert page_tool(door, "write", scope=SCOPE, name="New").ok["changed"] is True


# --- repeats ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("knowledge_page", {"op": "write", "scope": SCOPE, "name": "New"}, "page"),
        ("knowledge_page", {"op": "write", "page": "home", "body": "new"}, "page"),
        ("knowledge_page", {"op": "delete", "page": "home"}, "page"),
        ("knowledge_note", {"op": "add", "page": "home", "text": "t", "scope": [SCOPE]}, "note"),
        ("knowledge_pin", {"op": "pin", "page": "home", "audience": [SCOPE]}, "pin"),
    ],
)
def test_a_write_sent_again_is_answered_as_the_first_time(
    kb: KnowledgeBase, ana: Client, tool: str, arguments: Json, field: str
) -> None:
    ana.made("home")
    first = ana.ask("POST", f"/tools/{tool}", arguments, key="k1")
    assert first.status == 200, first.raw
    ana.made("between")
    with kb.nothing_written():
        again = ana.ask("POST", f"/tools/{tool}", arguments, key="k1")
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json == first.json
    other = ana.ask("POST", f"/tools/{tool}", {**arguments, field: "other"}, key="k1")
    other.refused(422, "IDEMPOTENCY_KEY_REUSED")


def test_a_replay_is_rendered_under_todays_access(
    kb: KnowledgeBase, ana: Client, asking: Ask
) -> None:
    eva = asking("user:eva", TEAM)
    arguments: Json = {"op": "write", "scope": TEAM, "key": "mine", "name": "Mine"}
    first = eva.ask("POST", "/tools/knowledge_page", arguments, key="k1")
    assert first.status == 200, first.raw
    assert page_tool_ok(ana, {"op": "move", "page": f"{TEAM}#mine", "scope": SCOPE})
    again = eva.ask("POST", "/tools/knowledge_page", arguments, key="k1")
    assert again.json == {**first.json, "page": None}


def page_tool_ok(client: Client, arguments: Json) -> bool:
    return client.ask("POST", "/tools/knowledge_page", arguments).status == 200


# --- limits on the tree -------------------------------------------------------------------------


def test_pages_nest_ten_levels(kb: KnowledgeBase, ana: Client, door: Door) -> None:
    pages = ana.chain(*(f"level-{level}" for level in range(1, NESTING_LEVELS_MAX)))
    last = page_tool(door, "write", scope=SCOPE, parent=pages[-1].id, key="last", name="Last")
    assert last.ok["changed"] is True
    ana.chain("x", "y")
    message = "Pages nest at most 10 levels below their scope page; this would make 11."
    with kb.nothing_written():
        for call in (
            {"op": "write", "scope": SCOPE, "parent": "Last", "name": "Deeper"},
            {"op": "move", "page": "x", "scope": SCOPE, "parent": pages[-1].id},
            {"op": "merge", "page": "x", "into": "Last"},
        ):
            refused = door.call("knowledge_page", call)
            assert (refused.code, refused.message) == ("NESTING_TOO_DEEP", message)


def test_a_move_takes_500_pages(kb: KnowledgeBase, ana: Client, door: Door) -> None:
    top = ana.made("top")
    below = [
        {"op": "create", "scope": SCOPE, "parent": top.id, "name": f"P{number}"}
        for number in range(PAGES_PER_OPERATION_MAX)
    ]
    assert ana.commit(*below).status == 201
    with kb.nothing_written():
        refused = page_tool(door, "move", page="top", scope=TEAM)
    assert (refused.code, refused.message) == (
        "TOO_MANY_PAGES",
        "Moving pages takes at most 500 pages in one operation.",
    )
    assert page_tool(door, "delete", page="P0").ok["changed"] is True
    assert page_tool(door, "move", page="top", scope=TEAM).ok["changed"] is True
