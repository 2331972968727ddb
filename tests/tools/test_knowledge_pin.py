"""knowledge_pin, sentence by sentence (reference 2); its refusals are in test_write_refusals."""

import pytest

from tests.asking import Ask, Client
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door, Json, Reply

VIEWER = "viewer:acme"


def pin_tool(
    door: Door, op: str = "pin", page: str = "home", /, *audience: str, **more: object
) -> Reply:
    given = {"op": op, "page": page, "audience": list(audience or (SCOPE,))}
    return door.call("knowledge_pin", {**given, **more})


def delivered(client: Client) -> list[Json]:
    """What is pinned for a run."""
    items = client.ask("GET", "/context").json["items"]
    assert isinstance(items, list)
    return items


@pytest.fixture
def ben(asking: Ask) -> Client:
    return asking("user:ben")


def test_pin_puts_a_page_before_every_run_of_the_audience(
    kb: KnowledgeBase, ana: Client, ben: Client, door: Door
) -> None:
    page = ana.made("home", name="The Home", body="A standing rule")
    for reference in (page.id, page.ref, "The Home"):
        pinned = pin_tool(door, "pin", reference)
        assert pinned.ok == {
            "revision": kb.revision,
            "changed": reference == page.id,
            "pin": {"page": page.ref, "kind": "page", "depth": 1, "audience": [SCOPE]},
        }
    (item,) = delivered(ben)
    assert (item["ref"], item["kind"]) == (page.ref, "page")
    assert ana.page(page.id).version == 1


def test_a_page_has_one_pin_of_each_kind(ana: Client, door: Door) -> None:
    page = ana.made("home")
    ana.made("below", parent=page.id)
    assert pin_tool(door).ok["pin"]
    listing = pin_tool(door, kind="list", depth=3)
    assert listing.ok["pin"] == {
        "page": page.ref,
        "kind": "list",
        "depth": 3,
        "audience": [SCOPE],
    }
    assert sorted(str(item["kind"]) for item in delivered(ana)) == ["list", "page"]
    assert pin_tool(door, "unpin").ok["pin"] is None
    assert [item["kind"] for item in delivered(ana)] == ["list"]
    assert pin_tool(door, "unpin", kind="list").ok["changed"] is True
    assert delivered(ana) == []


def test_pinning_a_listing_again_sets_its_new_depth(
    kb: KnowledgeBase, ana: Client, door: Door
) -> None:
    ana.made("home")
    for depth, more in ((1, {}), (2, {"depth": 2}), (1, {})):
        pinned = pin_tool(door, kind="list", **more)
        assert pinned.ok["changed"] is True
        assert pinned.ok["pin"]["depth"] == depth  # type: ignore[index]
    with kb.nothing_written():
        assert pin_tool(door, kind="list", depth=1).ok["changed"] is False


def test_pin_sets_the_audience_and_unpin_takes_from_it(
    kb: KnowledgeBase, ana: Client, door: Door
) -> None:
    page = ana.made("home")

    def audience(reply: Reply) -> object:
        pin = reply.ok["pin"]
        return None if pin is None else pin["audience"]  # type: ignore[index]

    assert audience(pin_tool(door, "pin", page.id, SCOPE, TEAM)) == [SCOPE, TEAM]
    assert audience(pin_tool(door, "pin", page.id, TEAM)) == [TEAM]
    assert audience(pin_tool(door, "pin", page.id, SCOPE, TEAM)) == [SCOPE, TEAM]
    assert audience(pin_tool(door, "unpin", page.id, SCOPE)) == [TEAM]
    with kb.nothing_written():
        unchanged = pin_tool(door, "unpin", page.id, SCOPE)
        assert (unchanged.ok["changed"], audience(unchanged)) == (False, [TEAM])
    gone = pin_tool(door, "unpin", page.id, TEAM)
    assert (gone.ok["changed"], audience(gone)) == (True, None)
    with kb.nothing_written():
        assert pin_tool(door, "unpin", page.id, TEAM).ok["changed"] is False


def test_audiences_of_others_stay_and_are_not_shown(
    asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    page = ana.made("home")
    keeper = open_door(asking("user:kay", "editor:acme", VAULT))
    assert pin_tool(keeper, "pin", page.id, VAULT).ok["changed"] is True
    mine = pin_tool(open_door(ana), "pin", page.id, SCOPE)
    assert mine.ok["pin"]["audience"] == [SCOPE]  # type: ignore[index]
    assert pin_tool(open_door(ana), "unpin", page.id, SCOPE).ok["pin"] is None
    assert len(delivered(asking("user:kay", "editor:acme", VAULT))) == 1


def test_a_pinned_page_reaches_only_runs_that_can_read_it(
    asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    hidden = ana.made("hidden", scope=TEAM)
    both = open_door(asking("user:bo", SCOPE, VIEWER))
    assert pin_tool(both, "pin", hidden.id, SCOPE, VIEWER).ok["changed"] is True
    assert [item["ref"] for item in delivered(ana)] == [hidden.ref]
    assert delivered(asking("user:vic", VIEWER)) == []


def test_a_pinned_listing_shows_only_what_the_run_can_read(
    asking: Ask, ana: Client, open_door: OpenDoor
) -> None:
    top = ana.made("top")
    ana.made("stays", parent=top.id)
    both = open_door(asking("user:bo", SCOPE, VIEWER))
    assert pin_tool(both, "pin", SCOPE, VIEWER, kind="list", depth=2).ok["changed"] is True
    (item,) = delivered(asking("user:vic", VIEWER))
    assert str(item).count(f"{SCOPE}#top/stays") == 1
    ana.move(top.id, scope=TEAM)
    (item,) = delivered(asking("user:vic", VIEWER))
    assert "top" not in str(item)


def test_a_scope_page_can_be_pinned(ana: Client, door: Door) -> None:
    pinned = pin_tool(door, "pin", SCOPE)
    assert pinned.ok["pin"]["page"] == SCOPE  # type: ignore[index]
    assert ana.page_at(SCOPE).version == 1
