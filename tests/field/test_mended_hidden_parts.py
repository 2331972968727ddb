"""What a reader is told does not depend on what is hidden from him: neither that there is
something, nor how often it changed."""

from itertools import pairwise
from uuid import UUID

import pytest
from msgspec import Struct

from kbstore.access import Caller
from kbstore.domain.commands import RemovePin, RestampNote, SetPin
from tests.asking import Answer, Ask, Client
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase

MORE_THAN_ONE_READING = 501


class Note(Struct, frozen=True, rename="camel"):
    id: str
    page: str
    scope: tuple[str, ...]
    version: int
    updated_at: str
    updated_by: str


class Pin(Struct, frozen=True, rename="camel"):
    kind: str
    audience: tuple[str, ...]
    depth: int
    updated_at: str
    updated_by: str


class Told(Struct, frozen=True, rename="camel"):
    """An event of the feed with its facts."""

    revision: int
    type: str
    page_id: str | None
    note_id: str | None
    data: dict[str, object]


class Planned(Struct, frozen=True, rename="camel"):
    type: str
    page_id: str | None


class _Plan(Struct, frozen=True):
    events: tuple[Planned, ...]


class _Read(Struct, frozen=True):
    note: Note


@pytest.fixture
def bea(asking: Ask) -> Client:
    """Owns the vault as well."""
    return asking("user:bea", SCOPE, VAULT)


def noted(client: Client, page: str, *stamps: str) -> str:
    answer = client.ask("POST", f"/pages/{page}/notes", {"text": "A fact.", "scope": stamps})
    return answer.read(_Read).note.id


def note(client: Client, note_id: str) -> Note:
    return client.ask("GET", f"/notes/{note_id}").read(_Read).note


def restamp(client: Client, note_id: str, *stamps: str) -> Answer:
    return client.ask("PATCH", f"/notes/{note_id}", {"scope": stamps})


def restamping(note_id: str, *stamps: str) -> dict[str, object]:
    return {"op": "restampNote", "note": note_id, "scope": stamps}


def pin(client: Client, page: str, *audience: str) -> Answer:
    return client.ask("PUT", f"/pages/{page}/pins/list", {"audience": audience})


def pins(client: Client, page: str) -> list[Pin]:
    return client.items(f"/pages/{page}/pins", Pin)


def told(client: Client, page: str | None = None, **query: object) -> list[Told]:
    if page is not None:
        query["pageId"] = page
    return client.items("/events", Told, **query)


# --- a pin that keeps only audiences he knows nothing of --------------------------------------


@pytest.mark.parametrize("hidden", [(), (VAULT,)])
def test_a_pin_without_an_audience_he_knows_is_removed_to_him(
    ana: Client, bea: Client, hidden: tuple[str, ...]
) -> None:
    page = ana.made("page").id
    pin(ana, page, SCOPE)
    if hidden:
        pin(bea, page, SCOPE, *hidden)
    unpin = {"op": "unpin", "page": page, "kind": "list"}
    assert ana.commit(unpin, dryRun=True).read(_Plan).events == (Planned("pin.removed", page),)
    revision = ana.ask("DELETE", f"/pages/{page}/pins/list").revision
    last = told(ana, page=page)[-1]
    assert (last.revision, last.type, last.data) == (revision, "pin.removed", {})
    assert pins(ana, page) == []
    # The feed of one type agrees with the feed of all.
    assert [event.revision for event in told(ana, type="pin.removed")] == [revision]
    assert revision not in [event.revision for event in told(ana, type="pin.set")]
    if hidden:
        assert told(bea, page=page)[-1].data["audience"] == [VAULT]
        assert told(bea, type="pin.removed") == []


@pytest.mark.parametrize("hidden", [(), (VAULT,)])
def test_a_pin_removed_and_set_by_one_commit_plans_as_it_is_told(
    ana: Client, bea: Client, hidden: tuple[str, ...]
) -> None:
    page = ana.made("page").id
    pin(bea, page, SCOPE, *hidden)
    unpin = {"op": "unpin", "page": page, "kind": "list", "audience": [SCOPE]}
    again = {"op": "pin", "page": page, "kind": "list", "audience": [SCOPE]}
    planned = ana.commit(unpin, again, dryRun=True).read(_Plan).events
    assert [event.type for event in planned] == ["pin.removed", "pin.set"]
    ana.commit(unpin, again)
    assert [event.type for event in told(ana, page=page)][-2:] == ["pin.removed", "pin.set"]


def test_a_pin_of_hidden_audiences_alone_is_never_told(ana: Client, bea: Client) -> None:
    page = ana.made("page").id
    pin(bea, page, VAULT)
    bea.ask("DELETE", f"/pages/{page}/pins/list")
    assert [event.type for event in told(ana, page=page)] == ["page.created"]
    assert [event.type for event in told(bea, page=page)][1:] == ["pin.set", "pin.removed"]


def test_a_merge_plans_the_pins_it_takes_away_for_who_knows_them(ana: Client, bea: Client) -> None:
    page, into = ana.made("page").id, ana.made("into").id
    pin(bea, page, VAULT)
    merge = {"op": "merge", "page": page, "into": into, "expectedVersion": "any"}
    for client, events in ((ana, []), (bea, ["pin.set", "pin.removed"])):
        planned = client.commit(merge, dryRun=True).read(_Plan).events
        assert [event.type for event in planned if event.type.startswith("pin.")] == events


# --- the stamps of a moment -------------------------------------------------------------------


def test_a_stamping_there_and_back_in_one_commit_shows_no_empty_one(
    ana: Client, bea: Client
) -> None:
    page = ana.made("page").id
    made = noted(bea, page, SCOPE)
    bea.commit(restamping(made, VAULT), restamping(made, SCOPE))
    shown = [(event.type, event.data["scope"]) for event in told(ana) if event.note_id == made]
    assert shown == [("note.added", [SCOPE]), ("note.restamped", [SCOPE])]
    assert note(ana, made).version == 1
    assert len([event for event in told(bea) if event.note_id == made]) == 3


def test_what_a_commit_did_while_a_note_was_hidden_is_not_told(ana: Client, bea: Client) -> None:
    page, into = ana.made("page").id, ana.made("into").id
    made = noted(bea, page, SCOPE)
    merge = {"op": "merge", "page": page, "into": into, "expectedVersion": "any"}
    revision = bea.commit(restamping(made, VAULT), merge, restamping(made, SCOPE)).revision
    shown = [event for event in told(ana) if event.revision == revision]
    assert [event.type for event in shown if event.note_id == made] == ["note.restamped"]
    assert all(event.data.get("scope") != [] for event in told(ana))
    # One event of three: the commit is not all for him.
    commit = ana.ask("GET", f"/commits/{revision}").json["commit"]
    assert isinstance(commit, dict)
    assert commit["complete"] is False


# --- how often what is hidden changed ---------------------------------------------------------


@pytest.mark.parametrize("pages_out_of_sight", [1, 2, 3])
def test_a_note_on_pages_out_of_sight_changes_for_nobody(
    ana: Client, bea: Client, pages_out_of_sight: int
) -> None:
    hidden = [bea.made(None, scope=VAULT).id for _ in range(pages_out_of_sight)]
    made = noted(bea, hidden[0], SCOPE)
    for page, into in pairwise(hidden):
        restamp(bea, made, SCOPE, TEAM)
        restamp(bea, made, SCOPE)
        bea.merge(page, into)
    into = ana.made("into").id
    bea.merge(hidden[-1], into)
    found = note(ana, made)
    assert (found.page, found.version, found.updated_by) == (into, 2, "user:bea")


def test_restamping_a_note_while_its_page_is_away_changes_nothing(ana: Client, bea: Client) -> None:
    page = ana.made("page").id
    made = noted(ana, page, SCOPE)
    before = note(ana, made)
    bea.move(page, scope=VAULT)
    restamp(bea, made, SCOPE, TEAM)
    restamp(bea, made, SCOPE)
    bea.move(page, scope=SCOPE)
    assert note(ana, made) == before


def test_hidden_stamps_do_not_order_those_that_are_known(asking: Ask, bea: Client) -> None:
    """Whoever restamps puts the stamps he cannot read last."""
    reader = asking("user:red", "viewer:acme", TEAM)
    vault_and_team = asking("user:zoe", "editor:acme", VAULT)
    page = bea.made("page").id
    made = noted(bea, page, TEAM, SCOPE)
    before = note(reader, made)
    assert before.scope == (TEAM, SCOPE)
    restamp(vault_and_team, made, SCOPE, VAULT)
    assert note(bea, made).scope == (SCOPE, VAULT, TEAM)
    assert note(reader, made) == before
    assert "note.restamped" not in [event.type for event in told(reader)]


def test_a_long_hidden_past_of_a_note_is_no_past(
    kb: KnowledgeBase, ana: Client, bea: Client
) -> None:
    page = ana.made("page").id
    made = noted(ana, page, SCOPE)
    restamp(ana, made, SCOPE, TEAM)
    before = note(ana, made)
    assert before.version == 2
    alter_often(kb, page, made)
    assert note(ana, made) == before
    restamp(ana, made, SCOPE)
    assert note(ana, made).version == 3
    assert note(bea, made).version == MORE_THAN_ONE_READING + 3


def test_a_long_hidden_past_of_a_pin_is_no_past(
    kb: KnowledgeBase, ana: Client, bea: Client
) -> None:
    page = ana.made("page").id
    pin(ana, page, SCOPE)
    before = pins(ana, page)
    alter_often(kb, page, noted(bea, page, SCOPE))
    assert pins(ana, page) == before
    assert pins(bea, page) != before


def alter_often(kb: KnowledgeBase, page: str, note_id: str) -> None:
    """The vault is now among the stamps of a note and the audiences of a pin, and now not."""
    caller = Caller(principal="user:bea", held=frozenset({SCOPE, VAULT}))
    stamps = (SCOPE, TEAM)
    identity, note_identity = UUID(page), UUID(note_id)
    for number in range(MORE_THAN_ONE_READING):
        hidden = () if number % 2 else (VAULT,)
        kb.run(RestampNote(note=note_identity, stamps=(*stamps, *hidden)), caller)
        if hidden:
            kb.run(SetPin(page=identity, kind="list", audience=(SCOPE, VAULT)), caller)
        else:
            kb.run(RemovePin(page=identity, kind="list", audience=(VAULT,)), caller)
