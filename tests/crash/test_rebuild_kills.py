"""Rebuilds killed with SIGKILL while writers write and readers read, and started again: no read
fails, no write waits for long, and what is there in the end is what a replay gives."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from random import Random

import httpx
import pytest
from msgspec import Struct

from api.wiring import locate_database, open_services
from kbstore.access import Caller
from kbstore.domain.commands import CreatePage
from kbstore.domain.preparing import prepare_body
from kbstore.service import CommandRequest
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.commits import Origin
from kbstore.store.connection import Connection
from kbstore.store.heads import read_head
from kbstore.texts import prepare_text
from projections.generation_progress import find_filled
from tests.acceptance.logs import SLUG
from tests.acceptance.processes import Json, command_of, finish, invoked, server, start, url_of
from tests.backends import BACKENDS, PostgresServer
from tests.crash.checks import check_all_is_there_once
from tests.crash.world import World, new_world
from tests.crash.writers import Writer

WRITERS = 6
READERS = 2
SEED = 22
PAGES_BEFORE = 1_500
BEFORE = "org:before"
"""A scope that is read alone."""
WRITE_SECONDS_MAX = 10.0
"""No write waits longer beside a rebuild, on the slowest machine; the benchmark says how long."""
LATER_SECONDS_MAX = 0.02
"""A rebuild dies at most this long after it was seen at a point: in a batch or between two."""


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    if request.param == "sqlite":
        return new_world(tmp_path)
    postgres: PostgresServer = request.getfixturevalue("durable_postgres")
    return new_world(tmp_path, postgres.new_database())


class Place(Struct, frozen=True):
    """Where a rebuild is: the positions that are filled, or that the old rows are deleted."""

    position: int
    head: int
    is_deleting: bool


class Watch:
    """Sees in the database how far a rebuild is."""

    def __init__(self, connection: Connection) -> None:
        found = find_knowledge_base(connection, SLUG)
        assert found is not None
        self._connection = connection
        self._kb_id = found.kb_id

    def place(self) -> Place:
        with self._connection.reading():
            head = read_head(self._connection, self._kb_id)
            filled = find_filled(self._connection, self._kb_id)
        assert head is not None
        if filled is None:
            return Place(0, head.position, False)
        return Place(filled.position, head.position, filled.generation == head.generation)


class Beside:
    """The writers and the readers, and how long each write took."""

    def __init__(self, clients: Sequence[Callable[[], httpx.Client]]) -> None:
        self.writers = [Writer(number, SEED) for number in range(WRITERS)]
        self.reads = 0
        self.seconds: list[float] = []
        self._clients = clients
        self._stop = threading.Event()

    def run(self, work: Callable[[], None]) -> None:
        """Writes and reads for as long as the work takes; raises what went wrong in either."""
        ready = threading.Barrier(WRITERS + READERS + 1)
        with ThreadPoolExecutor(WRITERS + READERS) as pool:
            running = [
                pool.submit(writer.run, partial(self._timed, number), ready, self._stop)
                for number, writer in enumerate(self.writers)
            ]
            running += [pool.submit(self._read, number, ready) for number in range(READERS)]
            try:
                ready.wait(60)
                work()
            finally:
                self._stop.set()
            for future in running:
                future.result()

    def _client(self, number: int) -> httpx.Client:
        return self._clients[number % len(self._clients)]()

    def _timed(self, number: int) -> httpx.Client:
        client = self._client(number)
        started = [0.0]
        client.event_hooks = {
            "request": [lambda request: started.append(time.perf_counter())],
            "response": [lambda response: self.seconds.append(time.perf_counter() - started.pop())],
        }
        return client

    def _read(self, number: int, ready: threading.Barrier) -> None:
        """Walks the children as of a revision and the feed of commits, again and again."""
        with self._client(number) as client:
            top = self._get(client, "/pages", ref=BEFORE)["page"]["id"]
            feed: dict[str, str] = {}
            ready.wait(60)
            while not self._stop.is_set():
                revision = self._get(client, "/revisions/active")["revision"]
                names = list(self._walk(client, f"/pages/{top}/children", revision))
                assert len(set(names)) == len(names) == PAGES_BEFORE
                listed = self._get(client, "/commits", limit="200", **feed)
                if listed["nextCursor"] is not None:
                    feed = {"cursor": listed["nextCursor"]}

    def _walk(self, client: httpx.Client, path: str, revision: int) -> Iterator[str]:
        cursor: dict[str, str] = {}
        while True:
            listed = self._get(client, path, limit="200", revision=str(revision), **cursor)
            yield from (item["name"] for item in listed["items"])
            if listed["nextCursor"] is None:
                return
            cursor = {"cursor": listed["nextCursor"]}

    def _get(self, client: httpx.Client, path: str, **parameters: str) -> Json:
        answer = client.get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        self.reads += 1
        value: Json = answer.json()
        return value


def run_kills(world: World, kills: int) -> None:
    write_pages(world)
    with ExitStack() as stack:
        # Any number of processes may serve one database of PostgreSQL.
        count = 1 if isinstance(world.database, Path) else 2
        clients = [
            partial(world.client_of, stack.enter_context(server(world.database)))
            for _ in range(count)
        ]
        watched = stack.enter_context(closing(locate_database(url_of(world.database))))
        watch = Watch(watched.reader())
        beside = Beside(clients)
        killed: list[Place] = []
        built: list[Json] = []

        def rebuild_and_kill() -> None:
            chosen = Random(SEED)
            for _ in range(kills):
                place = rebuild_until(world, watch, chosen)
                if place is not None:
                    killed.append(place)
            built.append(invoked(world.database, "rebuild", SLUG))

        beside.run(rebuild_and_kill)
        check_all_is_there_once(clients[0](), beside.writers)
    report = invoked(world.database, "verify", SLUG)
    assert report["ok"], report
    assert len(killed) >= kills // 2
    assert beside.reads > kills
    assert max(beside.seconds) < WRITE_SECONDS_MAX
    again = invoked(world.database, "rebuild", SLUG)
    assert again["swapEvents"] == 0
    assert again["generation"] == built[0]["generation"] + 1
    after = invoked(world.database, "verify", SLUG)
    assert after == report


def write_pages(world: World) -> None:
    """A log that takes longer to replay than to look where its rebuild is."""
    caller = Caller(principal="user:writer", held=frozenset({BEFORE}))
    with open_services(url_of(world.database)) as services:
        found = find_knowledge_base(services.database.reader(), SLUG)
        assert found is not None
        ids = services.commands.ids
        futures = []
        for number in range(PAGES_BEFORE):
            command = CreatePage(
                scope=BEFORE,
                name=prepare_text(f"Before {number}", ids),
                body=prepare_body("first\n", ids),
            )
            request = CommandRequest(
                kb_id=found.kb_id,
                caller=caller,
                command=command,
                origin=Origin(actor=caller.principal),
            )
            futures.append(services.commands.execute(request))
            if len(futures) == 500:
                for future in futures:
                    future.result()
                futures.clear()


def rebuild_until(world: World, watch: Watch, chosen: Random) -> Place | None:
    """Starts a rebuild and kills it at a point; gives where it was, None when it was done."""
    before = watch.place()
    share, wants_deleting = chosen.uniform(0.02, 0.4), chosen.random() < 0.2
    position = before.position + int(share * (before.head - before.position))
    process = start(command_of(world.database, "rebuild", SLUG))
    while process.poll() is None:
        place = watch.place()
        has_begun = place.position > 0 and (place.position, place.is_deleting) != (
            before.position,
            before.is_deleting,
        )
        if has_begun and (place.is_deleting if wants_deleting else place.position >= position):
            time.sleep(chosen.uniform(0, LATER_SECONDS_MAX))
            process.kill()
            process.communicate()
            return watch.place()
        time.sleep(0.001)
    ended = finish(process)
    assert ended.code == 0, ended
    return None


def test_three_kills_fail_no_read_and_lose_nothing(world: World) -> None:
    run_kills(world, 3)


@pytest.mark.soak
def test_sixty_kills_fail_no_read_and_lose_nothing(world: World) -> None:
    run_kills(world, 60)
