"""Reads at a revision, and what caches are told."""

import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from api.wiring import build_services, open_database
from kbstore.clock import format_time
from tests.http.world import World, code_of, create, details_of, if_match, serve


def edit(owner: httpx.Client, page_id: str, name: str) -> int:
    response = owner.patch(f"/pages/{page_id}", json={"name": name}, headers={"If-Match": "*"})
    revision: int = response.json()["revision"]
    return revision


def test_an_old_revision_is_read_back(owner: httpx.Client) -> None:
    page = create(owner, "One")
    first = owner.get(f"/pages/{page['id']}").json()["revision"]
    edit(owner, page["id"], "Two")
    old = owner.get(f"/pages/{page['id']}", params={"revision": first})
    assert old.json() == {"revision": first, "page": page}
    assert old.headers["kb-revision"] == str(first)
    before = owner.get(f"/pages/{page['id']}", params={"revision": first - 1})
    assert code_of(before) == "NOT_FOUND"


def test_the_same_revision_gives_the_same_bytes(owner: httpx.Client) -> None:
    page = create(owner, "One")
    revision = owner.get("/revisions/active").json()["revision"]
    pinned = {"revision": revision}
    paths = ["", "/children", "/notes", "/pins", "/backlinks", "/history"]
    before = [owner.get(f"/pages/{page['id']}{path}", params=pinned).content for path in paths]
    edit(owner, page["id"], "Two")
    after = [owner.get(f"/pages/{page['id']}{path}", params=pinned).content for path in paths]
    assert before == after


def test_above_the_head_is_not_reached_and_not_kept(owner: httpx.Client) -> None:
    head = owner.get("/revisions/active").json()["revision"]
    response = owner.get("/pages", params={"ref": "org:acme", "revision": head + 1})
    assert (response.status_code, code_of(response)) == (404, "REVISION_NOT_REACHED")
    assert response.headers["cache-control"] == "no-store"
    assert details_of(response) == {"revision": head + 1, "activeContentRevision": head}


def test_below_the_first_revision_is_not_retained(owner: httpx.Client) -> None:
    response = owner.get("/pages", params={"ref": "org:acme", "revision": 0})
    assert (response.status_code, code_of(response)) == (410, "REVISION_NOT_RETAINED")
    assert details_of(response)["retainedFrom"] == 1


def test_a_time_names_the_last_revision_up_to_it(owner: httpx.Client) -> None:
    page = create(owner, "One")
    first = owner.get("/revisions/active").json()
    edit(owner, page["id"], "Two")
    for spelled in (first["committedAt"], first["committedAt"].replace("Z", "+00:00")):
        old = owner.get(f"/pages/{page['id']}", params={"asOf": spelled})
        assert old.json() == {"revision": first["revision"], "final": True, "page": page}
    far = datetime.fromisoformat(first["committedAt"]).astimezone(UTC) + timedelta(hours=14)
    shifted = far.replace(tzinfo=None).isoformat(timespec="microseconds") + "+14:00"
    assert owner.get(f"/pages/{page['id']}", params={"asOf": shifted}).json()["page"] == page


def test_the_times_of_the_store_have_come_whatever_the_clock_says(database_url: str) -> None:
    """A clock that is set back keeps commits at the time of the last one."""
    clock = SettableClock(1_772_359_200_000_000)
    services = build_services(open_database(database_url), clock)
    try:
        with serve(services) as url, closing(World(services, url)) as world:
            owner = world.client("org:acme")
            page = create(owner, "One")
            clock.micros -= 3_600_000_000
            head = owner.get("/revisions/active").json()
            as_of = {"asOf": head["committedAt"]}
            read = owner.get(f"/pages/{page['id']}", params=as_of)
            assert read.json() == {"revision": head["revision"], "final": False, "page": page}
            assert owner.get(f"/pages/{page['id']}/children", params=as_of).status_code == 200
            at = owner.get("/revisions/at", params={"time": head["committedAt"]})
            assert at.json() == {**head, "final": False}
            later = format_time(clock.micros + 3_600_000_001)
            refused = owner.get(f"/pages/{page['id']}", params={"asOf": later})
            assert details_of(refused) == {"field": "asOf", "reason": "future"}
    finally:
        services.close()


class SettableClock:
    def __init__(self, micros: int) -> None:
        self.micros = micros

    def now(self) -> int:
        return self.micros


def test_an_answer_at_the_head_is_not_final(owner: httpx.Client) -> None:
    head = owner.get("/revisions/active").json()
    at = owner.get("/revisions/at", params={"time": head["committedAt"]})
    assert at.json() == {**head, "final": False}
    read = owner.get("/pages", params={"ref": "org:acme", "asOf": head["committedAt"]})
    assert read.json()["final"] is False
    assert "final" not in owner.get("/pages", params={"ref": "org:acme"}).json()


@pytest.mark.parametrize(
    ("params", "field", "reason"),
    [
        ({"asOf": "2026-03-01T10:00:00"}, "asOf", "zoneMissing"),
        ({"asOf": "yesterday"}, "asOf", "notATime"),
        ({"asOf": "2999-01-01T00:00:00Z"}, "asOf", "future"),
        ({"asOf": "2026-03-01T10:00:00Z", "revision": "1"}, "asOf", "exclusive"),
        ({"revision": "-1"}, "revision", "outOfRange"),
        ({"revision": "9" * 40}, "revision", "notAnInteger"),
        ({"revision": str(2**53)}, "revision", "outOfRange"),
        ({"version": "1"}, "version", "unknown"),
    ],
)
def test_wrong_moments_are_refused(
    owner: httpx.Client, params: dict[str, str], field: str, reason: str
) -> None:
    response = owner.get("/pages", params={"ref": "org:acme", **params})
    assert (response.status_code, code_of(response)) == (422, "VALIDATION_ERROR")
    assert (details_of(response)["field"], details_of(response)["reason"]) == (field, reason)


def test_a_time_before_everything_is_not_retained(owner: httpx.Client) -> None:
    response = owner.get("/revisions/at", params={"time": "1999-01-01T00:00:00Z"})
    assert code_of(response) == "REVISION_NOT_RETAINED"


def test_a_read_waits_for_the_revision_it_is_to_show(world: World, owner: httpx.Client) -> None:
    page = create(owner, "One")
    head = owner.get("/revisions/active").json()["revision"]
    writer = world.client("org:acme", principal="user:bob")

    def write_late() -> None:
        time.sleep(0.2)
        edit(writer, page["id"], "Two")

    thread = threading.Thread(target=write_late)
    thread.start()
    answer = owner.get(f"/pages/{page['id']}", params={"minRevision": head + 1})
    thread.join()
    assert (answer.json()["revision"], answer.json()["page"]["name"]) == (head + 1, "Two")


def test_a_read_waits_two_seconds_at_most(owner: httpx.Client) -> None:
    head = owner.get("/revisions/active").json()["revision"]
    started = time.monotonic()
    response = owner.get("/pages", params={"ref": "org:acme", "minRevision": head + 1})
    assert 1.8 < time.monotonic() - started < 5
    assert (response.status_code, code_of(response)) == (503, "PROJECTION_BEHIND")
    assert response.headers["retry-after"] == "1"
    assert details_of(response) == {"minRevision": head + 1, "activeContentRevision": head}


def test_a_tag_that_still_fits_answers_304(owner: httpx.Client) -> None:
    page = create(owner, "One")
    for path in (f"/pages/{page['id']}", f"/pages/{page['id']}/children", "/scopes", "/events"):
        first = owner.get(path)
        assert first.headers["cache-control"] == "private, no-cache"
        for value in (first.headers["etag"], f'"x", {first.headers["etag"]}', "*"):
            again = owner.get(path, headers={"If-None-Match": value})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == first.headers["etag"]
            assert again.headers["kb-revision"] == first.headers["kb-revision"]
        other = owner.get(path, headers={"If-None-Match": '"1"'})
        assert other.content == first.content


def test_a_tag_changes_with_the_page(owner: httpx.Client) -> None:
    page = create(owner, "One")
    tag = owner.get(f"/pages/{page['id']}").headers["etag"]
    edit(owner, page["id"], "Two")
    changed = owner.get(f"/pages/{page['id']}", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"].startswith('"2-')


def test_a_tag_covers_who_may_see_what(world: World, owner: httpx.Client) -> None:
    owner.post("/pages", json={"scope": "org:acme", "name": "One"})
    scopes = owner.get("/scopes")
    narrowed = owner.get(
        "/scopes", headers={"KB-Scopes": "", "If-None-Match": scopes.headers["etag"]}
    )
    assert narrowed.status_code == 200
    assert narrowed.json()["items"] == []
    assert narrowed.headers["etag"] != scopes.headers["etag"]


def test_a_head_request_is_a_get_without_its_body(owner: httpx.Client) -> None:
    page = create(owner, "One")
    got, headed = owner.get(f"/pages/{page['id']}"), owner.head(f"/pages/{page['id']}")
    assert (headed.status_code, headed.content) == (200, b"")
    for name in ("etag", "content-length", "content-type", "kb-revision"):
        assert headed.headers[name] == got.headers[name]


def test_a_page_read_again_shows_what_was_written_between(owner: httpx.Client) -> None:
    page = create(owner, "0")
    for number in range(1, 6):
        owner.patch(
            f"/pages/{page['id']}",
            json={"name": str(number)},
            headers=if_match({"version": number}),
        )
        reads = [owner.get(f"/pages/{page['id']}").json()["page"]["name"] for _ in range(2)]
        assert reads == [str(number)] * 2
