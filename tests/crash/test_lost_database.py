"""PostgreSQL killed under a server and its eight writers: the server stays up, says that it
cannot answer, and answers again by itself; no acknowledged write is lost or doubled."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import psycopg
import pytest

from tests.acceptance.logs import SCOPE, SLUG
from tests.acceptance.processes import Served, invoked, server
from tests.backends import PostgresServer
from tests.crash.checks import check_all_is_there_once
from tests.crash.readers import Follower, Reader
from tests.crash.world import World, new_world
from tests.crash.writers import HEALED_SECONDS_MAX, Writer

WRITERS = 8
SEED = 21
KILLS_PER_VERIFICATION = 3
SOAK_KILLS = 60
LIFE_SECONDS_MAX = 0.4
LATER_SECONDS_MAX = 0.01
"""A backend dies at most this long after it was found with the head locked: before its COMMIT,
in it, or in a later transaction."""
AWAY_SECONDS_MAX = 0.5

_BACKEND_OF_THE_WRITER = """
    SELECT pid FROM pg_locks
    WHERE relation = 'heads'::regclass AND mode IN ('RowShareLock', 'RowExclusiveLock')
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

Kill = Callable[[PostgresServer, str, Random], None]


def end_backend(postgres: PostgresServer, url: str, chosen: Random) -> None:
    """Ends the writer's connection."""
    with psycopg.connect(url, autocommit=True) as connection:
        pid = _backend_of_the_writer(connection)
        time.sleep(chosen.uniform(0, LATER_SECONDS_MAX))
        connection.execute("SELECT pg_terminate_backend(%s)", (pid,))


def kill_backend(postgres: PostgresServer, url: str, chosen: Random) -> None:
    """Kills the process behind the writer's connection, upon which the server ends every other
    one and starts anew from its log."""
    with psycopg.connect(url, autocommit=True) as connection:
        pid = _backend_of_the_writer(connection)
        time.sleep(chosen.uniform(0, LATER_SECONDS_MAX))
        os.kill(pid, signal.SIGKILL)


def kill_server(postgres: PostgresServer, url: str, chosen: Random) -> None:
    """Ends the whole server where it stands; it comes back a moment later."""
    postgres.stop("immediate")
    time.sleep(chosen.uniform(0, AWAY_SECONDS_MAX))
    postgres.start()


def _backend_of_the_writer(connection: psycopg.Connection[tuple[object, ...]]) -> int:
    end = time.monotonic() + HEALED_SECONDS_MAX
    while time.monotonic() < end:
        row = connection.execute(_BACKEND_OF_THE_WRITER).fetchone()
        if row is not None:
            assert isinstance(row[0], int)
            return row[0]
    raise AssertionError("nobody writes")


@pytest.fixture
def world(durable_postgres: PostgresServer, tmp_path: Path) -> World:
    return new_world(tmp_path, durable_postgres.new_database())


@pytest.fixture
def served(world: World) -> Iterator[Served]:
    with server(world.database) as served:
        yield served
        # It has been there all the time.
        ended = served.end()
    assert ended.code == 0
    assert '"request_failed"' not in ended.err
    assert "Traceback" not in ended.err


def run_kills(
    postgres: PostgresServer, world: World, served: Served, kill: Kill, kills: int
) -> None:
    chosen = Random(SEED)
    writers = [Writer(number, SEED) for number in range(WRITERS)]
    reader = Reader()
    with followed(world, served) as follower:
        for number in range(1, kills + 1):
            kill_under_writers(postgres, world, served, kill, writers, reader, chosen)
            check_all_is_there_once(world.client_of(served), writers)
            if number % KILLS_PER_VERIFICATION == 0:
                assert invoked(world.database, "verify", SLUG)["ok"]
    assert follower.positions == list(range(1, len(follower.positions) + 1))
    assert served.process.poll() is None
    assert invoked(world.database, "verify", SLUG)["ok"]
    assert sum(writer.acknowledged for writer in writers) >= 2 * kills * WRITERS
    assert reader.answered > kills
    put_off = sum(writer.put_off.total() for writer in writers)
    if kill is end_backend:
        # Another connection takes its place, and nobody notices.
        assert (put_off, follower.streams) == (0, 1)
    else:
        assert put_off >= kills
        # He need not notice each time: a read that lost its connection tries another one.
        assert follower.streams > 1
    if kill is not end_backend and kills >= SOAK_KILLS:
        # Some were put off after their COMMIT: the same request found its answer.
        assert sum(writer.done_though_put_off for writer in writers) > 0


@contextmanager
def followed(world: World, served: Served) -> Iterator[Follower]:
    """Somebody follows the block's events to the last one."""
    follower = Follower()
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follower.run, partial(world.client_of, served))
        try:
            yield follower
        finally:
            with world.client_of(served) as client:
                made = client.post("/pages", json={"scope": SCOPE, "name": "The last one"}).json()
                found = client.get("/events", params={"pageId": made["page"]["id"]}).json()
                follower.goal = found["items"][0]["position"]
                # He may have seen it before he knew that it is the last one.
                client.post("/pages", json={"scope": SCOPE, "name": "One more"})
            following.result()


def kill_under_writers(
    postgres: PostgresServer,
    world: World,
    served: Served,
    kill: Kill,
    writers: list[Writer],
    reader: Reader,
    chosen: Random,
) -> None:
    """Kills, waits until every writer is answered again, and stops them."""
    client_of = partial(world.client_of, served)
    ready, stop = threading.Barrier(len(writers) + 1), threading.Event()
    with ThreadPoolExecutor(len(writers) + 1) as pool:
        running = [pool.submit(writer.run, client_of, ready, stop) for writer in writers]
        running.append(pool.submit(reader.run, client_of, stop))
        try:
            ready.wait(60)
            time.sleep(chosen.uniform(0.02, LIFE_SECONDS_MAX))
            kill(postgres, str(world.database), chosen)
            # Two more, the first of which may have been answered before.
            goals = [writer.acknowledged + 2 for writer in writers]
            end = time.monotonic() + HEALED_SECONDS_MAX
            while any(w.acknowledged < goal for w, goal in zip(writers, goals, strict=True)):
                assert time.monotonic() < end, "the service does not heal"
                assert not any(future.done() for future in running)
                time.sleep(0.01)
        finally:
            stop.set()
            for future in running:
                future.result()


KILLS = pytest.mark.parametrize(
    "kill", [end_backend, kill_backend, kill_server], ids=lambda kill: kill.__name__
)


@KILLS
def test_the_database_lost_ten_times(
    durable_postgres: PostgresServer, world: World, served: Served, kill: Kill
) -> None:
    run_kills(durable_postgres, world, served, kill, 10)


@pytest.mark.soak
@KILLS
def test_the_database_lost_sixty_times(
    durable_postgres: PostgresServer, world: World, served: Served, kill: Kill
) -> None:
    run_kills(durable_postgres, world, served, kill, SOAK_KILLS)
