"""C28: a read "as of" a future point gave one answer now and another one later."""

from collections.abc import Callable

import pytest

from api.settings import Settings
from tests.asking import Answer, Client
from tests.knowledge import SCOPE, KnowledgeBase

Read = Callable[[Client, str, dict[str, object]], Answer]

READS: dict[str, Read] = {
    "page": lambda c, page, at: c.ask("GET", f"/pages/{page}", query=at),
    "ref": lambda c, page, at: c.at("org:acme#p", **at),
    "children": lambda c, page, at: c.ask("GET", f"/pages/{page}/children", query=at),
    "notes": lambda c, page, at: c.ask("GET", f"/pages/{page}/notes", query=at),
    "pins": lambda c, page, at: c.ask("GET", f"/pages/{page}/pins", query=at),
    "backlinks": lambda c, page, at: c.ask("GET", f"/pages/{page}/backlinks", query=at),
    "history": lambda c, page, at: c.ask("GET", f"/pages/{page}/history", query=at),
    "diff": lambda c, page, at: c.ask(
        "GET", f"/pages/{page}/diff", query={**at, "from": 1, "to": 2}
    ),
    "deletions": lambda c, page, at: c.ask("GET", "/deletions", query=at),
    "commits": lambda c, page, at: c.ask("GET", "/commits", query=at),
    "events": lambda c, page, at: c.ask("GET", "/events", query=at),
}


@pytest.fixture
def page(ana: Client) -> str:
    """A page with everything that can be read of one."""
    page = ana.made("p", body="one\n").id
    ana.edit(page, 1, body="# P\n\nSee [[org:acme#p]].\n")
    ana.made("below", parent=page)
    ana.ask("POST", f"/pages/{page}/notes", {"text": "A fact.", "scope": [SCOPE]})
    ana.ask("PUT", f"/pages/{page}/pins/page", {"audience": [SCOPE]})
    ana.delete(ana.made("gone").id, 1)
    return page


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("ahead", [1, 2, 10**9])
def test_a_revision_that_is_not_reached_is_refused(
    kb: KnowledgeBase, ana: Client, page: str, name: str, ahead: int
) -> None:
    head = kb.revision
    answer = READS[name](ana, page, {"revision": head + ahead})
    details = answer.refused(404, "REVISION_NOT_REACHED").details
    assert details["activeContentRevision"] == head
    assert answer.headers["cache-control"] == "no-store", "it will be there one day"


@pytest.mark.parametrize("name", READS)
def test_the_same_revision_gives_the_same_bytes_for_ever(
    kb: KnowledgeBase, ana: Client, auditor: Client, page: str, name: str
) -> None:
    revision = kb.revision
    at: dict[str, object] = {"revision": revision}
    first = READS[name](auditor, page, at)
    assert first.status == 200
    assert READS[name](auditor, page, {}).raw == first.raw, "it is the newest one still"
    # Everything there is changes: content, name, place, notes, pins, links, and the page goes.
    ana.edit(page, 2, body="other\n", name="Other", description="Other")
    ana.move(page, 3, key="q")
    ana.made("p")
    ana.ask("POST", f"/pages/{page}/notes", {"text": "Another.", "scope": [SCOPE]})
    ana.ask("DELETE", f"/pages/{page}/pins/page")
    for child in ana.children(page):
        ana.edit(child.id, 1, name="Renamed")
    ana.made("linking", body="[[org:acme#q]]\n")
    ana.delete(page, 4, subtree=True)
    again = READS[name](auditor, page, at)
    assert again.raw == first.raw
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["kb-revision"] == str(revision)


def test_an_answer_names_the_revision_it_shows(kb: KnowledgeBase, ana: Client, page: str) -> None:
    for name, read in READS.items():
        for revision in (kb.revision, kb.revision - 1):
            answer = read(ana, page, {"revision": revision})
            assert answer.status == 200, name
            assert answer.headers["kb-revision"] == str(revision)
            assert answer.json["revision"] == revision


@pytest.mark.parametrize("name", READS)
def test_below_the_first_revision(ana: Client, page: str, name: str) -> None:
    READS[name](ana, page, {"revision": 0}).refused(410, "REVISION_NOT_RETAINED")


@pytest.mark.parametrize("revision", ["-1", "1.5", "one", "", "1e3", "0x1", "9" * 30, " 1", "+1"])
@pytest.mark.parametrize("name", ["page", "children", "events"])
def test_what_is_no_revision(ana: Client, page: str, name: str, revision: str) -> None:
    refusal = READS[name](ana, page, {"revision": revision}).refused(422, "VALIDATION_ERROR")
    assert refusal.details["field"] == "revision"


@pytest.mark.parametrize("name", ["page", "children", "deletions"])
@pytest.mark.parametrize("time", ["2999-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_a_time_to_come_is_refused(ana: Client, page: str, name: str, time: str) -> None:
    refusal = READS[name](ana, page, {"asOf": time}).refused(422, "VALIDATION_ERROR")
    assert refusal.details["field"] == "asOf"


def test_waiting_for_a_revision_is_bounded(kb: KnowledgeBase, ana: Client, page: str) -> None:
    """`minRevision` waits; a revision that never comes is a refusal that says so."""
    head = kb.revision
    assert Settings().min_revision_wait_seconds_max <= 2
    answer = ana.ask("GET", f"/pages/{page}", minRevision=head + 1)
    details = answer.refused(503, "PROJECTION_BEHIND").details
    assert details["activeContentRevision"] == head
    assert int(answer.headers["retry-after"]) >= 1
    assert ana.ask("GET", f"/pages/{page}", minRevision=head).status == 200


def test_every_write_can_be_read_at_once_at_its_revision(ana: Client) -> None:
    page = ana.made("p", body="0\n").id
    for version in range(1, 20):
        revision = ana.edit(page, version, body=f"{version}\n").revision
        assert ana.page(page, minRevision=revision).body == f"{version}\n"
        assert ana.page(page, revision=revision - 1).body == f"{version - 1}\n"
