"""Notes and pins over HTTP."""

import httpx

from tests.http.world import World, code_of, create, details_of


def test_a_note_is_added_read_restamped_and_removed(world: World, owner: httpx.Client) -> None:
    page = create(owner, "A", key="a")
    added = owner.post(
        f"/pages/{page['id']}/notes",
        json={"text": "Opens at nine", "scope": ["org:acme"], "when": "2026-10-29"},
    )
    assert added.status_code == 201
    note = added.json()["note"]
    assert (note["text"], note["scope"], note["when"]) == (
        "Opens at nine",
        ["org:acme"],
        "2026-10-29",
    )
    read = owner.get(added.url.join(added.headers["location"]))
    assert read.json()["note"] == note
    assert owner.get(f"/pages/{page['id']}/notes").json()["items"] == [note]
    assert owner.get(f"/pages/{page['id']}").json()["page"]["version"] == 1

    same = owner.patch(f"/notes/{note['id']}", json={"scope": ["org:acme"]})
    assert same.json()["changed"] is False
    both = world.client("org:acme", "org:other")
    stamped = both.patch(f"/notes/{note['id']}", json={"scope": ["org:acme", "org:other"]})
    assert sorted(stamped.json()["note"]["scope"]) == ["org:acme", "org:other"]
    assert owner.get(f"/notes/{note['id']}").json()["note"]["scope"] == ["org:acme"]

    removed = owner.delete(f"/notes/{note['id']}")
    assert removed.json() == {"revision": removed.json()["revision"], "changed": True, "note": None}
    assert code_of(owner.get(f"/notes/{note['id']}")) == "NOT_FOUND"
    assert code_of(owner.delete(f"/notes/{note['id']}")) == "NOT_FOUND"


def test_notes_are_checked(world: World, owner: httpx.Client) -> None:
    page = create(owner, "A")
    path = f"/pages/{page['id']}/notes"
    hidden = owner.post(path, json={"text": "x", "scope": ["org:other"]})
    missing = owner.post(path, json={"text": "x", "scope": ["org:missing"]})
    assert code_of(hidden) == code_of(missing) == "NOT_FOUND"
    for body, field in (
        ({"text": " ", "scope": ["org:acme"]}, "text"),
        ({"text": "x", "scope": []}, "scope"),
        ({"text": "x", "scope": ["org:acme"], "when": "soon"}, "when"),
    ):
        response = owner.post(path, json=body)
        assert response.status_code == 422
        assert details_of(response)["field"] == field


def test_a_pin_is_set_changed_and_taken_out(world: World, owner: httpx.Client) -> None:
    page = create(owner, "A")
    path = f"/pages/{page['id']}/pins"
    first = owner.put(f"{path}/list", json={"audience": ["org:acme"], "depth": 2})
    assert first.status_code == 201
    pin = first.json()["pin"]
    assert (pin["kind"], pin["depth"], pin["audience"]) == ("list", 2, ["org:acme"])
    again = owner.put(f"{path}/list", json={"audience": ["org:acme"], "depth": 2})
    assert (again.status_code, again.json()["changed"]) == (200, False)
    assert owner.get(path).json()["items"] == [pin]
    gone = owner.delete(f"{path}/list")
    assert gone.json() == {"revision": gone.json()["revision"], "changed": True, "pin": None}
    assert owner.get(path).json()["items"] == []
    assert owner.delete(f"{path}/list").json()["changed"] is False


def test_an_audience_beyond_the_caller_stays_and_is_not_shown(
    world: World, owner: httpx.Client
) -> None:
    page = create(owner, "A")
    both = world.client("org:acme", "org:other")
    path = f"/pages/{page['id']}/pins/page"
    both.put(path, json={"audience": ["org:acme", "org:other"]})
    removed = owner.request("DELETE", path, json={"audience": ["org:acme"]})
    assert removed.json()["pin"] is None
    assert both.get(f"/pages/{page['id']}/pins").json()["items"][0]["audience"] == ["org:other"]


def test_pins_are_checked(owner: httpx.Client) -> None:
    page = create(owner, "A")
    path = f"/pages/{page['id']}/pins"
    for kind, body, field in (
        ("page", {"audience": []}, "audience"),
        ("list", {"audience": ["org:acme"], "depth": 99}, "depth"),
        ("shelf", {"audience": ["org:acme"]}, "kind"),
    ):
        response = owner.put(f"{path}/{kind}", json=body)
        assert response.status_code == 422, response.text
        assert details_of(response)["field"] == field


def test_backlinks_lead_back(owner: httpx.Client) -> None:
    target = create(owner, "Target", key="target")
    source = create(owner, "Source", body="See [[org:acme#target]].\n")
    items = owner.get(f"/pages/{target['id']}/backlinks").json()["items"]
    assert [(item["page"], item["line"]) for item in items] == [(source["id"], 1)]
