"""Following a knowledge base: its events as they come."""

import time
from functools import partial
from uuid import UUID

from eventsourcing.persistence import PersistenceError
from msgspec import Struct

from api.answers import encode
from api.calls import Call
from api.errors import refusal_of
from api.headers import text_header
from api.operations import Reopened, streams
from api.parameters import Parameters, Position
from api.reading import head_of
from api.routes.feeds import page_id_in
from api.streams import HEARTBEAT, Frames, frame, place
from kbstore.errors import KBStoreError, ValidationError, describe
from kbstore.limits import LIST_ITEMS_DEFAULT, REVISION_MAX
from kbstore.store.connection import Connection
from projections.read.activity import events
from projections.snapshot import open_snapshot


class StreamParameters(Parameters, frozen=True, kw_only=True):
    """The events after the position `after`, else those that are still to come; perhaps of one
    type, page or actor."""

    after: Position | None = None
    type: str | None = None
    page_id: str | None = None
    actor: str | None = None


@streams(
    "streamEvents",
    "/events/stream",
    "Follow the events the caller may read, as Server-Sent Events",
    parameters=StreamParameters,
)
async def stream_events(call: Call, given: StreamParameters, reopened: Reopened) -> Frames:
    """Each part is read under the access of its moment. A key that stops working ends the stream
    with an event `error`, and so does a database that does not answer."""
    page_id = page_id_in(given.page_id)
    after = _last_event(call)
    if after is None:
        after = (await head_of(call)).position if given.after is None else given.after
    return _frames(call, given, page_id, after, reopened)


async def _frames(
    call: Call, given: StreamParameters, page_id: UUID | None, after: int, reopened: Reopened
) -> Frames:
    server, kb_id = call.server, call.kb.kb_id
    pause = server.settings.heartbeat_seconds
    yield place(after)
    said = time.monotonic()
    try:
        while True:
            async with server.streams.reading:
                part = await call.read_anywhere(
                    partial(_part_after, call=call, after=after, given=given, page_id=page_id),
                    is_long=True,
                )
            if part.frames:
                yield b"".join(part.frames)
                said = time.monotonic()
            after, goes_on = part.after, not part.is_last
            while not goes_on:
                # Commits that do not show put nothing off.
                left = said + pause - time.monotonic()
                goes_on = left > 0 and (
                    await server.heads.beyond(kb_id, part.revision, left) is not None
                )
                if said + pause <= time.monotonic():
                    yield HEARTBEAT
                    said = time.monotonic()
                    break
            async with server.streams.reading:
                call = await reopened()
    except (KBStoreError, PersistenceError) as error:
        yield frame(encode(describe(refusal_of(error), "")["error"]), event="error")


class _EventPart(Struct, frozen=True):
    """A part of a stream: `is_last` when nothing follows it at this revision."""

    frames: tuple[bytes, ...]
    after: int
    revision: int
    is_last: bool


def _part_after(
    connection: Connection, *, call: Call, after: int, given: StreamParameters, page_id: UUID | None
) -> _EventPart:
    with connection.reading():
        snapshot = open_snapshot(connection, call.kb.kb_id, call.caller)
        found = events(
            snapshot,
            after,
            LIST_ITEMS_DEFAULT,
            type=given.type,
            page_id=page_id,
            actor=given.actor,
        )
        return _EventPart(
            tuple(
                frame(encode(event), event=event.type, id=event.position) for event in found.items
            ),
            # What was hidden need not be passed over again.
            snapshot.head.position if found.after is None else found.after,
            snapshot.revision,
            found.after is None,
        )


def _last_event(call: Call) -> int | None:
    """The position in `Last-Event-ID`; None without it."""
    text = text_header(call.scope, b"last-event-id")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(REVISION_MAX))):
        raise ValidationError(
            "Last-Event-ID must be the id of an event.", field="Last-Event-ID", reason="malformed"
        )
    return min(int(text), REVISION_MAX)


OPERATIONS = (stream_events,)
