"""Two knowledge bases that differ only in what a reader cannot see give him equal answers.

How it is done stands in docs/concepts/noninterference.md. A pair that fails is told anew by its
seed: `python -m tests.noninterference.again SEED`.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.operations import Operation
from api.routes.registry import OPERATIONS
from api.tools.registry import TOOLS as TOOLS_THERE_ARE
from tests.noninterference.pairs import House, Interference, house_in
from tests.noninterference.registry import ROUTES, TOOLS, without_probe
from tests.noninterference.removing import Removal, removals, removed
from tests.noninterference.unnoticed import UNNOTICED

PAIRS = 100
SOAK_PAIRS = 2_000
FIRST_OF_SOAK = 10_000
TOLD_PERCENT_MIN = 30
"""In how many pairs an operation has to tell something that what is hidden could disturb."""
PAIRS_PER_REMOVAL_MAX = 20
EACH = 5
"""One of so many filters is taken away in each run, all of them in long ones."""


def differing(house: House, first: int, count: int) -> tuple[list[str], Counter[str]]:
    """How the worlds of these pairs were told apart, and in how many pairs each operation told
    something."""
    reports, told = [], Counter[str]()
    for seed in range(first, first + count):
        try:
            told.update(house.compare(seed))
        except Interference as interference:
            reports.append(str(interference))
    return reports, told


def check_pairs(folder: Path, first: int, count: int) -> None:
    with house_in(folder) as house:
        reports, told = differing(house, first, count)
    assert not reports, f"{len(reports)} of {count} pairs differ:\n{reports[0]}"
    seldom = {
        operation.name: told[operation.name]
        for operation in OPERATIONS
        if told[operation.name] * 100 < count * TOLD_PERCENT_MIN
    }
    assert not seldom, f"these told something in too few of {count} pairs"


def test_pairs(tmp_path: Path) -> None:
    check_pairs(tmp_path, 0, PAIRS)


@pytest.mark.soak
def test_many_pairs(tmp_path: Path) -> None:
    check_pairs(tmp_path, FIRST_OF_SOAK, SOAK_PAIRS)


def test_every_operation_and_every_tool_is_asked() -> None:
    assert without_probe(OPERATIONS) == set()
    assert {operation.name for operation in OPERATIONS} == {*ROUTES, *TOOLS}
    assert {tool.name for tool in TOOLS_THERE_ARE} == set(TOOLS)


def test_an_operation_that_is_not_asked_is_named() -> None:
    operation: Operation = OPERATIONS[0]
    unknown = type(operation)(
        name="readEverything",
        method="GET",
        path="/everything",
        summary="Unknown",
        answers={200: None},
        errors=(),
        respond=operation.respond,
    )
    assert without_probe((*OPERATIONS, unknown)) == {"readEverything"}


# --- filters taken away ---------------------------------------------------------------------

REMOVALS = tuple(removals())
NOTICED = tuple(each for each in REMOVALS if each.name not in UNNOTICED)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_in(tmp_path_factory.mktemp("removals")) as house:
        yield house


@pytest.mark.parametrize(
    "removal",
    [
        pytest.param(removal, id=removal.name, marks=() if index % EACH == 0 else pytest.mark.soak)
        for index, removal in enumerate(NOTICED)
    ],
)
def test_a_filter_that_is_taken_away_is_noticed(house: House, removal: Removal) -> None:
    label = f"without-{REMOVALS.index(removal)}"
    with removed(removal):
        for seed in range(PAIRS_PER_REMOVAL_MAX):
            try:
                house.compare(seed, label)
            except Interference:
                return
    pytest.fail(f"{PAIRS_PER_REMOVAL_MAX} pairs show nothing without {removal.name}")


def test_what_goes_unnoticed_is_there() -> None:
    """The list of filters that the pairs do not need names no other."""
    assert set(UNNOTICED) <= {removal.name for removal in REMOVALS}
