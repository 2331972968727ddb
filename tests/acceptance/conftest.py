"""What the acceptance tests share: the 18F handbook, imported once, whole and after kills."""

import random
from collections.abc import Iterator

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
    """The handbook imported in one go, and imported with kills; both at the same time."""
    if not LOG.is_file():
        pytest.skip("needs ../shared/data/18f-handbook.jsonl.xz beside the project")
    folder = tmp_path_factory.mktemp("handbook")
    whole, killed = folder / "whole.db", folder / "killed.db"
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
        Imported(whole, keys[0], finish(uninterrupted)),
        Imported(killed, keys[1], finish(resumed)),
    )


@pytest.fixture(scope="session")
def whole(imports: tuple[Imported, Imported]) -> Imported:
    return imports[0]


@pytest.fixture(scope="session")
def killed(imports: tuple[Imported, Imported]) -> Imported:
    return imports[1]


@pytest.fixture(scope="session")
def pages(whole: Imported) -> Iterator[Pages]:
    with open_pages(whole.database, SLUG, SCOPE) as opened:
        yield opened


@pytest.fixture(scope="session")
def lines() -> list[Json]:
    return read_lines()
