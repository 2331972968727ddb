"""Scopes that are declared by pattern and reached by a role, before anybody wrote anything there:
they answer to their address, also to who writes."""

from tests.asking import Ask, Client
from tests.knowledge import SCOPE
from tests.tools.conftest import OpenDoor
from tests.tools.doors import Door, Json

NEW = "team:acme:new"
"""Ana holds org:acme, and so owns it; nobody holds it, and nothing was ever written to it."""


def page_of(result: Json) -> Json:
    page = result["page"]
    assert isinstance(page, dict)
    return page


def test_its_page_is_read_and_written(ana: Client, door: Door) -> None:
    read = page_of(door.call("knowledge_read", {"page": NEW}).ok)
    assert (read["version"], read["role"]) == (0, "owner")
    written = door.call("knowledge_page", {"op": "write", "page": NEW, "body": "Welcome"}).ok
    assert page_of(written)["ref"] == NEW
    assert page_of(door.call("knowledge_read", {"page": NEW}).ok)["body"] == "Welcome"


def test_notes_and_pins_are_put_on_it(ana: Client, door: Door) -> None:
    note = {"op": "add", "page": NEW, "text": "A fact", "scope": [SCOPE]}
    assert door.call("knowledge_note", note).result is not None
    other = "team:acme:other"
    pin = {"op": "pin", "page": other, "audience": [SCOPE]}
    assert door.call("knowledge_pin", pin).result is not None


def test_pages_are_merged_into_it_and_put_below_it(ana: Client, door: Door) -> None:
    page = ana.made("p", body="x")
    into = {"op": "merge", "page": page.ref, "into": NEW}
    assert page_of(door.call("knowledge_page", into).ok)["ref"] == NEW
    below = {
        "op": "write",
        "scope": "team:acme:third",
        "parent": "team:acme:third",
        "name": "Below",
    }
    assert door.call("knowledge_page", below).result is not None


def test_it_is_not_there_for_who_has_no_role(asking: Ask, open_door: OpenDoor) -> None:
    door = open_door(asking("user:vic", "viewer:acme"))
    refused = door.call("knowledge_page", {"op": "write", "page": NEW, "body": "x"})
    assert refused.message == f'Knowledge page "{NEW}" not found.'
