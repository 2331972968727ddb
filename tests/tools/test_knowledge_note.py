"""knowledge_note, sentence by sentence (reference 2); its refusals are in test_write_refusals."""

import pytest

from kbstore.limits import NOTE_TOKENS_MAX
from tests.asking import Ask, Client
from tests.knowledge import SCOPE, TEAM, KnowledgeBase
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door, Json, Reply


def note_tool(door: Door, op: str, **arguments: object) -> Reply:
    return door.call("knowledge_note", {"op": op, **arguments})


def written(reply: Reply) -> Json:
    note = reply.ok["note"]
    assert isinstance(note, dict)
    return note


def added(door: Door, page: str = "home", text: str = "A fact", *stamps: str) -> Json:
    return written(note_tool(door, "add", page=page, text=text, scope=list(stamps or (SCOPE,))))


def texts(door: Door, page: str = "home", field: str = "notes") -> list[str]:
    notes = door.call("knowledge_read", {"page": page}).ok[field]
    assert isinstance(notes, list)
    return [note["text"] for note in notes]


@pytest.mark.parametrize("when", [None, "2026-10-29", "2026-10-29T14:30:00Z"])
def test_add_puts_a_note_on_a_page(
    kb: KnowledgeBase, ana: Client, door: Door, when: str | None
) -> None:
    page = ana.made("home", name="The Home")
    for reference in (page.id, page.ref, "The Home"):
        given: Json = {"page": reference, "text": "A fact", "scope": [SCOPE, TEAM]}
        reply = note_tool(door, "add", **given, **({"when": when} if when else {}))
        note = written(reply)
        assert reply.ok == {
            "revision": kb.revision,
            "changed": True,
            "note": {
                "id": note["id"],
                "page": f"{SCOPE}#home",
                "text": "A fact",
                "scope": [SCOPE, TEAM],
                "when": when,
            },
        }
    assert ana.page(page.id).version == 1
    assert texts(door, page.id) == ["A fact"] * 3


def test_a_note_is_as_long_as_its_limit(ana: Client, door: Door) -> None:
    ana.made("home")
    assert added(door, "home", "t" * (4 * NOTE_TOKENS_MAX))["text"] == "t" * 1_000


def test_a_link_in_a_note_is_a_mention(ana: Client, door: Door) -> None:
    ana.made("home")
    ana.made("refund", name="Refund policy")
    added(door, "home", "See [[Refund policy]]")
    assert texts(door, "Refund policy", "mentionedIn") == ["See [[Refund policy]]"]


def test_a_run_reads_a_note_with_the_page_and_at_least_one_stamp(
    kb: KnowledgeBase, asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    owner = open_door(ana)
    ana.made("home")
    ana.made("team", scope=TEAM)
    viewer = open_door(asking("user:vic", "viewer:acme"))
    added(owner, "home", "Both", SCOPE, TEAM)
    added(owner, "home", "Team", TEAM)
    added(owner, f"{TEAM}#team", "Out of sight", SCOPE)
    assert texts(viewer) == ["Both"]
    assert texts(owner) == ["Both", "Team"]
    assert viewer.call("knowledge_read", {"page": f"{TEAM}#team"}).code == "NOT_FOUND"


def test_a_run_is_shown_the_stamps_that_it_can_read(
    asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    ana.made("home")
    note = added(open_door(ana), "home", "Both", SCOPE, TEAM)
    editor = open_door(asking("user:ed", "editor:acme"))
    same = note_tool(editor, "restamp", note=note["id"], scope=[SCOPE])
    assert (same.ok["changed"], written(same)["scope"]) == (False, [SCOPE])


def test_restamp_says_anew_who_sees_it(
    kb: KnowledgeBase, asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    owner, viewer = open_door(ana), open_door(asking("user:vic", "viewer:acme"))
    ana.made("home")
    note = added(owner)
    assert texts(viewer) == ["A fact"]
    restamped = note_tool(owner, "restamp", note=note["id"], scope=[TEAM])
    assert restamped.ok == {
        "revision": kb.revision,
        "changed": True,
        "note": {**note, "scope": [TEAM]},
    }
    assert texts(viewer) == []
    with kb.nothing_written():
        again = note_tool(owner, "restamp", note=note["id"], scope=[TEAM])
    assert (again.ok["changed"], written(again)) == (False, {**note, "scope": [TEAM]})


def test_a_removed_note_is_gone_and_added_again_has_a_new_id(
    kb: KnowledgeBase, ana: Client, door: Door
) -> None:
    ana.made("home")
    note = added(door)
    removed = note_tool(door, "remove", note=note["id"])
    assert removed.ok == {"revision": kb.revision, "changed": True, "note": None}
    assert texts(door) == []
    for op, more in (("remove", {}), ("restamp", {"scope": [SCOPE]})):
        again = note_tool(door, op, note=note["id"], **more)
        assert again.message == f'Knowledge note "{note["id"]}" not found.'
    assert added(door)["id"] != note["id"]


def test_a_scope_page_takes_notes(ana: Client, door: Door) -> None:
    assert added(door, SCOPE)["page"] == SCOPE
    assert texts(door, SCOPE) == ["A fact"]
