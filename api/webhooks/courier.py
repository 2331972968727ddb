"""The courier of one webhook: reads what comes next, sends it, keeps how far it came.

It sends one message at a time, in the order of positions, and each one as it may be seen at
that moment. Its events are not looked for while a receiver fails: they wait in the log.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog
from eventsourcing.persistence import PersistenceError
from msgspec import Struct
from msgspec.structs import replace

from api.reads import Reads, Work
from api.settings import WebhookSettings
from api.watching import HeadWatch
from api.webhooks.keeping import Keeper, Lease
from api.webhooks.messages import Message, Part, next_part, single_part
from api.webhooks.sending import Outcome, Sender
from api.webhooks.settling import delivered, failed, failed_again
from api.webhooks.signing import signature
from kbstore.clock import Clock
from kbstore.errors import KBStoreError
from kbstore.store.connection import Connection
from kbstore.store.dead_letters import (
    DeadLetter,
    delete_letter,
    requested_letters,
    update_letter,
)
from kbstore.store.webhooks import Webhook, find_webhook, standing_of

T = TypeVar("T")
log = structlog.get_logger(__name__)

_MICROS = 1_000_000
_LETTERS_PER_ROUND_MAX = 20
_PASSED_OVER_MAX = 1_000
"""How many events that are not for a webhook are passed over before that is written down."""
_TROUBLE_SECONDS = 1.0
_USER_AGENT = "kbstore"


class Surroundings(Struct, frozen=True, kw_only=True):
    """What the couriers of one process share. `reading` bounds their reads, which requests must
    not have to wait behind, and `slots` their attempts. `owner` names the process in leases,
    `chance` gives numbers from 0 to 1, `stopping` is set when no message may be begun any more.
    """

    reads: Reads
    heads: HeadWatch
    keeper: Keeper
    sender: Sender
    reading: asyncio.Semaphore
    slots: asyncio.Semaphore
    stopping: asyncio.Event
    settings: WebhookSettings
    clock: Clock
    chance: Callable[[], float]
    owner: str


class _Seen(Struct, frozen=True):
    webhook: Webhook
    has_requests: bool


class Courier:
    """Delivers for one webhook; `woken` makes it look at once."""

    def __init__(self, around: Surroundings, kb_id: UUID, webhook_id: UUID) -> None:
        self.woken = asyncio.Event()
        self._around = around
        self._kb_id = kb_id
        self._webhook_id = webhook_id
        self._looked_at = 0

    async def run(self) -> None:
        """Returns when nothing can be delivered any more: the webhook is gone or disabled, its
        key is revoked, or the process stops."""
        going_on = True
        while going_on and not self._around.stopping.is_set():
            self.woken.clear()
            try:
                going_on = await self._round()
            except (PersistenceError, KBStoreError) as error:
                log.warning("webhook_waits", webhook=str(self._webhook_id), error=str(error))
                await self._wait(_TROUBLE_SECONDS)
            except Exception:
                log.exception("webhook_failed", webhook=str(self._webhook_id))
                await self._wait(self._around.settings.poll_seconds)

    async def _round(self) -> bool:
        """One look at the webhook, and what follows from it. False when there is none to look
        at any more."""
        seen = await self._read(self._look)
        if seen is None:
            return False
        webhook, now = seen.webhook, self._around.clock.now()
        poll_seconds = self._around.settings.poll_seconds
        if (leased := webhook.lease_until - now) > 0:
            await self._wait(min(leased / _MICROS, poll_seconds))
        elif seen.has_requests:
            await self._send_again(webhook)
        elif (waiting := webhook.progress.next_attempt_at - now) > 0:
            await self._wait(min(waiting / _MICROS, poll_seconds))
        else:
            return await self._go_on(webhook)
        return True

    async def _go_on(self, webhook: Webhook) -> bool:
        position = webhook.progress.position
        part = await self._next(webhook, max(position, self._looked_at))
        if part is None:
            return False
        if part.messages or part.reached - position >= _PASSED_OVER_MAX:
            await self._deliver(webhook, part)
            return True
        self._looked_at = part.reached
        if part.is_last:
            await self._wait(self._around.settings.poll_seconds, part.standing.revision)
        return True

    # --- under the lease ------------------------------------------------------------------------

    async def _deliver(self, webhook: Webhook, part: Part) -> None:
        lease = await self._leased(webhook)
        if lease is None:
            return
        current: Part | None = part
        try:
            while current is not None and not self._around.stopping.is_set():
                if current.messages:
                    current = await self._send_next(lease, current)
                    continue
                lease.progress = replace(lease.progress, position=current.reached)
                if current.is_last and not await self._more_comes(lease, current):
                    return
                current = await self._next(webhook, current.reached)
        finally:
            await lease.give_back()

    async def _send_next(self, lease: Lease, part: Part) -> Part | None:
        """What is left of the part once its first message was taken; None when that failed, or
        nothing may be sent any more."""
        async with self._around.slots:
            if not await lease.last():
                return None
            fresh = await self._fresh(lease, part)
            if fresh is None or not fresh.messages or self._around.stopping.is_set():
                return fresh
            message, *left = fresh.messages
            outcome = await self._send(lease.webhook, message)
        now = self._around.clock.now()
        if outcome.error is not None:
            self._note_failure(lease, message, outcome, now)
            return None
        was_failing = lease.progress.failing_since is not None
        lease.progress = delivered(message.position, outcome, now)
        if (was_failing or lease.seconds_until_due <= 0) and not await lease.keep():
            return None
        return replace(fresh, messages=tuple(left))

    def _note_failure(self, lease: Lease, message: Message, outcome: Outcome, now: int) -> None:
        around = self._around
        lease.progress, letter = failed(
            lease.progress, message.position, outcome, now, around.settings, around.chance()
        )
        if letter is not None:
            lease.letters.append(letter)
        log.info(
            "webhook_attempt_failed",
            webhook=str(self._webhook_id),
            position=message.position,
            attempts=lease.progress.attempts or around.settings.attempts_max,
            status=outcome.status,
            error=outcome.error,
        )

    async def _more_comes(self, lease: Lease, part: Part) -> bool:
        """Waits for another commit as long as the progress may stay unwritten: so a busy
        webhook costs one transaction in that time, and not two for each event."""
        seconds = lease.seconds_until_due
        return seconds > 0 and await self._wait(seconds, part.standing.revision)

    async def _send_again(self, webhook: Webhook) -> None:
        """The dead letters that were asked for, one attempt each."""
        lease = await self._leased(webhook)
        if lease is None:
            return
        try:
            for letter in await self._read(self._requested):
                if self._around.stopping.is_set() or not await self._send_letter(lease, letter):
                    return
        finally:
            await lease.give_back()

    async def _send_letter(self, lease: Lease, letter: DeadLetter) -> bool:
        webhook = lease.webhook
        these = (webhook.kb_id, webhook.webhook_id)
        async with self._around.slots:
            if not await lease.last():
                return False
            part = await self._read(
                partial(single_part, webhook=webhook, position=letter.position), is_long=True
            )
            if part is None:
                return False
            error = None
            # Of what it may not see any more nothing is sent, and nothing kept.
            for message in part.messages:
                outcome = await self._send(webhook, message)
                error = outcome.error
        if error is None:
            return await lease.keep(lambda c: delete_letter(c, *these, letter.position))
        again = failed_again(letter, outcome, self._around.clock.now())
        return await lease.keep(lambda c: update_letter(c, *these, again))

    async def _leased(self, webhook: Webhook) -> Lease | None:
        around = self._around
        lease = Lease(around.keeper, around.clock, around.settings, around.owner, webhook)
        if await lease.take():
            return lease
        # Another process was faster, and holds it for a while.
        await self._wait(_TROUBLE_SECONDS)
        return None

    async def _send(self, webhook: Webhook, message: Message) -> Outcome:
        timestamp = self._around.clock.now() // _MICROS
        headers = {
            "content-type": "application/json",
            "user-agent": _USER_AGENT,
            "webhook-id": message.message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(
                webhook.secret, message.message_id, timestamp, message.body
            ),
        }
        return await self._around.sender.send(webhook.url, headers, message.body)

    # --- reading and waiting --------------------------------------------------------------------

    async def _fresh(self, lease: Lease, part: Part) -> Part | None:
        """The part, read anew if anything was written since, which can change what it may
        hold."""
        webhook = lease.webhook
        standing = await self._read(
            lambda connection: standing_of(connection, webhook.kb_id, webhook.webhook_id)
        )
        if standing is None or standing == part.standing:
            return None if standing is None else part
        return await self._next(webhook, lease.progress.position)

    async def _next(self, webhook: Webhook, after: int) -> Part | None:
        reading = partial(next_part, webhook=webhook, after=after)
        return await self._read(reading, is_long=True)

    async def _read(self, work: Work[T], *, is_long: bool = False) -> T:
        async with self._around.reading:
            return await self._around.reads.run(work, is_long=is_long)

    def _look(self, connection: Connection) -> _Seen | None:
        if standing_of(connection, self._kb_id, self._webhook_id) is None:
            return None
        webhook = find_webhook(connection, self._kb_id, self._webhook_id)
        if webhook is None:
            return None
        requested = requested_letters(connection, self._kb_id, self._webhook_id, 1)
        return _Seen(webhook, bool(requested))

    def _requested(self, connection: Connection) -> list[DeadLetter]:
        return requested_letters(connection, self._kb_id, self._webhook_id, _LETTERS_PER_ROUND_MAX)

    async def _wait(self, seconds: float, revision: int | None = None) -> bool:
        """Waits until woken, at most so long; given a revision, also until the head is above it:
        then True."""
        waiting: list[asyncio.Task[bool | int | None]] = [asyncio.create_task(self.woken.wait())]
        if revision is not None:
            beyond = self._around.heads.beyond(self._kb_id, revision, seconds)
            waiting.append(asyncio.create_task(beyond))
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return any(task.done() and task.result() is not None for task in waiting[1:])
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
