"""Reading the log of a knowledge base in order."""

from collections.abc import Generator
from typing import TypeAlias, cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import bindparam, select

from kbstore.domain.events import Event
from kbstore.ids import id_from_bytes
from kbstore.store.commits import Commit
from kbstore.store.connection import Connection
from kbstore.store.mapper import decode_payload
from kbstore.store.statements import Row, Statement, Value
from kbstore.store.tables import commits, events

# Named here, because a type that is spelled out in a loop is made anew each time.
_EventRow: TypeAlias = tuple[int, bytes, int, str, bytes]
_CommitRow: TypeAlias = tuple[
    int, int, int, int, int | None, str, str | None, str | None, str | None, bytes
]

_COMMITS = Statement(
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
_EVENTS = Statement(
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
        position, originator_id, version, topic, payload = cast(_EventRow, row)
        yield LoggedEvent(position, id_from_bytes(originator_id), version, topic, payload)


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
