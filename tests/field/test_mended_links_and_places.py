"""A link is found from its target however it was written, and a place tells who left it however
many others stood there since."""

import random
import string

import pytest
from msgspec import Struct

from tests.asking import Ask, Client
from tests.knowledge import SCOPE, VAULT

OCCUPANTS = 101


class Backlink(Struct, frozen=True):
    page: str
    target: str


@pytest.fixture
def bea(asking: Ask) -> Client:
    """Owns the vault as well."""
    return asking("user:bea", SCOPE, VAULT)


def backlinks(client: Client, page: str) -> list[str]:
    return sorted(link.target for link in client.items(f"/pages/{page}/backlinks", Backlink))


@pytest.mark.parametrize(
    "target",
    [
        "org:acme#late",
        "org:acme#/late",
        "org:acme#late/",
        "org:acme#//LATE//",
        "Late Page",
    ],
)
def test_a_wiki_link_written_before_its_page_is_found_from_it(ana: Client, target: str) -> None:
    ana.made("source", body=f"See [[{target}]].")
    late = ana.made("late", name="Late Page").id
    assert backlinks(ana, late) == [target]


@pytest.mark.parametrize(
    "target",
    ["late.md", "l%61te.md", "./late", "late/#part", "late.md?raw=1#part", "%6C%61%74%65.md"],
)
def test_a_relative_link_written_before_its_page_is_found_from_it(ana: Client, target: str) -> None:
    ana.made("source", body=f"See [it]({target}).")
    late = ana.made("late").id
    assert backlinks(ana, late) == [target]


def test_a_link_up_is_found_from_the_page_that_comes_to_stand_there(ana: Client) -> None:
    source = ana.made("source", body="Up [there](../..) and [on top](../../..).").id
    top, above, folder = ana.chain("top", "above", "folder")
    ana.move(source, parent=folder.id)
    assert backlinks(ana, top.id) == ["../.."]
    assert backlinks(ana, above.id) == []
    scope_page = ana.page_at(SCOPE).id
    assert backlinks(ana, scope_page) == ["../../.."]


def test_links_of_any_length_are_kept_and_found(ana: Client) -> None:
    """No index holds what cannot be squeezed into a third of a page of PostgreSQL."""
    letters = random.Random(1).choices(string.ascii_letters + string.digits, k=20_000)
    long = "".join(letters)
    # Ligatures that fold to eighteen letters each.
    wide = "".join(random.Random(2).choices("\ufdfa\ufdfb\ufdf2\u0643", k=100))
    body = f"[a]({long}.md) [b]({wide}.md) [c](x%00y.md) [[{long[:1_900]}]]"
    source = ana.made("source", body=body)
    assert ana.page(source.id).body == body
    late = ana.made(wide).id
    assert backlinks(ana, late) == [f"{wide}.md"]


def test_a_place_tells_who_left_it_however_many_were_deleted_there(ana: Client) -> None:
    mover = ana.made("spot")
    ana.move(mover.id, key="moved")
    for _ in range(OCCUPANTS):
        ana.delete(ana.made("spot").id)
    gone = ana.at(f"{SCOPE}#spot").refused(404, "NOT_FOUND")
    assert gone.details["movedTo"] == f"{SCOPE}#moved"


def test_a_place_tells_who_left_it_however_many_were_merged_there(ana: Client) -> None:
    """Merged pages tell nothing once what took them over is gone."""
    mover = ana.made("spot")
    ana.move(mover.id, key="moved")
    into = ana.made("into").id
    for _ in range(OCCUPANTS):
        ana.merge(ana.made("spot").id, into)
    merged = ana.at(f"{SCOPE}#spot").refused(404, "NOT_FOUND")
    assert merged.details["mergedInto"] == into
    then = ana.delete(into).revision - 1
    for query in ({}, {"revision": then + 1}):
        gone = ana.at(f"{SCOPE}#spot", **query).refused(404, "NOT_FOUND")
        assert gone.details["movedTo"] == f"{SCOPE}#moved"
    # At a revision before, and once more at the same one while the head goes on.
    ana.made("later")
    for revision, told in ((then, {"mergedInto": into}), (then + 1, {"movedTo": "org:acme#moved"})):
        gone = ana.at(f"{SCOPE}#spot", revision=revision).refused(404, "NOT_FOUND")
        assert {name: gone.details.get(name) for name in told} == told


def test_a_long_chain_of_merges_is_followed_to_its_end(ana: Client) -> None:
    first = here = ana.made("spot").id
    for _ in range(OCCUPANTS):
        here, before = ana.made().id, here
        ana.merge(before, here)
    head = ana.page(here).version
    assert head == 2
    for query in ({}, {"revision": ana.part("/scopes").revision}):
        gone = ana.ask("GET", f"/pages/{first}", query=query).refused(404, "NOT_FOUND")
        assert gone.details["mergedInto"] == here
    revision = ana.part("/scopes").revision
    ana.made("later")
    gone = ana.at(f"{SCOPE}#spot", revision=revision).refused(404, "NOT_FOUND")
    assert gone.details["mergedInto"] == here


def test_a_place_tells_nothing_of_who_is_out_of_sight(ana: Client, bea: Client) -> None:
    mover = ana.made("spot").id
    ana.move(mover, key="moved")
    hidden = ana.made("spot").id
    bea.move(hidden, scope=VAULT)
    gone = ana.at(f"{SCOPE}#spot").refused(404, "NOT_FOUND")
    assert gone.details["movedTo"] == f"{SCOPE}#moved"
    assert bea.at(f"{SCOPE}#spot").refused(404, "NOT_FOUND").details["movedTo"] == f"{VAULT}#spot"


def test_a_nul_names_nothing(ana: Client) -> None:
    """PostgreSQL takes no text with one, not even in a question."""
    page = ana.made("page", body="[a](x%00y.md)")
    assert page.body == "[a](x%00y.md)"
    ana.at(f"{SCOPE}#x\0y").refused(404, "NOT_FOUND")
    ana.at(f"{SCOPE}#page/x\0y").refused(404, "NOT_FOUND")
    for query in ({"type": "page\0created"}, {"actor": "user:a\0na"}):
        assert ana.part("/events", **query).items == []
