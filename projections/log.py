"""Reading the log of a knowledge base in order."""

from collections import deque
from collections.abc import Generator
from typing import TypeAlias, cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import bindparam, select

from kbstore.domain.events import Event
from kbstore.errors import StoreError
from kbstore.ids import id_from_bytes
from kbstore.store.commits import Commit
from kbstore.store.connection import Connection, Queryable
from kbstore.store.mapper import decode_payload
from kbstore.store.statements import Row, Statement, Value
from kbstore.store.tables import commits, events

# Named here, because a type that is spelled out in a loop is made anew each time.
_EventRow: TypeAlias = tuple[int, bytes, int, str, bytes]
_CommitRow: TypeAlias = tuple[
    int, int, int, int, int | None, str, str | None, str | None, str | None, bytes
]

_COMMITS_READ_MAX = 500
_EVENTS_READ_MAX = 1_000
_STRETCH_EVENTS_MAX = 32

_COMMIT_ROWS = (
    select(
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
    .where(
        commits.c.kb_id == bindparam("kb_id"),
        commits.c.revision >= bindparam("first"),
        commits.c.revision <= bindparam("last"),
    )
    .order_by(commits.c.revision)
)
_COMMITS = Statement(_COMMIT_ROWS)
_NEXT_COMMITS = Statement(_COMMIT_ROWS.limit(bindparam("limit")))
_EVENT_ROWS = (
    select(
        events.c.position,
        events.c.originator_id,
        events.c.originator_version,
        events.c.topic,
        events.c.payload,
    )
    .where(
        events.c.kb_id == bindparam("kb_id"),
        events.c.position >= bindparam("first"),
        events.c.position <= bindparam("last"),
    )
    .order_by(events.c.position)
)
_EVENTS = Statement(_EVENT_ROWS)
_NEXT_EVENTS = Statement(_EVENT_ROWS.limit(bindparam("limit")))


class LoggedEvent(Struct, frozen=True):
    """An event as it is stored."""

    position: int
    originator_id: UUID
    originator_version: int
    topic: str
    payload: bytes

    def decode(self) -> Event:
        """The event as today's type; raises as `kbstore.store.mapper.decode_payload` does."""
        return decode_payload(self.topic, self.payload, self.originator_id, self.originator_version)


class Stretch(Struct, frozen=True):
    """Events of one commit that follow each other, a few of them, at least one; `ends_commit`
    when the last of the commit is among them."""

    commit: Commit
    events: list[LoggedEvent]

    @property
    def first_position(self) -> int:
        return self.events[0].position

    @property
    def last_position(self) -> int:
        return self.events[-1].position

    @property
    def is_full(self) -> bool:
        return len(self.events) == _STRETCH_EVENTS_MAX

    @property
    def ends_commit(self) -> bool:
        return self.last_position == self.commit.first_position + self.commit.event_count - 1


def read_commits(
    connection: Connection, kb_id: UUID, first: int, last: int
) -> Generator[Commit, None, None]:
    """The commits of these revisions, both ends included, one by one."""
    values: dict[str, Value] = {"kb_id": kb_id.bytes, "first": first, "last": last}
    for row in connection.each(_COMMITS, values):
        yield _commit(kb_id, row)


def read_events(
    connection: Connection, kb_id: UUID, first: int, last: int
) -> Generator[LoggedEvent, None, None]:
    """The events at these positions, both ends included, one by one."""
    values: dict[str, Value] = {"kb_id": kb_id.bytes, "first": first, "last": last}
    for row in connection.each(_EVENTS, values):
        yield _event(row)


def next_stretches(
    connection: Queryable, kb_id: UUID, revision: int, position: int, to_revision: int
) -> list[Stretch]:
    """The log from behind a position on, as far as one reading of it goes.

    `revision` is the last commit all of whose events lie up to `position`. Nothing past
    `to_revision`, which is higher, is read, and no cursor stays open. Raises StoreError where
    the log has a gap.
    """
    key: dict[str, Value] = {"kb_id": kb_id.bytes}
    rows = connection.all(
        _NEXT_COMMITS,
        {**key, "first": revision + 1, "last": to_revision, "limit": _COMMITS_READ_MAX},
    )
    ahead = deque(_commit(kb_id, row) for row in rows)
    last = ahead[-1].first_position + ahead[-1].event_count - 1 if ahead else 0
    values = {**key, "first": position + 1, "last": last, "limit": _EVENTS_READ_MAX}
    stretches: list[Stretch] = []
    for row in connection.all(_NEXT_EVENTS, values):
        event = _event(row)
        if event.position != position + 1:
            break
        position += 1
        if stretches and stretches[-1].ends_commit:
            ahead.popleft()
        if not stretches or stretches[-1].is_full or stretches[-1].ends_commit:
            stretches.append(Stretch(ahead[0], []))
        stretches[-1].events.append(event)
    if not stretches:
        raise StoreError(
            f"The log has nothing at position {position + 1}; `kbstore verify` tells more.",
            position=position + 1,
        )
    return stretches


def _event(row: Row) -> LoggedEvent:
    position, originator_id, version, topic, payload = cast(_EventRow, row)
    return LoggedEvent(position, id_from_bytes(originator_id), version, topic, payload)


def _commit(kb_id: UUID, row: Row) -> Commit:
    (
        revision,
        first_position,
        event_count,
        committed_at,
        occurred_at,
        actor,
        run,
        tool_call,
        message,
        digest,
    ) = cast(_CommitRow, row)
    return Commit(
        kb_id=kb_id,
        revision=revision,
        first_position=first_position,
        event_count=event_count,
        committed_at=committed_at,
        occurred_at=occurred_at,
        actor=actor,
        run=run,
        tool_call=tool_call,
        message=message,
        digest=digest,
    )
