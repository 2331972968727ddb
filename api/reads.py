"""Where reads run: SQLite's short ones in the event loop, everything else beside it."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog
from eventsourcing.persistence import PersistenceError

from api.pool import ThreadPool
from kbstore.limits import REPLICA_WAIT_SECONDS_MAX
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import read_head

T = TypeVar("T")
Work = Callable[[Connection], T]
log = structlog.get_logger(__name__)

_REPLICA_POLL_SECONDS = 0.01
_REPLICA_PAUSE_SECONDS = 1.0
"""How long a replica that was too far behind, or did not answer, is not asked again."""


class Reads:
    """Runs what needs a connection to read from.

    A short read of a SQLite file takes less time than handing it to another thread would. One
    of a server waits for the network, so it always goes to a thread.
    """

    def __init__(
        self,
        database: Database,
        long: ThreadPool,
        short: ThreadPool,
        replica: Database | None = None,
    ) -> None:
        self._database = database
        self._long = long
        self._short = short
        self._replica = replica
        self._replica_paused_until = 0.0

    async def run(self, work: Work[T], *, is_long: bool = False) -> T:
        """What `work` returns or raises. `is_long`: it may take more than a few milliseconds.

        Raises OverloadedError when too many wait. A read whose connection was lost is run once
        more on another.
        """
        if self._database.is_file and not is_long:
            return work(self._database.reader())
        return await self._pool(is_long).run(lambda: _in_thread(self._database, work))

    async def run_anywhere(
        self, kb_id: UUID, revision: int, work: Work[T], *, is_long: bool = False
    ) -> T:
        """The same, on the replica if it has this revision of the knowledge base, or soon will.

        `revision` is the newest one that the answer may have to know of: then neither what is
        shown nor who may see it can be older than on the database itself.
        """
        if self._replica is not None and time.monotonic() >= self._replica_paused_until:
            pool = self._pool(is_long)
            deadline = time.monotonic() + REPLICA_WAIT_SECONDS_MAX
            reading = partial(
                _in_thread, self._replica, partial(_if_reached, kb_id, revision, work)
            )
            try:
                while time.monotonic() < deadline:
                    answer = await pool.run(reading)
                    if answer is not None:
                        return answer[0]
                    await asyncio.sleep(_REPLICA_POLL_SECONDS)
            except PersistenceError as error:
                log.warning("replica_failed", error=str(error))
            self._replica_paused_until = time.monotonic() + _REPLICA_PAUSE_SECONDS
        return await self.run(work, is_long=is_long)

    def _pool(self, is_long: bool) -> ThreadPool:
        return self._long if is_long else self._short


def _if_reached(
    kb_id: UUID, revision: int, work: Work[T], connection: Connection
) -> tuple[T] | None:
    """The answer, of a database that has reached the revision; None from one that has not."""
    head = read_head(connection, kb_id)
    # What is read after this can only be newer.
    return (work(connection),) if head is not None and head.revision >= revision else None


def _in_thread(database: Database, work: Work[T]) -> T:
    connection = database.reader()
    try:
        return work(connection)
    except PersistenceError:
        if not connection.is_lost:
            raise
    return work(database.reader())
