"""Walks that lost their way, and requests whose knowledge base has an awkward name."""

from contextlib import closing

import msgspec
import pytest

from api.wiring import Services
from kbstore.store.commits import Origin
from tests.asking import PREFIX, Ask, Client, Part
from tests.knowledge import CONFIGURATION, SCOPE, KnowledgeBase


def refs_of(part: Part, name: str = "ref") -> list[str]:
    return [str(msgspec.json.decode(item, type=dict[str, object])[name]) for item in part.items]


def at(ana: Client) -> str:
    """The time of the newest commit."""
    return str(ana.ask("GET", "/revisions/active").json["committedAt"])


@pytest.fixture
def times(ana: Client) -> tuple[str, str]:
    """Two times with different pages below the scope page."""
    for number in range(4):
        ana.made(f"p{number}")
    earlier = at(ana)
    ana.made("later")
    return earlier, at(ana)


LISTS = ["/pages/{top}/children", "/pages/{top}/history", "/events", "/commits", "/deletions"]


@pytest.mark.parametrize("path", LISTS)
def test_a_cursor_keeps_to_the_time_its_walk_began_with(
    ana: Client, times: tuple[str, str], path: str
) -> None:
    earlier, later = times
    top = ana.page_at(SCOPE)
    for number in range(3):
        ana.edit(top.id, body=f"{number}\n")
        ana.delete(ana.made(f"gone{number}").id, 1)
    earlier = at(ana)
    ana.made("last")
    later = at(ana)
    path = path.format(top=top.id)
    first = ana.ask("GET", path, limit=2, asOf=earlier)
    assert first.json["final"] is True
    part = first.read(Part)
    assert part.next_cursor is not None
    other = ana.ask("GET", path, cursor=part.next_cursor, asOf=later)
    assert other.refused(422, "VALIDATION_ERROR").details == {
        "field": "cursor",
        "reason": "mismatch",
    }
    again = ana.ask("GET", path, cursor=part.next_cursor, asOf=earlier)
    assert (again.json["revision"], again.json["final"]) == (part.revision, True)
    by_number = ana.ask("GET", path, cursor=part.next_cursor, revision=part.revision)
    alone = ana.ask("GET", path, cursor=part.next_cursor)
    assert again.json["items"] == by_number.json["items"] == alone.json["items"] != []
    assert "final" not in alone.json


def test_another_time_of_the_same_revision_goes_on(ana: Client, times: tuple[str, str]) -> None:
    path = f"/pages/{ana.page_at(SCOPE).id}/children"
    whole = refs_of(ana.part(path, limit=200))
    first = ana.part(path, limit=3)
    second = ana.part(path, cursor=first.next_cursor, asOf=times[1])
    assert refs_of(first) + refs_of(second) == whole


@pytest.mark.parametrize("path", ["/events", "/commits"])
def test_a_feed_at_the_head_is_not_turned_to_a_time(
    ana: Client, times: tuple[str, str], path: str
) -> None:
    first = ana.part(path, limit=2)
    ana.ask("GET", path, cursor=first.next_cursor, asOf=times[0]).refused(422, "VALIDATION_ERROR")
    ana.made("another")
    assert ana.part(path, cursor=first.next_cursor, limit=200).revision == first.revision + 1


def test_a_walk_over_scopes_goes_on_from_one_that_is_hidden_by_now(
    kb: KnowledgeBase, asking: Ask
) -> None:
    held = ("alpha:1", "beta:1", "beta:2", "gamma:1")
    client = asking("user:ana", *held)
    kb.configure(CONFIGURATION + open_to("alpha", "beta", "gamma"))
    whole = refs_of(client.part("/scopes"), "scope")
    assert whole == list(held)
    for shown in range(1, len(whole)):
        revision = kb.revision
        first = client.part("/scopes", limit=shown, revision=revision)
        closed = whole[shown - 1].partition(":")[0]
        open_ones = {"alpha", "beta", "gamma"} - {closed}
        kb.configure(CONFIGURATION + open_to(*open_ones) + f'[scopes."{closed}:$x"]')
        second = client.part("/scopes", cursor=first.next_cursor, limit=200)
        left = [scope for scope in whole[shown:] if not scope.startswith(closed)]
        assert (second.revision, refs_of(second, "scope")) == (revision, left)
        kb.configure(CONFIGURATION + open_to("alpha", "beta", "gamma"))


def open_to(*types: str) -> str:
    """Scopes of these types, each for whoever holds it."""
    access = 'access = [{ principal = "self", role = "viewer" }]'
    return "".join(f'[scopes."{type}:$x"]\n{access}\n' for type in types)


# --- names of knowledge bases -------------------------------------------------------------------


class Named(KnowledgeBase):
    """A knowledge base with a slug that stands elsewhere in its addresses, too."""

    def __init__(self, services: Services, slug: str) -> None:
        self.services, self.slug = services, slug
        self.id = services.commands.create_knowledge_base(slug, Origin(actor="user:root"))
        self.configure(CONFIGURATION)


@pytest.mark.parametrize("slug", ["v2", "openapi", "knowledge-bases", "k", "pages", "0"])
def test_a_name_that_is_part_of_every_address_makes_no_other_request(
    services: Services, url: str, slug: str
) -> None:
    kb = Named(services, slug)
    address = f"knowledge-base-{kb.id}"
    token = kb.token()
    page = {"scope": SCOPE, "name": "A", "key": "a"}
    with (
        closing(Client(url, slug, token)) as by_name,
        closing(Client(url, address, token)) as by_id,
    ):
        first = by_name.ask("POST", "/pages", page, key="once")
        assert first.headers["location"] == f"{PREFIX}/{slug}/pages/{first.page.id}"
        again = by_id.ask("POST", "/pages", page, key="once")
        assert again.headers["idempotency-replayed"] == "true"
        assert again.json == first.json
        assert again.headers["location"] == f"{PREFIX}/{address}/pages/{first.page.id}"
        other = by_name.edit(first.page.id, 1, name="B")
        assert other.status == 200
        key = {"idempotency-key": "once", "if-match": "*"}
        for client in (by_name, by_id):
            refused = client.ask("DELETE", f"/pages/{first.page.id}", headers=key)
            refused.refused(422, "IDEMPOTENCY_KEY_REUSED")
