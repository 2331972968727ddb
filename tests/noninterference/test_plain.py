"""The canonicaliser makes equal what has to differ, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbstore.clock import format_time
from tests.noninterference.asking import Reply
from tests.noninterference.injected import START
from tests.noninterference.pairs import house_in
from tests.noninterference.plain import plain
from tests.noninterference.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Shares the commits 1, 4 and 9 with another one, and the positions 1, 5 and 6."""
    with house_in(tmp_path) as house:
        world = World(house.benches[0], 0, "plain")
        world.revisions, world.positions = [1, 4, 9], [1, 5, 6]
        world.times = [START, START + 400, START + 900]
        yield world


def body_of(world: World, raw: str, **headers: str) -> object:
    named = tuple(headers.items())
    return plain(world, Reply(200, named, raw.encode()))[2]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{"revision": 4}', {"revision": "<revision 2>"}),
        ('{"revision": 8}', {"revision": "<revision 2>"}),
        ('{"position": 5}', {"position": "<position 2>"}),
        ('{"version": 4}', {"version": 4}),
        ('{"version": 4, "configuration": {}}', {"version": "<revision 2>", "configuration": {}}),
        ('{"secret": "a"}', {"secret": "<secret>"}),
        (f'["{"c" * 160}"]', ["<cursor>"]),
        (f'["{"c" * 159}"]', ["c" * 159]),
        ('["at revision 4, not 1."]', ["at revision <revision 2>, not <revision 1>."]),
        (f'["{format_time(START + 399)}"]', ["<time 1>"]),
        (f'["{format_time(START + 400)}"]', ["<time 2>"]),
        ("id: 5\nevent: a\n", ["id: <position 2>", "event: a"]),
    ],
)
def test_numbers_and_times_become_places(world: World, given: str, expected: object) -> None:
    assert body_of(world, given) == expected


def test_headers_keep_what_counts(world: World) -> None:
    tag = f'"7-{"a" * 32}"'
    headers = (("content-length", "9"), ("etag", tag), ("kb-revision", "4"), ("x", "y"))
    kept = plain(world, Reply(200, headers, b""))[1]
    assert kept == (("etag", '"7-<etag>"'), ("kb-revision", "<revision 2>"), ("x", "y"))
