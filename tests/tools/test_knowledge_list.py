"""knowledge_list, sentence by sentence (reference 2)."""

from tests.asking import Ask, Client
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door, Json, Reply


def entries(reply: Reply) -> list[Json]:
    found = reply.ok["entries"]
    assert isinstance(found, list)
    return found


def refs(reply: Reply) -> list[object]:
    return [entry["ref"] for entry in entries(reply)]


def more(reply: Reply) -> str:
    lines = reply.ok["more"]
    assert isinstance(lines, list)
    assert len(lines) == 1
    return str(lines[0])


def test_without_from_it_lists_the_scopes_the_run_can_read(
    kb: KnowledgeBase, ana: Client, door: Door
) -> None:
    ana.made("a", scope=TEAM)
    listed = door.call("knowledge_list", {})
    assert refs(listed) == [SCOPE, TEAM]
    assert "from" not in listed.ok
    assert entries(listed)[0] == {
        "ref": SCOPE,
        "name": SCOPE,
        "depth": 1,
        "children": 0,
        "scope": True,
        "role": "owner",
    }


def test_a_held_scope_is_listed_before_anything_was_written(
    asking: Ask, open_door: OpenDoor
) -> None:
    door = open_door(asking("user:eve", VAULT))
    assert [(each["ref"], each["role"]) for each in entries(door.call("knowledge_list", {}))] == [
        (VAULT, "owner")
    ]


def test_from_takes_each_kind_of_reference(ana: Client, door: Door) -> None:
    page = ana.made("guide", name="The Guide")
    child = ana.made("steps", parent=page.id)
    for reference in (page.id, f"{SCOPE}#guide", f"{SCOPE}#/guide//", "The Guide"):
        listed = door.call("knowledge_list", {"from": reference})
        assert listed.ok["from"] == {"ref": f"{SCOPE}#guide", "name": "The Guide"}
        assert refs(listed) == [child.ref]
    assert refs(door.call("knowledge_list", {"from": SCOPE})) == [f"{SCOPE}#guide"]


def test_entries_come_in_the_order_of_the_tree_with_their_depth(ana: Client, door: Door) -> None:
    ana.chain("a", "b", "c", "d")
    ana.made("z")
    listed = door.call("knowledge_list", {"from": SCOPE, "depth": 3})
    assert [(each["ref"], each["depth"], each["children"]) for each in entries(listed)] == [
        (f"{SCOPE}#a", 1, 1),
        (f"{SCOPE}#a/b", 2, 1),
        (f"{SCOPE}#a/b/c", 3, 1),
        (f"{SCOPE}#z", 1, 0),
    ]
    assert refs(door.call("knowledge_list", {"from": SCOPE})) == [f"{SCOPE}#a", f"{SCOPE}#z"]


def test_a_page_without_a_key_is_named_by_its_id(ana: Client, door: Door) -> None:
    page = ana.made(None, name="No key")
    assert refs(door.call("knowledge_list", {"from": SCOPE})) == [page.id]


def test_descriptions_are_added_when_they_are_asked_for(ana: Client, door: Door) -> None:
    ana.made("a", description="What a is")
    plain = door.call("knowledge_list", {"from": SCOPE})
    assert "description" not in entries(plain)[0]
    described = door.call("knowledge_list", {"from": SCOPE, "descriptions": True})
    assert entries(described)[0]["description"] == "What a is"


def test_it_stops_at_the_limit_and_says_how_to_go_on(ana: Client, door: Door) -> None:
    made = [ana.made(f"p{number}").ref for number in range(7)]
    first = door.call("knowledge_list", {"from": SCOPE, "limit": 3})
    assert refs(first) == made[:3]
    cursor = first.ok["nextCursor"]
    assert more(first) == f'entries: 4 left out. Read on with cursor: "{cursor}".'
    second = door.call("knowledge_list", {"from": SCOPE, "cursor": cursor})
    assert refs(second) == made[3:6]
    third = door.call("knowledge_list", {"from": SCOPE, "cursor": second.ok["nextCursor"]})
    assert refs(third) == made[6:]
    assert not {"nextCursor", "more"} & third.ok.keys()


def test_a_walk_of_small_parts_gives_the_same_as_a_large_one(ana: Client, door: Door) -> None:
    for number in range(3):
        for page in ana.chain(f"a{number}", f"b{number}", f"c{number}"):
            ana.made(None, parent=page.id, name=f"leaf of {page.key}")
    ana.made("t", scope=TEAM)
    arguments: Json = {"from": SCOPE, "depth": 3, "limit": 100}
    whole = refs(door.call("knowledge_list", arguments))
    assert len(whole) == 3 * 5
    for limit in (1, 2, 4):
        part = door.call("knowledge_list", {**arguments, "limit": limit})
        walked = refs(part)
        while "nextCursor" in part.ok:
            cursor = part.ok["nextCursor"]
            part = door.call("knowledge_list", {"from": SCOPE, "cursor": cursor})
            assert len(entries(part)) <= limit
            walked += refs(part)
        assert walked == whole


def test_the_scopes_are_walked_alike(ana: Client, door: Door) -> None:
    for number in range(5):
        ana.made(f"p{number}", scope=f"team:acme:t{number}")
    whole = refs(door.call("knowledge_list", {"depth": 2}))
    assert len(whole) == 1 + 5 + 5
    part = door.call("knowledge_list", {"depth": 2, "limit": 2})
    walked = refs(part)
    while "nextCursor" in part.ok:
        part = door.call("knowledge_list", {"cursor": part.ok["nextCursor"]})
        walked += refs(part)
    assert walked == whole


def test_it_stops_at_its_tokens_and_always_shows_one(ana: Client, door: Door) -> None:
    for number in range(20):
        ana.made(f"p{number:02}", name=f"{number:02} " + "long name " * 29)
    listed = door.call("knowledge_list", {"from": SCOPE, "limit": 100})
    assert 1 <= len(entries(listed)) < 20
    left = 20 - len(entries(listed))
    assert more(listed).startswith(f"entries: {left} left out.")


def test_what_the_run_cannot_read_is_left_out(
    kb: KnowledgeBase, asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    ana.made("a", scope=TEAM)
    ana.made("b")
    viewer = open_door(asking("user:vic", "viewer:acme"))
    assert SCOPE in refs(viewer.call("knowledge_list", {}))
    assert TEAM not in refs(viewer.call("knowledge_list", {}))
    absent = viewer.call("knowledge_list", {"from": TEAM})
    assert absent.message == f'Knowledge page "{TEAM}" not found.'


def test_a_cursor_of_another_list_or_a_state_that_is_gone_is_refused(
    ana: Client, door: Door
) -> None:
    for number in range(4):
        ana.made(f"p{number}")
    other = ana.made("other")
    first = door.call("knowledge_list", {"from": SCOPE, "limit": 2})
    cursor = first.ok["nextCursor"]
    elsewhere = door.call("knowledge_list", {"from": other.ref, "cursor": cursor})
    assert (elsewhere.code, elsewhere.details["reason"]) == ("VALIDATION_ERROR", "mismatch")
    ana.made("new")
    stale = door.call("knowledge_list", {"from": SCOPE, "cursor": cursor})
    assert stale.code == "STALE_CURSOR"
    revision = stale.details["cursorRevision"]
    at = door.call("knowledge_list", {"from": SCOPE, "cursor": cursor, "revision": revision})
    assert refs(at) == [f"{SCOPE}#p1", f"{SCOPE}#p2"]


def test_a_walk_begun_at_a_revision_goes_on_there(ana: Client, door: Door) -> None:
    for number in range(4):
        ana.made(f"p{number}")
    revision = ana.part("/scopes").revision
    ana.made("a-new")
    part = door.call("knowledge_list", {"from": SCOPE, "limit": 3, "revision": revision})
    ana.made("b-new")
    rest = door.call("knowledge_list", {"from": SCOPE, "cursor": part.ok["nextCursor"]})
    assert [*refs(part), *refs(rest)] == [f"{SCOPE}#p{number}" for number in range(4)]
    assert rest.ok["revision"] == revision


def test_limits_are_kept(door: Door) -> None:
    for field, wrong in (("depth", 4), ("depth", 0), ("limit", 101), ("limit", 0)):
        refused = door.call("knowledge_list", {"from": SCOPE, field: wrong})
        assert (refused.code, refused.details["field"]) == ("VALIDATION_ERROR", field)
    for field, right in (("depth", 3), ("depth", 1), ("limit", 100), ("limit", 1)):
        assert door.call("knowledge_list", {"from": SCOPE, field: right}).result is not None


def test_a_run_without_scopes_is_refused(url: str, kb: KnowledgeBase, open_door: OpenDoor) -> None:
    client = Client(url, kb.slug, kb.token("user:nobody", ()))
    refused = open_door(client).call("knowledge_list", {})
    assert refused.code == "RUN_SCOPES_MISSING"
    assert refused.message == (
        "Knowledge tools need run scopes: give the agent or the call `scopes`, "
        "or run it with Memory."
    )
    client.close()
