"""What holds for every request: its id, its log line, its answer when something breaks."""

import logging
from collections.abc import Iterator, MutableMapping
from typing import Any

import httpx
import pytest
import structlog
from eventsourcing.persistence import OperationalError

from tests.http.world import World, code_of, create, served_world


@pytest.fixture
def lines() -> Iterator[list[dict[str, object]]]:
    """The log lines of the test, as their fields."""
    found: list[dict[str, object]] = []

    def keep(logger: Any, method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
        found.append(dict(event))
        raise structlog.DropEvent

    # A command that ran in this process may have set a level, below which nothing would be kept.
    before = structlog.get_config()
    structlog.configure(
        processors=[keep], wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET)
    )
    yield found
    structlog.configure(**before)


def test_a_well_formed_request_id_is_taken(owner: httpx.Client) -> None:
    given = owner.get("/scopes", headers={"x-request-id": "run-7.a_b:c"})
    assert given.headers["x-request-id"] == "run-7.a_b:c"
    for wrong in (b"with space", b"x" * 129, b"\xff", b'"'):
        made = owner.get("/scopes", headers=httpx.Headers([(b"x-request-id", wrong)]))
        assert made.headers["x-request-id"].encode() != wrong
        again = owner.get("/scopes")
        assert made.headers["x-request-id"] != again.headers["x-request-id"]


def test_each_request_leaves_one_line(
    owner: httpx.Client, world: World, lines: list[dict[str, object]]
) -> None:
    create(owner, "A")
    owner.get(f"{world.url}/nothing")
    requests = [line for line in lines if line["event"] == "request"]
    assert [(line["method"], line["status"]) for line in requests] == [("POST", 201), ("GET", 404)]
    assert requests[0]["principal"] == "user:ann"
    assert requests[0]["kb"] == world.slug
    assert all(line["request_id"] and line["ms"] for line in requests)
    assert world.token("org:acme").split("_")[0] == "kbs"
    assert "kbs_" not in repr(requests)


def test_health_needs_no_key(world: World) -> None:
    assert httpx.get(f"{world.url}/health/live").json() == {"status": "live"}
    assert httpx.get(f"{world.url}/health/ready").json() == {"status": "ready"}


def test_a_defect_says_nothing_of_itself(
    database_url: str, monkeypatch: pytest.MonkeyPatch, lines: list[dict[str, object]]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr("api.calls.authenticate", broken)
    with served_world(database_url) as world:
        response = world.client("org:acme").get("/scopes")
    assert (response.status_code, code_of(response)) == (500, "INTERNAL_ERROR")
    assert "secret" not in response.text
    failed = [line for line in lines if line["event"] == "request_failed"]
    assert failed[0]["request_id"] == response.headers["x-request-id"]


def test_a_database_that_does_not_answer_is_unavailable(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OperationalError("disk I/O error")

    monkeypatch.setattr("api.calls.authenticate", broken)
    with served_world(database_url) as world:
        response = world.client("org:acme").get("/scopes")
    assert (response.status_code, code_of(response)) == (503, "DATABASE_UNAVAILABLE")
    assert response.headers["retry-after"] == "1"
    assert "disk" not in response.text


def test_an_address_tells_its_methods(owner: httpx.Client, world: World) -> None:
    for path, methods in (
        ("/pages", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("/pages/x", {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH"}),
        (f"{world.url}/health/live", {"GET", "HEAD", "OPTIONS"}),
    ):
        told = owner.options(path)
        assert told.status_code == 204
        assert set(told.headers["allow"].split(", ")) == methods
        refused = owner.request("TRACE", path)
        assert (refused.status_code, code_of(refused)) == (405, "METHOD_NOT_ALLOWED")
        assert set(refused.headers["allow"].split(", ")) == methods
