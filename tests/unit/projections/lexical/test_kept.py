"""Indexes are kept up to a weight, and weighed again as they grow."""

from collections.abc import Iterator

import pytest

from projections.caching import LruCache
from projections.lexical import kept as module
from projections.lexical.index import Deadline, View
from projections.lexical.kept import bytes_of, forget_indexes, view_of
from tests.backends import on_sqlite
from tests.unit.projections.history import History
from tests.unit.projections.lexical.test_index import SECONDS, head_of, write


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget_indexes()
    limit = 20_000
    cache: LruCache[tuple[bytes, int], module._Kept]
    cache = LruCache(limit, lambda kept: kept.nbytes)
    monkeypatch.setattr(module, "INDEXES_BYTES_MAX", limit)
    monkeypatch.setattr(module, "_INDEX_BYTES_MIN", 100)
    monkeypatch.setattr(module, "_kept", cache)
    yield
    forget_indexes()


def view(history: History) -> View:
    return view_of(history.connection, head_of(history), Deadline(SECONDS))


def is_same(one: View, other: View) -> bool:
    return one.visible is other.visible


@on_sqlite
def test_the_one_used_longest_ago_goes_when_they_grow_too_heavy(history: History) -> None:
    neighbour = History(history.database, seed=5, connection=history.connection)
    write(history, ["one"])
    write(neighbour, ["one"])
    first, second = view(history), view(neighbour)
    assert is_same(view(history), first)
    assert is_same(view(neighbour), second)
    write(neighbour, [f"word{number} more{number}" for number in range(15)])
    grown = view(neighbour)
    assert 10_000 < bytes_of(grown) < 20_000
    assert is_same(view(history), first), "both are still light enough"
    write(neighbour, [f"other{number}" for number in range(15)])
    assert bytes_of(view(neighbour)) > 15_000
    assert not is_same(view(history), first)


@on_sqlite
def test_one_that_is_too_heavy_is_kept_alone(history: History) -> None:
    write(history, [f"word{number} more{number} other{number}" for number in range(40)])
    heavy = view(history)
    assert bytes_of(heavy) > 20_000
    assert is_same(view(history), heavy)
