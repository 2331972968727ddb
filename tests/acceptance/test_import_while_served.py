"""The command line writes into a file that a server has open, and the server sees it at once."""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.logs import SCOPE, SLUG, log_lines, move, write, write_log
from tests.acceptance.processes import Json, done, invoked, server
from tests.crash.world import World, new_world

LINES = log_lines(
    [write("policies/refund", "# Refunds\n"), write("faq", "# Questions\n")],
    [write("policies/refund", "# Refunds\n\nWithin 30 days.\n")],
    [move("policies/refund", "money/refund")],
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


@pytest.fixture
def client(world: World) -> Iterator[httpx.Client]:
    with server(world.database) as served, served.client(SLUG, world.key) as opened:
        yield opened


def run_import(world: World, lines: list[Json], name: str = "log.jsonl") -> Json:
    log = write_log(world.folder / name, lines)
    return done(world.database, "import", SLUG, log, "--scope", SCOPE)


def page_at(client: httpx.Client, path: str) -> Json:
    answer = client.get("/pages", params={"ref": f"{SCOPE}#{path}"})
    assert answer.status_code == 200, answer.text
    value: Json = answer.json()
    return value


def test_reads_see_an_import_at_once(world: World, client: httpx.Client) -> None:
    assert client.get("/pages", params={"ref": f"{SCOPE}#faq"}).status_code == 404
    revision = client.get("/revisions/active").json()["revision"]
    first = run_import(world, LINES[:2])
    assert first["revisions"] == {"1": revision + 1, "2": revision + 2}
    read = page_at(client, "policies/refund")
    assert read["revision"] == revision + 2
    assert read["page"]["body"] == "# Refunds\n\nWithin 30 days.\n"
    # The page is in the server's caches now; another import moves it and changes another one.
    page_at(client, "faq")
    run_import(world, [*LINES, *more_lines()], "longer.jsonl")
    moved = page_at(client, "money/refund")
    assert moved["page"]["id"] == read["page"]["id"]
    assert page_at(client, "faq")["page"]["body"] == "# Questions\n\nNone.\n"
    gone = client.get("/pages", params={"ref": f"{SCOPE}#policies/refund"})
    assert gone.status_code == 404
    old = client.get(f"/pages/{read['page']['id']}", params={"revision": read["revision"]})
    assert old.json()["page"] == read["page"]


def more_lines() -> list[Json]:
    last = log_lines([write("faq", "# Questions\n\nNone.\n")])[0]
    return [{**last, "n": len(LINES) + 1}]


def test_a_page_that_was_cached_as_fresh_is_not_after_an_import(
    world: World, client: httpx.Client
) -> None:
    run_import(world, LINES[:1])
    before = client.get("/pages", params={"ref": f"{SCOPE}#faq"})
    again = {"If-None-Match": before.headers["ETag"]}
    ref = {"ref": f"{SCOPE}#faq"}
    assert client.get("/pages", params=ref, headers=again).status_code == 304
    run_import(world, [*LINES, *more_lines()], "longer.jsonl")
    assert client.get("/pages", params=ref, headers=again).status_code == 200


def test_writes_stand_on_what_an_import_left(world: World, client: httpx.Client) -> None:
    run_import(world, LINES[:1])
    page = page_at(client, "faq")["page"]
    path, body = f"/pages/{page['id']}", {"body": "# Questions\n\nOne.\n"}
    # The server has decided on this page before, so it holds it in memory.
    edited = client.patch(path, json=body, headers={"If-Match": '"1"'})
    assert edited.json()["page"]["version"] == 2
    run_import(world, [*LINES, *more_lines()], "longer.jsonl")
    stale = client.patch(path, json={"name": "Q and A"}, headers={"If-Match": '"2"'})
    # Lines 1 and 4 of the longer log wrote the page.
    assert stale.status_code == 409
    assert stale.json()["error"]["details"]["currentVersion"] == 4
    done_now = client.patch(path, json={"name": "Q and A"}, headers={"If-Match": '"4"'})
    assert done_now.status_code == 200
    assert done_now.json()["page"]["body"] == "# Questions\n\nNone.\n"
    taken = client.post("/pages", json={"scope": SCOPE, "key": "money", "name": "Money"})
    assert taken.json()["error"]["code"] == "KEY_TAKEN"
    assert invoked(world.database, "verify", SLUG)["ok"]


def test_an_import_and_a_client_write_at_the_same_time(world: World, client: httpx.Client) -> None:
    lines = log_lines(*([write("shared", f"line {n}\n"), write(f"p{n}")] for n in range(25)))
    acknowledged: list[int] = []
    over = threading.Event()

    def write_along() -> None:
        for count in range(10_000):
            if over.is_set():
                return
            answer = client.post("/pages", json={"scope": SCOPE, "name": f"Along {count}"})
            assert answer.status_code == 201, answer.text
            acknowledged.append(answer.json()["revision"])

    along = threading.Thread(target=write_along)
    along.start()
    try:
        report = run_import(world, lines)
    finally:
        over.set()
        along.join()
    revisions = [*acknowledged, *report["revisions"].values()]
    assert len(set(revisions)) == len(revisions)
    assert client.get("/revisions/active").json()["revision"] == max(revisions)
    assert page_at(client, "shared")["page"]["body"] == "line 24\n"
    proved = invoked(world.database, "verify", SLUG)
    assert proved["revision"] == max(revisions)


def test_a_key_that_the_command_line_revokes_stops_working_at_once(
    world: World, client: httpx.Client
) -> None:
    assert client.get("/revisions/active").status_code == 200
    (kept,) = invoked(world.database, "key", "list", "--kb", SLUG)["items"]
    invoked(world.database, "key", "revoke", kept["keyId"])
    assert client.get("/revisions/active").status_code == 401
