"""C42: times with and without a zone were mixed: type errors, and drift by the local offset.

All tests run 14 hours ahead of UTC (`tests/conftest.py`), so a local time taken for UTC shows.
"""

import re
import time
from collections.abc import Callable

import msgspec
import pytest

from api.imports.oplog import decode_line
from kbstore.clock import format_time, parse_time
from kbstore.errors import ImportInvalidError
from tests.asking import Answer, Client
from tests.field.clocks import served_at
from tests.knowledge import SCOPE, KnowledgeBase

NAIVE = [
    "2026-03-01T10:00:00",
    "2026-03-01T10:00",
    "2026-03-01T10:00:00.123456",
    "2026-03-01 10:00:00",
    "20260301T100000",
]
NO_TIME = [
    "",
    "now",
    "2026-03-01",
    "10:00:00Z",
    "1772359200",
    "2026-13-01T10:00:00Z",
    "2026-02-30T10:00:00Z",
    "2026-03-01T25:00:00Z",
    "2026-03-01T10:00:00+25:00",
    "2026-03-01T10:00:00 Europe/Berlin",
    "2026-W09-7T10:00:00Z" * 3,
    "٢٠٢٦-03-01T10:00:00Z",
]
SAME = [
    "2026-03-01T10:00:00Z",
    "2026-03-01T10:00:00z",
    "2026-03-01t10:00:00z",
    "2026-03-01T10:00:00.000Z",
    "2026-03-01T12:00:00+02:00",
    "2026-03-01T00:00:00-10:00",
    "2026-03-02T00:00:00+14:00",
    "2026-03-01T15:45:00+05:45",
    "2026-03-01T10:00:00-00:00",
]
"""One moment, 2026-03-01T10:00:00Z, as clients write it."""

Ask = Callable[[Client, str, str], Answer]

READS: dict[str, tuple[str, Ask]] = {
    "page": ("asOf", lambda c, page, at: c.ask("GET", f"/pages/{page}", asOf=at)),
    "ref": ("asOf", lambda c, page, at: c.at("org:acme#p", asOf=at)),
    "children": ("asOf", lambda c, page, at: c.ask("GET", f"/pages/{page}/children", asOf=at)),
    "deletions": ("asOf", lambda c, page, at: c.ask("GET", "/deletions", asOf=at)),
    "events": ("asOf", lambda c, page, at: c.ask("GET", "/events", asOf=at)),
    "revision": ("time", lambda c, page, at: c.ask("GET", "/revisions/at", time=at)),
    "note": (
        "when",
        lambda c, page, at: c.ask(
            "POST", f"/pages/{page}/notes", {"text": "A fact.", "scope": [SCOPE], "when": at}
        ),
    ),
}


@pytest.mark.parametrize("given", NAIVE + [text for text in NO_TIME if text != "2026-03-01"])
@pytest.mark.parametrize("name", READS)
def test_a_time_without_a_zone_is_refused(
    kb: KnowledgeBase, ana: Client, name: str, given: str
) -> None:
    page = ana.made("p").id
    field, ask = READS[name]
    with kb.nothing_written():
        refusal = ask(ana, page, given).refused(422, "VALIDATION_ERROR")
    assert refusal.details["field"] == field


@pytest.mark.parametrize("given", NAIVE + NO_TIME)
def test_so_it_is_in_an_operation_log(given: str) -> None:
    line = {"n": 1, "at": given, "actor": "ana", "ops": []}
    with pytest.raises(ImportInvalidError) as caught:
        decode_line(msgspec.json.encode(line), 1)
    assert caught.value.details["line"] == 1


@pytest.mark.parametrize("given", SAME)
def test_every_zone_names_the_same_moment(given: str) -> None:
    assert parse_time(given, "time") == 1_772_359_200_000_000
    line = {"n": 1, "at": given, "actor": "ana", "ops": []}
    assert decode_line(msgspec.json.encode(line), 1).at.timestamp() == 1_772_359_200


def test_reads_as_of_that_moment_in_every_zone(database_url: str) -> None:
    with served_at(database_url, "2026-03-01T09:59:59.999999Z") as timed:
        page = timed.ana.made("p", body="before\n").id
        timed.clock.set("2026-03-01T10:00:00Z")
        then = timed.ana.edit(page, 1, body="then\n").revision
        timed.clock.set("2026-03-01T10:00:00.000001Z")
        timed.ana.edit(page, 2, body="after\n")
        timed.clock.set("2026-03-03T00:00:00Z")
        for given in SAME:
            assert timed.ana.page(page, asOf=given).body == "then\n"
            assert timed.ana.ask("GET", "/revisions/at", time=given).json["revision"] == then


def test_what_is_told_is_utc_with_microseconds(database_url: str) -> None:
    with served_at(database_url, "2026-03-01T10:00:00.000007Z") as timed:
        page = timed.ana.made("p").id
        expected = "2026-03-01T10:00:00.000007Z"
        read = timed.ana.ask("GET", f"/pages/{page}").json["page"]
        assert isinstance(read, dict)
        assert (read["createdAt"], read["updatedAt"]) == (expected, expected)
        for path in ("/commits", "/events", f"/pages/{page}/history"):
            answer = timed.auditor.ask("GET", path)
            times = re.findall(r'"(?:at|\w+At)":"([^"]*)"', answer.raw.decode())
            assert times
            assert set(times) == {expected}
        active = timed.ana.ask("GET", "/revisions/active").json
        assert active["committedAt"] == expected


def test_the_systems_clock_is_read_as_utc(kb: KnowledgeBase, ana: Client) -> None:
    """Not as the local time, which here is 14 hours ahead."""
    assert time.timezone == -14 * 3_600
    before = time.time_ns() // 1_000
    ana.made("p")
    after = time.time_ns() // 1_000
    ((stored,),) = kb.rows(
        "SELECT committed_at FROM commits WHERE kb_id = ? AND revision = ?", kb.revision
    )
    assert isinstance(stored, int)
    assert before <= stored <= after
    told = ana.ask("GET", "/revisions/active").json["committedAt"]
    assert told == format_time(stored)
    assert parse_time(str(told), "time") == stored


@pytest.mark.parametrize("given", [*SAME, "2026-03-01"])
def test_when_a_fact_held_is_kept_as_given(ana: Client, given: str) -> None:
    """It is data: a date or a time with a zone, told again in the writer's own words."""
    page = ana.made("p").id
    answer = READS["note"][1](ana, page, given)
    assert answer.status == 201
    note = answer.json["note"]
    assert isinstance(note, dict)
    assert note["when"] == given


def test_order_is_never_by_the_clock(database_url: str) -> None:
    with served_at(database_url, "2026-03-01T10:00:00Z") as timed:
        pages = []
        for hour in (9, 3, 7, 1):
            timed.clock.set(f"2026-03-01T0{hour}:00:00Z")
            pages.append(timed.ana.made(f"p{hour}").id)
        created = [e.page_id for e in timed.ana.events(type="page.created")]
        assert created[-4:] == pages
        positions = [event.position for event in timed.auditor.events()]
        assert positions == sorted(positions)
