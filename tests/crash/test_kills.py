"""Servers killed with SIGKILL under eight writers: no acknowledged write is lost or doubled."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.acceptance.logs import SLUG
from tests.acceptance.processes import Served, invoked, server
from tests.backends import BACKENDS, PostgresServer
from tests.crash.checks import check_all_is_there_once, check_nothing_half_done
from tests.crash.world import World, new_world
from tests.crash.writers import Writer

WRITERS = 8
SEED = 20
LIFE_SECONDS_MAX = 0.5


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    if request.param == "sqlite":
        return new_world(tmp_path)
    postgres: PostgresServer = request.getfixturevalue("durable_postgres")
    return new_world(tmp_path, postgres.new_database())


def run_kills(world: World, kills: int) -> None:
    chosen = Random(SEED)
    writers = [Writer(number, SEED) for number in range(WRITERS)]
    for _ in range(kills):
        with server(world.database) as served:
            check_nothing_half_done(world.client_of(served), writers)
            kill_under_writers(served, world, writers, chosen.uniform(0.02, LIFE_SECONDS_MAX))
        report = invoked(world.database, "verify", SLUG)
        assert report["revision"] >= max(max(w.revisions, default=0) for w in writers)
    with server(world.database) as served:
        check_nothing_half_done(world.client_of(served), writers)
        for writer in writers:
            writer.settle(partial(world.client_of, served))
        check_all_is_there_once(world.client_of(served), writers)
    assert invoked(world.database, "verify", SLUG)["ok"]
    assert sum(writer.acknowledged for writer in writers) > kills * WRITERS
    # Some answers were lost after the commit: their retries found the first answer.
    assert sum(writer.replayed for writer in writers) > 0


def kill_under_writers(served: Served, world: World, writers: list[Writer], seconds: float) -> None:
    ready = threading.Barrier(len(writers) + 1)
    with ThreadPoolExecutor(len(writers)) as pool:
        running = [pool.submit(w.run, partial(world.client_of, served), ready) for w in writers]
        try:
            ready.wait(60)
            time.sleep(seconds)
        finally:
            served.kill()
        for future in running:
            future.result()


def test_ten_kills_lose_and_double_nothing(world: World) -> None:
    run_kills(world, 10)


@pytest.mark.soak
def test_sixty_kills_lose_and_double_nothing(world: World) -> None:
    run_kills(world, 60)
