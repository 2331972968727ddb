"""C29: two commits shared a timestamp, so that a time could not name a state."""

from collections.abc import Iterator

import pytest

from tests.asking import Client
from tests.field.clocks import Timed, served_at

TEN = "2026-03-01T10:00:00Z"


@pytest.fixture
def timed(database_url: str) -> Iterator[Timed]:
    with served_at(database_url, TEN) as timed:
        yield timed


def as_of(client: Client, page: str, time: str) -> tuple[object, object, object]:
    """The revision, whether it is final, and the body, at a time."""
    answer = client.ask("GET", f"/pages/{page}", asOf=time)
    assert answer.status == 200, answer.raw
    shown = answer.json["page"]
    assert isinstance(shown, dict)
    assert answer.headers["kb-revision"] == str(answer.json["revision"])
    return answer.json["revision"], answer.json["final"], shown["body"]


@pytest.mark.parametrize("count", [2, 3, 20])
def test_a_time_names_the_last_of_the_commits_that_share_it(timed: Timed, count: int) -> None:
    page = timed.ana.made("p", body="0\n").id
    for number in range(1, count):
        timed.ana.edit(page, "*", body=f"{number}\n")
    head = timed.kb.revision
    # A later commit could still fall to this very microsecond, so the answer is not final.
    assert as_of(timed.ana, page, TEN) == (head, False, f"{count - 1}\n")
    timed.clock.set("2026-03-01T10:00:00.000001Z")
    timed.ana.edit(page, "*", body="later\n")
    assert as_of(timed.ana, page, TEN) == (head, True, f"{count - 1}\n")
    # Each of the states is still there by its number.
    for number in range(count):
        revision = head - count + 1 + number
        assert timed.ana.page(page, revision=revision).body == f"{number}\n"
    assert timed.ana.ask("GET", "/revisions/at", time=TEN).json["revision"] == head


def test_a_clock_that_goes_back_never_reorders_commits(timed: Timed) -> None:
    page = timed.ana.made("p", body="first\n").id
    for time in ("2026-03-01T09:00:00Z", "2026-02-01T00:00:00Z", "1971-01-01T00:00:00Z"):
        timed.clock.set(time)
        timed.ana.edit(page, "*", body=f"{time}\n")
    rows = timed.kb.rows("SELECT committed_at FROM commits WHERE kb_id = ? ORDER BY revision")
    assert rows == sorted(rows)
    timed.clock.set("2026-03-01T11:00:00Z")
    assert as_of(timed.ana, page, TEN)[2] == "1971-01-01T00:00:00Z\n"


def test_times_between_and_before(timed: Timed) -> None:
    page = timed.ana.made("p", body="0\n").id
    created = timed.kb.revision
    for minute in (1, 2, 3):
        timed.clock.set(f"2026-03-01T10:0{minute}:00Z")
        timed.ana.edit(page, "*", body=f"{minute}\n")
    for time, offset in (
        (TEN, 0),
        ("2026-03-01T10:00:59.999999Z", 0),
        ("2026-03-01T10:01:00Z", 1),
        ("2026-03-01T10:01:00.000001Z", 1),
        ("2026-03-01T10:02:59Z", 2),
        ("2026-03-01T10:03:00Z", 3),
    ):
        revision, final, body = as_of(timed.ana, page, time)
        assert (revision, body) == (created + offset, f"{offset}\n")
        assert final is (offset < 3), time
    timed.ana.ask("GET", f"/pages/{page}", asOf="2026-03-01T09:59:59Z").refused(
        410, "REVISION_NOT_RETAINED"
    )


def test_a_revision_and_a_time_together_are_refused(timed: Timed) -> None:
    page = timed.ana.made("p").id
    refusal = timed.ana.ask("GET", f"/pages/{page}", asOf=TEN, revision=1)
    assert refusal.refused(422, "VALIDATION_ERROR").details["field"] == "asOf"
