"""What the acceptance tests share: the 18F handbook, imported once, whole and after kills."""

import fcntl
import os
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.handbook import (
    LOG,
    SCOPE,
    SLUG,
    Imported,
    await_revision,
    new_handbook,
    read_lines,
    start_import,
)
from tests.acceptance.pages import Pages, open_pages
from tests.acceptance.processes import PROCESS_SECONDS_MAX, Json, finish

KILLS = 3
LINES = 3_167


@pytest.fixture(scope="session")
def imports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Imported, Imported]:
    """The handbook imported in one go, and imported with kills; both at the same time.

    Workers of one test run share them, so nobody changes these files.
    """
    if not LOG.is_file():
        pytest.skip("needs ../shared/data/18f-handbook.jsonl.xz beside the project")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    kept = folder / "handbook.json"
    with (folder / "handbook.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(msgspec.json.encode(import_twice(folder)))
    return msgspec.json.decode(kept.read_bytes(), type=tuple[Imported, Imported])


def import_twice(folder: Path) -> tuple[Imported, Imported]:
    whole, killed = folder / "handbook-whole.db", folder / "handbook-killed.db"
    keys = [new_handbook(database) for database in (whole, killed)]
    uninterrupted = start_import(whole)
    chosen = random.Random("kills")
    for kill in range(KILLS):
        process = start_import(killed)
        share = LINES // (KILLS + 1)
        await_revision(killed, kill * share + chosen.randrange(1, share), PROCESS_SECONDS_MAX)
        process.kill()
        process.communicate()
    resumed = start_import(killed)
    return (
        Imported(str(whole), keys[0], finish(uninterrupted)),
        Imported(str(killed), keys[1], finish(resumed)),
    )


@pytest.fixture(scope="session")
def whole(imports: tuple[Imported, Imported]) -> Imported:
    return imports[0]


@pytest.fixture(scope="session")
def killed(imports: tuple[Imported, Imported]) -> Imported:
    return imports[1]


@pytest.fixture(scope="session")
def pages(whole: Imported) -> Iterator[Pages]:
    with open_pages(whole.path, SLUG, SCOPE) as opened:
        yield opened


@pytest.fixture(scope="session")
def lines() -> list[Json]:
    return read_lines()
