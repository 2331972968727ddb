"""knowledge_activity: what changed, in either order, as far as the run can read it."""

from tests.asking import Ask, Client
from tests.knowledge import SCOPE, TEAM
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door, Json, Reply


def changes(reply: Reply) -> list[Json]:
    found = reply.ok["changes"]
    assert isinstance(found, list)
    return found


def told(reply: Reply) -> list[tuple[object, object]]:
    return [(each["type"], each.get("name")) for each in changes(reply)]


def test_newest_first_is_the_usual_order(ana: Client, door: Door) -> None:
    page = ana.made("a", name="First")
    ana.made("b", name="Second")
    ana.edit(page.id, body="text")
    newest = door.call("knowledge_activity", {})
    assert told(newest)[:3] == [
        ("page.edited", "First"),
        ("page.created", "Second"),
        ("page.created", "First"),
    ]
    oldest = door.call("knowledge_activity", {"order": "oldest"})
    assert told(oldest) == told(newest)[::-1]
    first = changes(newest)[0]
    assert (first["page"], first["by"], first["version"]) == (page.ref, "user:ana", 2)


def test_a_cursor_stays_valid_when_everything_was_read(ana: Client, door: Door) -> None:
    ana.made("a", name="First")
    part = door.call("knowledge_activity", {"order": "oldest"})
    assert part.ok["caughtUp"] is True
    for name in ("Second", "Third"):
        arguments = {"order": "oldest", "cursor": part.ok["cursor"]}
        assert changes(door.call("knowledge_activity", arguments)) == []
        ana.made(None, name=name)
        part = door.call("knowledge_activity", arguments)
        assert told(part) == [("page.created", name)]


def test_both_orders_are_walked_to_their_end(ana: Client, door: Door) -> None:
    for number in range(7):
        ana.made(f"p{number}", name=f"Page {number}")
    whole = told(door.call("knowledge_activity", {"order": "oldest", "limit": 100}))
    for order, expected in (("oldest", whole), ("newest", whole[::-1])):
        part = door.call("knowledge_activity", {"order": order, "limit": 3})
        walked = told(part)
        while part.ok["caughtUp"] is False:
            cursor = part.ok["cursor"]
            assert part.ok["more"] == [f'changes: more follow. Read on with cursor: "{cursor}".']
            part = door.call("knowledge_activity", {"order": order, "cursor": cursor})
            walked += told(part)
        assert walked == expected


def test_since_a_position(ana: Client, door: Door) -> None:
    ana.made("a", name="First")
    last = changes(door.call("knowledge_activity", {}))[0]["position"]
    ana.made("b", name="Second")
    ana.made("c", name="Third")
    for order, names in (("oldest", ["Second", "Third"]), ("newest", ["Third", "Second"])):
        reply = door.call("knowledge_activity", {"since": last, "order": order})
        assert [name for _, name in told(reply)] == names
        assert reply.ok["caughtUp"] is True


def test_of_one_page(ana: Client, door: Door) -> None:
    page = ana.made("a", name="First")
    ana.made("b")
    ana.edit(page.id, body="text")
    body = {"text": "A fact", "scope": [SCOPE]}
    ana.ask("POST", f"/pages/{page.id}/notes", body)
    reply = door.call("knowledge_activity", {"page": "First", "order": "oldest"})
    assert [kind for kind, _ in told(reply)] == ["page.created", "page.edited", "note.added"]
    assert changes(reply)[2]["data"] == {"text": "A fact", "scope": [SCOPE], "when": None}


def test_what_the_run_cannot_read_is_left_out(
    asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    ana.made("a", name="Open")
    hidden = ana.made("t", name="Hidden", scope=TEAM)
    moved = ana.made("m", name="Moved")
    viewer = open_door(asking("user:vic", "viewer:acme"))
    assert ("page.created", "Moved") in told(viewer.call("knowledge_activity", {}))
    ana.move(moved.id, scope=TEAM)
    for arguments in ({}, {"order": "oldest"}):
        names = {name for _, name in told(viewer.call("knowledge_activity", arguments))}
        assert names == {"Open", SCOPE}
    assert viewer.call("knowledge_activity", {"page": hidden.id}).code == "NOT_FOUND"


def test_a_cursor_of_another_order_is_refused(ana: Client, door: Door) -> None:
    ana.made("a")
    cursor = door.call("knowledge_activity", {"order": "oldest"}).ok["cursor"]
    refused = door.call("knowledge_activity", {"order": "newest", "cursor": cursor})
    assert (refused.code, refused.details["reason"]) == ("VALIDATION_ERROR", "mismatch")


def test_long_changes_are_parted(ana: Client, door: Door) -> None:
    page = ana.made("a")
    for number in range(8):
        body = {"text": f"{number} " + "word " * 190, "scope": [SCOPE]}
        ana.ask("POST", f"/pages/{page.id}/notes", body)
    part = door.call("knowledge_activity", {"order": "oldest", "limit": 100})
    seen = changes(part)
    assert not part.ok["caughtUp"]
    while not part.ok["caughtUp"]:
        part = door.call("knowledge_activity", {"order": "oldest", "cursor": part.ok["cursor"]})
        seen += changes(part)
    notes = [each for each in seen if each["type"] == "note.added"]
    assert len(notes) == 8
    positions = [int(str(each["position"])) for each in seen]
    assert positions == sorted(set(positions))
