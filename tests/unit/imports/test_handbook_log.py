"""The whole edit history of a public handbook, state by state, against a plain folder."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from api.imports.oplog import LogLine, MoveFile, read_log, survey_log
from api.imports.planner import FolderTree
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
    kept = 0
    for line in lines:
        owners = {path: page for path, page in world.store.by_path().items()}
        plan = world.play(line.ops)
        assert world.store.files() == model.play(msgspec.to_builtins(line.ops)), line.n
        assert_no_empty_folder(world)
        totals.update(msgspec.to_builtins(plan.counts))
        after = world.store.by_path()
        moves = [op for op in line.ops if isinstance(op, MoveFile)]
        for operation in moves:
            # No line of this log moves a page and leaves one of its children.
            source, to = operation.from_.removesuffix(".md"), operation.to.removesuffix(".md")
            if after.get(to) == owners[source]:
                kept += 1
    assert kept == 818
    assert len(world.store.files()) == 251
    assert totals["moved"] + totals["followed"] >= 818
    assert world.store.existing() != []
    reloaded = FolderTree(world.store.existing())
    assert all(reloaded.path(page) == world.tree.path(page) for page in world.store.pages)


def assert_no_empty_folder(world: World) -> None:
    parents: set[UUID | None] = {page.parent for page in world.store.pages.values()}
    empty = [
        world.store.path(page)
        for page, held in world.store.pages.items()
        if held.body is None and page not in parents
    ]
    assert empty == []
