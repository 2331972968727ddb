"""Servers killed with SIGKILL under eight writers: no acknowledged write is lost or doubled."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random

import httpx
import pytest

from tests.acceptance.logs import SLUG
from tests.acceptance.processes import Served, invoked, server
from tests.crash.world import World, new_world, page_names
from tests.crash.writers import Writer

WRITERS = 8
SEED = 20
LIFE_SECONDS_MAX = 0.5


def run_kills(folder: Path, kills: int) -> None:
    world, chosen = new_world(folder), Random(SEED)
    writers = [Writer(number, SEED) for number in range(WRITERS)]
    for _ in range(kills):
        with server(world.database) as served:
            check_nothing_half_done(client_of(served, world), writers)
            kill_under_writers(served, world, writers, chosen.uniform(0.02, LIFE_SECONDS_MAX))
        report = invoked(world.database, "verify", SLUG)
        assert report["revision"] >= max(max(w.revisions, default=0) for w in writers)
    with server(world.database) as served:
        check_nothing_half_done(client_of(served, world), writers)
        for writer in writers:
            writer.settle(partial(client_of, served, world))
        with client_of(served, world) as client:
            check_all_is_there_once(client, writers)
    assert invoked(world.database, "verify", SLUG)["ok"]
    assert sum(writer.acknowledged for writer in writers) > kills * WRITERS
    # Some answers were lost after the commit: their retries found the first answer.
    assert sum(writer.replayed for writer in writers) > 0


def client_of(served: Served, world: World) -> httpx.Client:
    return served.client(SLUG, world.key)


def kill_under_writers(served: Served, world: World, writers: list[Writer], seconds: float) -> None:
    ready = threading.Barrier(len(writers) + 1)
    with ThreadPoolExecutor(len(writers)) as pool:
        running = [pool.submit(w.run, partial(client_of, served, world), ready) for w in writers]
        try:
            ready.wait(60)
            time.sleep(seconds)
        finally:
            served.kill()
        for future in running:
            future.result()


def check_nothing_half_done(client: httpx.Client, writers: list[Writer]) -> None:
    """Of what was never acknowledged all is there, or nothing; all else is there."""
    with client:
        names = Counter(page_names(client).values())
    assert set(names.values()) <= {1}
    expected = {name for writer in writers for name in writer.names.values()}
    for writer in writers:
        if writer.pending is not None:
            there = [name for name in writer.pending.names if name in names]
            assert there in ([], list(writer.pending.names))
            expected.update(there)
    assert set(names) == expected


def check_all_is_there_once(client: httpx.Client, writers: list[Writer]) -> None:
    expected = {page: name for writer in writers for page, name in writer.names.items()}
    assert page_names(client) == expected
    for writer in writers:
        assert writer.pending is None
        for page, known in writer.pages.items():
            read = client.get(f"/pages/{page}").json()["page"]
            assert (read["version"], read["body"]) == (known.version, known.body)


def test_ten_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    run_kills(tmp_path, 10)


@pytest.mark.soak
def test_sixty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    run_kills(tmp_path, 60)
