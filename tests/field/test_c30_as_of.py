"""C30: a query for a point in time gave records from after that time."""

import msgspec
import pytest

from tests.asking import Client, Deletion, Event, Summary
from tests.field.clocks import served_at
from tests.knowledge import SCOPE, TEAM

TEN, HALF_PAST, ELEVEN = (f"2026-03-01T1{time}:00Z" for time in ("0:00", "0:30", "1:00"))


def listed(client: Client, path: str, **query: object) -> str:
    part = client.part(path, **query)
    assert part.next_cursor is None
    return b"".join(bytes(item) for item in part.items).decode()


@pytest.mark.parametrize("at", ["asOf", "revision"])
def test_only_what_was_there_by_then(database_url: str, at: str) -> None:
    """Every kind of record, one made at ten and one at eleven, read as of half past ten."""
    with served_at(database_url, TEN) as timed:
        ana, clock = timed.ana, timed.clock
        parent = ana.made("parent", body="early\n").id
        early, mover = ana.made("early", parent=parent).id, ana.made("mover", parent=parent).id
        ana.made("early-link", body="[[org:acme#parent]]\n")
        ana.ask("POST", f"/pages/{parent}/notes", {"text": "An early note.", "scope": [SCOPE]})
        ana.ask("PUT", f"/pages/{parent}/pins/page", {"audience": [SCOPE]})
        gone_early = ana.made("gone-early").id
        ana.delete(gone_early, 1)
        revision = timed.kb.revision
        clock.set(ELEVEN)
        ana.edit(parent, 1, body="late\n", name="Late", description="late")
        late = ana.made("late", parent=parent).id
        ana.move(mover, 1, scope=TEAM)
        ana.made("late-link", body="[[org:acme#parent]]\n")
        ana.ask("POST", f"/pages/{parent}/notes", {"text": "A late note.", "scope": [SCOPE]})
        ana.ask("PUT", f"/pages/{parent}/pins/list", {"audience": [SCOPE]})
        gone_late = ana.made("gone-late").id
        ana.delete(gone_late, 1)
        when: dict[str, object] = {at: HALF_PAST if at == "asOf" else revision}

        page = ana.page(parent, **when)
        assert (page.body, page.name, page.description) == ("early\n", "parent", None)
        children = [
            msgspec.json.decode(item, type=Summary).id
            for item in ana.part(f"/pages/{parent}/children", **when).items
        ]
        assert set(children) == {early, mover}
        ana.ask("GET", f"/pages/{late}", query=when).refused(404, "NOT_FOUND")
        ana.at("org:acme#parent/late", **when).refused(404, "NOT_FOUND")
        assert ana.page_at("org:acme#parent/mover", **when).id == mover
        notes = listed(ana, f"/pages/{parent}/notes", **when)
        assert "An early note." in notes
        assert "A late note." not in notes
        pins = listed(ana, f"/pages/{parent}/pins", **when)
        assert '"kind":"page"' in pins
        assert '"kind":"list"' not in pins
        backlinks = listed(ana, f"/pages/{parent}/backlinks", **when)
        assert "early-link" in backlinks
        assert "late-link" not in backlinks
        assert [entry.version for entry in ana.history(parent, **when)] == [1]
        deleted = [
            msgspec.json.decode(item, type=Deletion).page_id
            for item in ana.part("/deletions", **when).items
        ]
        assert deleted == [gone_early]
        for event in ana.part("/events", limit=200, **when).items:
            assert msgspec.json.decode(event, type=Event).revision <= revision
        assert '"late' not in listed(ana, "/commits", limit=200, **when)
        # And now all of it shows.
        assert ana.page(parent).body == "late\n"
        assert "late-link" in listed(ana, f"/pages/{parent}/backlinks")
        assert len(ana.deletions()) == 2


@pytest.mark.parametrize(
    "time", [HALF_PAST, "2026-03-01T12:30:00+02:00", "2026-02-28T23:00:00-11:30"]
)
def test_the_zone_of_the_time_does_not_matter(database_url: str, time: str) -> None:
    with served_at(database_url, TEN) as timed:
        page = timed.ana.made("p", body="early\n").id
        timed.clock.set(ELEVEN)
        timed.ana.edit(page, 1, body="late\n")
        assert timed.ana.page(page, asOf=time).body == "early\n"


def test_the_configuration_as_of_a_time(database_url: str) -> None:
    """Names of scopes show as configured then, access is always today's."""
    with served_at(database_url, TEN) as timed:
        page = timed.ana.made("p").id
        timed.clock.set(ELEVEN)
        timed.kb.configure('[scopes."org:acme"]\naccess = [{principal = "self", role = "viewer"}]')
        assert timed.ana.page(page, asOf=HALF_PAST).id == page
        timed.ana.edit(page, 1, body="no\n").refused(403, "ROLE_TOO_WEAK")
        timed.kb.configure('[scopes."org:other"]\n')
        timed.ana.ask("GET", f"/pages/{page}", asOf=HALF_PAST).refused(404, "NOT_FOUND")
        assert timed.auditor.page(page, asOf=HALF_PAST).id == page
