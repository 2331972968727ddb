"""The worker of one process: a courier for each webhook to which something can be delivered."""

import asyncio
import random
import secrets
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import structlog
from eventsourcing.persistence import PersistenceError

from api.reads import Reads
from api.settings import WebhookSettings
from api.watching import HeadWatch
from api.webhooks.courier import Courier, Surroundings
from api.webhooks.keeping import Keeper
from api.webhooks.network import Resolve, resolve
from api.webhooks.sending import Sender
from kbstore.clock import Clock
from kbstore.errors import KBStoreError
from kbstore.store.database import Database
from kbstore.store.webhooks import release_all, working_webhooks

log = structlog.get_logger(__name__)

_READS_MAX = 4
_LAST_ATTEMPTS_SECONDS_MAX = 2.0
"""How long a stop waits for answers; what was not answered by then is sent again."""


class WebhookWorker:
    """Starts and ends couriers; used from one event loop alone. `chance` gives numbers from 0 to
    1 for back-off, `resolve` looks names up."""

    def __init__(
        self,
        database: Database,
        reads: Reads,
        heads: HeadWatch,
        clock: Clock,
        settings: WebhookSettings,
        *,
        chance: Callable[[], float] = random.random,
        resolve: Resolve = resolve,
    ) -> None:
        self.keeper = Keeper(database)
        self._database = database
        self._reads = reads
        self._settings = settings
        self._sender = Sender(settings, resolve)
        self._stopping = asyncio.Event()
        self._around = Surroundings(
            reads=reads,
            heads=heads,
            keeper=self.keeper,
            sender=self._sender,
            reading=asyncio.Semaphore(_READS_MAX),
            slots=asyncio.Semaphore(settings.deliveries_max),
            stopping=self._stopping,
            settings=settings,
            clock=clock,
            chance=chance,
            owner=secrets.token_hex(8),
        )
        self._couriers: dict[UUID, tuple[Courier, asyncio.Task[None]]] = {}
        self._woken = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to deliver, in the running event loop."""
        self._running = asyncio.create_task(self._run())

    def wake(self, webhook_id: UUID) -> None:
        """Something about this webhook has changed: it is looked at now."""
        self._woken.set()
        if webhook_id in self._couriers:
            self._couriers[webhook_id][0].woken.set()

    async def stop(self) -> None:
        """Begins no further message, waits a moment for the last answers, and ends."""
        self._stopping.set()
        self._woken.set()
        tasks = [task for _, task in self._couriers.values()]
        for courier, _ in self._couriers.values():
            courier.woken.set()
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_ATTEMPTS_SECONDS_MAX)
        if self._running is not None:
            tasks.append(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._sender.close()
        await asyncio.to_thread(self.keeper.close)

    async def _run(self) -> None:
        is_first = True
        while not self._stopping.is_set():
            self._woken.clear()
            try:
                working = await self._reads.run(working_webhooks)
                if working and is_first and self._database.is_file:
                    await self.keeper.run(release_all)
                is_first = is_first and not working
            except (PersistenceError, KBStoreError) as error:
                log.warning("webhooks_unknown", error=str(error))
            else:
                for kb_id, webhook_id in working:
                    if webhook_id not in self._couriers:
                        self._begin(kb_id, webhook_id)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.poll_seconds):
                    await self._woken.wait()

    def _begin(self, kb_id: UUID, webhook_id: UUID) -> None:
        courier = Courier(self._around, kb_id, webhook_id)
        task = asyncio.create_task(courier.run())
        self._couriers[webhook_id] = courier, task
        task.add_done_callback(lambda _: self._couriers.pop(webhook_id, None))
