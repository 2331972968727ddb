"""Waiting for a knowledge base to move on: told by writes of this process and by notices of
others, and looked for all the same, because notices may be lost."""

import asyncio
from contextlib import suppress
from functools import partial
from uuid import UUID

import structlog
from eventsourcing.persistence import PersistenceError

from api.reads import Reads
from kbstore.errors import KBStoreError
from kbstore.store.database import Database
from kbstore.store.heads import revisions_of
from kbstore.store.notices import NoticeListener, send_notice

FILE_POLL_SECONDS = 0.01
SERVER_POLL_SECONDS = 0.25
NOTICE_SECONDS_MIN = 0.02
log = structlog.get_logger(__name__)


class HeadWatch:
    """Wakes those who wait for a revision; used from one event loop alone.

    While nobody waits nothing is looked for. However many wait, one statement looks for all.
    """

    def __init__(self, database: Database, reads: Reads, *, has_notices: bool = True) -> None:
        self._database = database
        self._reads = reads
        self._has_notices = has_notices and not database.is_file
        self._poll_seconds = FILE_POLL_SECONDS if database.is_file else SERVER_POLL_SECONDS
        self._waiting: dict[UUID, set[_Waiter]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._look_now = asyncio.Event()
        self._announcing: set[UUID] = set()
        self._announcements: set[asyncio.Task[None]] = set()
        self._listener: NoticeListener | None = None

    async def beyond(self, kb_id: UUID, revision: int, seconds_max: float) -> int | None:
        """The head's revision as soon as it is above `revision`; None when it is not in time."""
        waiter = _Waiter(revision)
        waiters = self._waiting.setdefault(kb_id, set())
        waiters.add(waiter)
        self._start()
        self._look_now.set()
        try:
            async with asyncio.timeout(seconds_max):
                return await waiter.woken
        except TimeoutError:
            return None
        finally:
            waiters.discard(waiter)
            if not waiters and self._waiting.get(kb_id) is waiters:
                del self._waiting[kb_id]

    def moved(self, kb_id: UUID, revision: int) -> None:
        """A commit of this process: wakes who waits here, and tells the other processes."""
        self._wake(kb_id, revision)
        if self._has_notices and kb_id not in self._announcing:
            self._announcing.add(kb_id)
            task = asyncio.create_task(self._announce(kb_id))
            self._announcements.add(task)
            task.add_done_callback(self._announcements.discard)

    async def close(self) -> None:
        if self._listener is not None:
            await asyncio.to_thread(self._listener.close)
        tasks = [*self._announcements, *([self._looking] if self._looking else [])]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    def _start(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        if self._has_notices and self._listener is None:
            loop = asyncio.get_running_loop()

            def heard(kb_id: UUID) -> None:
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(self._heard, kb_id)

            self._listener = NoticeListener(self._database, heard)

    def _heard(self, kb_id: UUID) -> None:
        if kb_id in self._waiting:
            self._look_now.set()

    async def _announce(self, kb_id: UUID) -> None:
        """One notice for all commits of a moment."""
        await asyncio.sleep(NOTICE_SECONDS_MIN)
        self._announcing.discard(kb_id)
        try:
            await self._reads.run(lambda connection: send_notice(connection, kb_id))
        except (PersistenceError, KBStoreError) as error:
            # They look for themselves.
            log.warning("notice_failed", error=str(error))

    async def _look(self) -> None:
        """Looks as long as somebody waits."""
        while self._waiting:
            self._look_now.clear()
            try:
                found = await self._reads.run(partial(revisions_of, kb_ids=tuple(self._waiting)))
            except (PersistenceError, KBStoreError) as error:
                log.warning("heads_unknown", error=str(error))
            else:
                for kb_id, revision in found.items():
                    self._wake(kb_id, revision)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._look_now.wait()

    def _wake(self, kb_id: UUID, revision: int) -> None:
        for waiter in self._waiting.get(kb_id, ()):
            if revision > waiter.revision and not waiter.woken.done():
                waiter.woken.set_result(revision)


class _Waiter:
    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.woken: asyncio.Future[int] = asyncio.get_running_loop().create_future()
