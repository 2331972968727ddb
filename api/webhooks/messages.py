"""What is sent: one event a message, as `GET /events` shows it to the webhook's key today."""

from uuid import UUID

from msgspec import Struct

from api.answers import encode
from kbstore.access import Caller
from kbstore.ids import format_kb_address
from kbstore.store.catalogue import find_working_key
from kbstore.store.connection import Connection
from kbstore.store.webhooks import Standing, Webhook, standing_of
from projections.read.activity import events
from projections.read.event_rows import events_between
from projections.read.event_views import event_view
from projections.snapshot import Snapshot, open_snapshot
from projections.views import EventView, View

EVENTS_READ_MAX = 10
"""What one read makes ready; it is read again when anything changes before it is sent."""


class Envelope(View, frozen=True, kw_only=True):
    """The body of a message. `type` and `timestamp` are the event's."""

    type: str
    timestamp: str
    knowledge_base: str
    data: EventView


class Message(Struct, frozen=True):
    """One event ready to be sent; `message_id` is the same at every attempt."""

    position: int
    message_id: str
    body: bytes


class Part(Struct, frozen=True):
    """The next messages. `reached` is the position up to which all was looked at, `is_last`
    says that this was the head, and `standing` what they were read under."""

    messages: tuple[Message, ...]
    reached: int
    is_last: bool
    standing: Standing


def next_part(connection: Connection, webhook: Webhook, after: int) -> Part | None:
    """The messages from the one after position `after` on; None when the webhook gets none any
    more."""
    with connection.reading():
        opened = _open(connection, webhook)
        if opened is None:
            return None
        standing, snapshot = opened
        only = webhook.types[0] if len(webhook.types) == 1 else None
        found = events(snapshot, after, EVENTS_READ_MAX, type=only)
        return Part(
            messages=tuple(
                _message(webhook, event) for event in found.items if _fits(webhook, event)
            ),
            reached=snapshot.head.position if found.after is None else found.after,
            is_last=found.after is None,
            standing=standing,
        )


def single_part(connection: Connection, webhook: Webhook, position: int) -> Part | None:
    """The message of one event, or none when the webhook may not see it any more."""
    with connection.reading():
        opened = _open(connection, webhook)
        if opened is None:
            return None
        standing, snapshot = opened
        rows = events_between(snapshot, position, position, 1)
        messages = tuple(_message(webhook, event_view(snapshot, row)) for row in rows)
        return Part(messages, position, False, standing)


def message_id(webhook_id: UUID, position: int) -> str:
    """The `webhook-id` of an event: the same at every attempt, and for no other event."""
    return f"msg_{webhook_id.hex}_{position}"


def _open(connection: Connection, webhook: Webhook) -> tuple[Standing, Snapshot] | None:
    standing = standing_of(connection, webhook.kb_id, webhook.webhook_id)
    key = find_working_key(connection, webhook.key_id)
    if standing is None or key is None:
        return None
    caller = Caller(principal=key.principal, held=key.held, grants=key.grants, key_id=key.key_id)
    snapshot = open_snapshot(connection, webhook.kb_id, caller.narrow(webhook.scopes))
    return standing, snapshot


def _fits(webhook: Webhook, event: EventView) -> bool:
    return not webhook.types or event.type in webhook.types


def _message(webhook: Webhook, event: EventView) -> Message:
    envelope = Envelope(
        type=event.type,
        timestamp=event.at,
        knowledge_base=format_kb_address(webhook.kb_id),
        data=event,
    )
    return Message(event.position, message_id(webhook.webhook_id, event.position), encode(envelope))
