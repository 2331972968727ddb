"""The whole edit history of a public handbook, state by state, against a plain folder."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from api.imports.oplog import LogLine, MoveFile, read_log, survey_log
from tests.oplog_model import FolderModel
from tests.unit.imports.world import World

LOG = Path(__file__).parents[4] / "shared" / "data" / "18f-handbook.jsonl.xz"

pytestmark = pytest.mark.skipif(not LOG.is_file(), reason="needs ../shared/data (see README)")


@pytest.fixture(scope="module")
def lines() -> list[LogLine]:
    return [line for _, line in read_log(LOG)]


def test_the_survey_counts_the_log(lines: list[LogLine]) -> None:
    survey = survey_log(LOG)
    assert (survey.lines, survey.operations) == (3_167, 5_258 + 818 + 249)
    assert len(survey.sha256) == 64
    assert all(one.n + 1 == other.n for one, other in pairwise(lines))


def test_every_state_is_the_folder_s(lines: list[LogLine]) -> None:
    world, model = World(), FolderModel()
    totals: Counter[str] = Counter()
    for line in lines:
        moves = [operation for operation in line.ops if isinstance(operation, MoveFile)]
        before = world.store.by_path() if moves else {}
        plan = world.play(line.ops)
        assert world.store.files() == model.play(msgspec.to_builtins(line.ops)), line.n
        assert empty_folders(world) == [], line.n
        # No line of this log moves a page and leaves one of its children, or moves a file twice.
        after = world.store.by_path() if moves else {}
        for operation in moves:
            assert after[stem(operation.to)] == before[stem(operation.from_)], line.n
        totals.update(msgspec.to_builtins(plan.counts))
    assert len(world.store.files()) == 251
    assert totals["moved"] + totals["followed"] >= 818
    assert totals["created"] - totals["deleted"] == len(world.store.pages)
    assert len(world.asked) < 100, "moves do not read the texts they move"


def test_a_mirror_made_anew_goes_on_alike(lines: list[LogLine]) -> None:
    world, anew = World(), World()
    for line in lines[:1_000]:
        plan = world.play(line.ops)
        if line.n % 50 == 0:
            anew.reload()
        assert anew.play(line.ops) == plan


def stem(path: str) -> str:
    return path.removesuffix(".md")


def empty_folders(world: World) -> list[str]:
    parents: set[UUID | None] = {page.parent for page in world.store.pages.values()}
    return [
        world.store.path(page)
        for page, held in world.store.pages.items()
        if held.body is None and page not in parents
    ]
