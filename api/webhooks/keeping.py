"""Keeping what there is to know of webhooks, in short transactions beside the writer's.

Such a transaction may have to wait for the writer, so it runs in a thread of its own, and never
while a receiver is waited for.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from msgspec.structs import replace

from api.settings import WebhookSettings
from api.webhooks.settling import TOO_MANY_DEAD_LETTERS
from kbstore.clock import Clock
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.dead_letters import DeadLetter, count_letters, insert_letter
from kbstore.store.webhooks import Webhook, claim, record

T = TypeVar("T")
_MICROS = 1_000_000


class Keeper:
    """Runs transactions one after the other."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kbstore-webhooks")
        self._connection: Connection | None = None

    async def run(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, committed; what it raises, rolled back."""
        return await asyncio.wrap_future(self._thread.submit(self._commit, work))

    def close(self) -> None:
        """Finishes what was accepted."""
        self._thread.submit(self._disconnect)
        self._thread.shutdown(wait=True)

    def _commit(self, work: Callable[[Connection], T]) -> T:
        if self._connection is None:
            self._connection = self._database.connect()
        connection = self._connection
        try:
            connection.begin_write()
            result = work(connection)
            connection.commit()
            return result
        finally:
            connection.rollback()
            if connection.is_lost:
                self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Lease:
    """The right of this process to deliver for a webhook, and the progress made under it.

    `progress` is what the next `keep` or `give_back` writes, dead letters with it.
    """

    def __init__(
        self, keeper: Keeper, clock: Clock, settings: WebhookSettings, owner: str, webhook: Webhook
    ) -> None:
        self.webhook = webhook
        self.progress = webhook.progress
        self.letters: list[DeadLetter] = []
        self._keeper = keeper
        self._clock = clock
        self._settings = settings
        self._owner = owner
        self._until = 0
        self._kept_at = 0.0

    async def take(self) -> bool:
        """False when another process has it, or had it meanwhile."""
        now = self._clock.now()
        until = self._end(now)

        def work(connection: Connection) -> bool:
            return claim(connection, self.webhook, self._owner, now, until)

        taken = await self._keeper.run(work)
        self._until, self._kept_at = until if taken else 0, time.monotonic()
        return taken

    async def keep(self, change: Callable[[Connection], None] | None = None) -> bool:
        """Writes the progress, and whatever `change` writes, and holds the lease for another
        while. False when it was lost: then nothing was written."""
        now = self._clock.now()
        return await self._write(now, self._end(now), change)

    async def last(self) -> bool:
        """Makes sure of the lease for the length of one attempt."""
        now = self._clock.now()
        if self._until - now >= self._settings.lease_seconds * _MICROS / 2:
            return True
        return self._until > 0 and await self.keep()

    async def give_back(self) -> None:
        """Writes the progress for whoever goes on from here; nothing when the lease was lost."""
        if self._until > 0:
            await self._write(self._clock.now(), None, None)

    @property
    def seconds_until_due(self) -> float:
        """How long the progress may stay unwritten."""
        return self._kept_at + self._settings.record_seconds - time.monotonic()

    async def _write(
        self, now: int, until: int | None, change: Callable[[Connection], None] | None
    ) -> bool:
        def work(connection: Connection) -> bool:
            progress = self.progress
            webhook = self.webhook
            if self.letters:
                there = count_letters(connection, webhook.kb_id, webhook.webhook_id)
                if there + len(self.letters) >= self._settings.dead_letters_max:
                    progress = replace(
                        progress, disabled_at=now, disabled_reason=TOO_MANY_DEAD_LETTERS
                    )
            if not record(connection, webhook, progress, self._owner, until):
                return False
            for letter in self.letters:
                insert_letter(connection, webhook.kb_id, webhook.webhook_id, letter)
            if change is not None:
                change(connection)
            return True

        is_kept = await self._keeper.run(work)
        self._until = until or 0 if is_kept else 0
        self._kept_at = time.monotonic()
        self.letters.clear()
        return is_kept

    def _end(self, now: int) -> int:
        return now + round(self._settings.lease_seconds * _MICROS)
