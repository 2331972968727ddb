"""Feeds: what happened in a knowledge base, as far as a reader may know.

Both feeds page by position or revision and never go stale. A call looks at a bounded number
of events, so it may give few items, or none, and still say where to go on.
"""

from typing import cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import bindparam, select

from kbstore.errors import NotFoundError
from kbstore.store.statements import Row, Statement
from kbstore.store.tables import commits
from projections.read.event_rows import (
    ROWS_SCANNED_MAX,
    EventRow,
    events_between,
    stretch_of_events,
)
from projections.read.event_views import event_view
from projections.read.pages import shown_time
from projections.read.slices import Slice
from projections.snapshot import Snapshot
from projections.views import CommitView, EventView

EVENTS_SHOWN_MAX = 100
"""How many of its events a commit shows; the others are in the feed of events."""

EVENTS_OF_COMMIT_MAX = 100_000

_COLUMNS = (
    commits.c.revision,
    commits.c.first_position,
    commits.c.event_count,
    commits.c.committed_at,
    commits.c.occurred_at,
    commits.c.actor,
    commits.c.run,
    commits.c.tool_call,
    commits.c.message,
    commits.c.digest,
)
_COMMITS = Statement(
    select(*_COLUMNS)
    .where(
        commits.c.kb_id == bindparam("kb_id"),
        commits.c.revision > bindparam("after"),
        commits.c.revision <= bindparam("revision"),
    )
    .order_by(commits.c.revision)
    .limit(bindparam("limit"))
)


_CommitRow = tuple[int, int, int, int, int | None, str, str | None, str | None, str | None, bytes]


class _Commit(Struct, frozen=True):
    revision: int
    first_position: int
    event_count: int
    committed_at: int
    occurred_at: int | None
    actor: str
    run: str | None
    tool_call: str | None
    message: str | None
    digest: bytes


_Readable = tuple[_Commit, list[EventRow]]


def events(
    snapshot: Snapshot,
    after: int | None,
    limit: int,
    *,
    type: str | None = None,
    page_id: UUID | None = None,
    actor: str | None = None,
    newest_first: bool = False,
) -> Slice[EventView, int]:
    """The readable events from the one after position `after` on, at most `limit`, perhaps of
    one type, page or actor. `newest_first` goes the other way, from the newest by default."""
    stretch = stretch_of_events(
        snapshot,
        after,
        limit,
        topic=type,
        page_id=page_id,
        actor=actor,
        newest_first=newest_first,
    )
    views = tuple(event_view(snapshot, row) for row in stretch.rows)
    return Slice(items=views, after=stretch.after)


def list_commits(snapshot: Snapshot, after: int, limit: int) -> Slice[CommitView, int]:
    """The commits from the one after revision `after` on that have a readable event, at most
    `limit`."""
    found: list[_Readable] = []
    left, asked = ROWS_SCANNED_MAX, limit + 1
    last: int | None = after
    # One more than the limit: that hidden commits follow must not look like a next part.
    while len(found) <= limit:
        rows = [_commit(row) for row in snapshot.all(_COMMITS, after=last, limit=asked)]
        looked_at = _bounded(rows, left)
        found += _readable(snapshot, looked_at)
        if len(rows) < asked and len(looked_at) == len(rows):
            last = None
            break
        last = looked_at[-1].revision
        if len(looked_at) < len(rows):
            break
        left -= sum(each.event_count for each in rows)
        asked *= 2
    if len(found) > limit:
        last = found[limit - 1][0].revision
    return Slice(items=tuple(_view(snapshot, *each) for each in found[:limit]), after=last)


def commit(snapshot: Snapshot, revision: int) -> CommitView:
    """One commit. Raises NotFoundError for one without a readable event, or above the
    snapshot's revision."""
    row = snapshot.one(_COMMITS, after=revision - 1, limit=1)
    if row is not None and row[0] == revision:
        for found in _readable(snapshot, [_commit(row)]):
            return _view(snapshot, *found)
    raise NotFoundError(f"Commit {revision} not found.")


def _bounded(found: list[_Commit], events_max: int) -> list[_Commit]:
    """The first commits, one at least, that have no more events than this together."""
    total = 0
    for index, each in enumerate(found):
        total += each.event_count
        if total > events_max and index > 0:
            return found[:index]
    return found


def _readable(snapshot: Snapshot, found: list[_Commit]) -> list[_Readable]:
    """Those of successive commits that have a readable event, with these."""
    if not found:
        return []
    first, last = found[0].first_position, found[-1].first_position + found[-1].event_count - 1
    readable: dict[int, list[EventRow]] = {}
    for row in events_between(snapshot, first, last, EVENTS_OF_COMMIT_MAX):
        readable.setdefault(row.revision, []).append(row)
    return [(each, readable[each.revision]) for each in found if each.revision in readable]


def _view(snapshot: Snapshot, commit: _Commit, rows: list[EventRow]) -> CommitView:
    complete = len(rows) == commit.event_count
    occurred_at = commit.occurred_at if complete else None
    return CommitView(
        revision=commit.revision,
        committed_at=shown_time(commit.committed_at),
        event_count=len(rows),
        complete=complete,
        occurred_at=None if occurred_at is None else shown_time(occurred_at),
        actor=commit.actor if complete else None,
        run=commit.run if complete else None,
        tool_call=commit.tool_call if complete else None,
        message=commit.message if complete else None,
        digest=commit.digest.hex() if complete and snapshot.access.is_auditor else None,
        events=tuple(event_view(snapshot, row) for row in rows[:EVENTS_SHOWN_MAX]),
    )


def _commit(row: Row) -> _Commit:
    return _Commit(*cast(_CommitRow, row))
