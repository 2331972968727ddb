"""Webhooks as the routes show them."""

from typing import Literal
from uuid import UUID

from api.reading import Shown
from api.representations import ListRead
from api.webhooks.messages import message_id
from kbstore.clock import format_time
from kbstore.store.dead_letters import DeadLetter
from kbstore.store.webhooks import Registered
from projections.views import View

Status = Literal["active", "failing", "disabled", "revoked"]


class WebhookView(View, frozen=True, kw_only=True):
    """A webhook and how its deliveries go.

    `scopes` are those whose events it sees, as far as its key holds them; no `types` stand for
    all. Every event up to `position` is done with. `status` is `revoked` once its key is. While
    it is `failing`, `next_attempt_at` says when the receiver is tried again; `last_error` is one
    word, null after a success.
    """

    id: UUID
    url: str
    types: tuple[str, ...]
    scopes: tuple[str, ...]
    principal: str
    created_at: str
    status: Status
    position: int
    dead_letters: int
    last_attempt_at: str | None
    last_status: int | None
    last_error: str | None
    failing_since: str | None
    next_attempt_at: str | None
    disabled_reason: str | None


class WebhookRead(Shown, frozen=True, kw_only=True):
    webhook: WebhookView


class WebhookList(ListRead, frozen=True, kw_only=True):
    items: tuple[WebhookView, ...]


class WebhookCreated(View, frozen=True, kw_only=True):
    """`secret` is shown this once."""

    webhook: WebhookView
    secret: str


class DeadLetterView(View, frozen=True, kw_only=True):
    """An event that was not taken. `message_id` was its `webhook-id`; `requested_at` is when
    sending it again was asked for, null when it was not."""

    position: int
    message_id: str
    attempts: int
    failed_at: str
    last_status: int | None
    last_error: str | None
    requested_at: str | None


class DeadLetterList(ListRead, frozen=True, kw_only=True):
    items: tuple[DeadLetterView, ...]


class DeadLetterRequested(View, frozen=True, kw_only=True):
    dead_letter: DeadLetterView


def webhook_view(found: Registered) -> WebhookView:
    webhook, progress = found.webhook, found.webhook.progress
    status = _status(found)
    return WebhookView(
        id=webhook.webhook_id,
        url=webhook.url,
        types=webhook.types,
        scopes=tuple(sorted(webhook.scopes)),
        principal=found.principal,
        created_at=format_time(webhook.created_at),
        status=status,
        position=progress.position,
        dead_letters=found.dead_letters,
        last_attempt_at=_time(progress.attempted_at),
        last_status=progress.last_status,
        last_error=progress.last_error,
        failing_since=_time(progress.failing_since),
        next_attempt_at=_time(progress.next_attempt_at or None) if status == "failing" else None,
        disabled_reason=progress.disabled_reason,
    )


def dead_letter_view(webhook_id: UUID, letter: DeadLetter) -> DeadLetterView:
    return DeadLetterView(
        position=letter.position,
        message_id=message_id(webhook_id, letter.position),
        attempts=letter.attempts,
        failed_at=format_time(letter.failed_at),
        last_status=letter.last_status,
        last_error=letter.last_error,
        requested_at=_time(letter.requested_at),
    )


def _status(found: Registered) -> Status:
    progress = found.webhook.progress
    if found.is_revoked:
        return "revoked"
    if progress.disabled_at is not None:
        return "disabled"
    return "active" if progress.failing_since is None else "failing"


def _time(micros: int | None) -> str | None:
    return None if micros is None else format_time(micros)
