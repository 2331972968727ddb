"""Walks through lists part by part, held against the list in one piece."""

from collections.abc import Callable, Iterator
from typing import TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct

from projections.read.activity import events, list_commits
from projections.read.backlinks import backlinks
from projections.read.children import children
from projections.read.deletions import list_deletions
from projections.read.history import history
from projections.read.notes import notes_of_page
from projections.read.pins import pins_for
from projections.read.scopes import list_scopes
from projections.read.slices import Slice
from projections.snapshot import Snapshot
from projections.views import PageSummary
from tests.properties.house import SCOPES

T = TypeVar("T")
K = TypeVar("K")
Part = Callable[[K | None, int], Slice[T, K]]
_ALL = 10_000
_PARTS_MAX = 10_000


def check_walks(snapshot: Snapshot, page_ids: list[UUID], limit: int) -> None:
    """Every list of the reader, walked `limit` at a time, is the list in one piece."""
    for name, differs in _walks(snapshot, page_ids, limit):
        assert not differs, f"walking {name} by {limit} does not give the list"


def _walks(snapshot: Snapshot, page_ids: list[UUID], limit: int) -> Iterator[tuple[str, bool]]:
    yield "scopes", _differs(lambda after, n: list_scopes(snapshot, after, n), limit)
    yield "deletions", _differs(lambda after, n: list_deletions(snapshot, after, n), limit)
    yield "events", _differs(lambda after, n: events(snapshot, after or 0, n), limit)
    yield "commits", _differs(lambda after, n: list_commits(snapshot, after or 0, n), limit)
    audience = frozenset(SCOPES)
    yield "pins", _differs(lambda after, n: pins_for(snapshot, audience, after, n), limit)
    for page_id in page_ids:
        for name, part in _lists_of(snapshot, page_id):
            yield f"{name} of {page_id}", part(limit)


def _lists_of(snapshot: Snapshot, page_id: UUID) -> Iterator[tuple[str, Callable[[int], bool]]]:
    yield (
        "children",
        lambda limit: _differs(lambda after, n: children(snapshot, page_id, after, n), limit),
    )
    yield (
        "notes",
        lambda limit: _differs(lambda after, n: notes_of_page(snapshot, page_id, after, n), limit),
    )
    yield (
        "backlinks",
        lambda limit: _differs(lambda after, n: backlinks(snapshot, page_id, after, n), limit),
    )
    yield (
        "history",
        lambda limit: _differs(lambda after, n: history(snapshot, page_id, after, n), limit),
    )
    yield (
        "newest history",
        lambda limit: _differs(
            lambda after, n: history(snapshot, page_id, after, n, newest_first=True), limit
        ),
    )


def _differs(part: Part[K, T], limit: int) -> bool:
    whole = part(None, _ALL)
    assert whole.after is None
    walked: list[T] = []
    after: K | None = None
    for _ in range(_PARTS_MAX):
        found = part(after, limit)
        assert len(found.items) <= limit
        walked.extend(found.items)
        after = found.after
        if after is None:
            return msgspec.json.encode(walked) != msgspec.json.encode(whole.items)
    raise AssertionError("the walk never ends")


class Tree(Struct, frozen=True):
    """What the readable tree of a reader looks like, walked down from the scope pages."""

    summaries: dict[UUID, PageSummary]
    tops: frozenset[UUID]


def walk_down(snapshot: Snapshot) -> Tree:
    """Every page that is reached from the listed scopes through lists of children alone."""
    tops = [view.page for view in list_scopes(snapshot, None, _ALL).items]
    reached: dict[UUID, PageSummary] = {}
    waiting = list(tops)
    while waiting:
        for summary in children(snapshot, waiting.pop(), None, _ALL).items:
            assert summary.id not in reached, "a page stands at two places"
            assert summary.id not in tops, "a scope page stands below a page"
            reached[summary.id] = summary
            waiting.append(summary.id)
    return Tree(reached, frozenset(tops))
