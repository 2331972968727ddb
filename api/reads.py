"""Where reads run: SQLite's short ones in the event loop, everything else beside it."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast
from uuid import UUID

import structlog
from eventsourcing.persistence import OperationalError, PersistenceError
from sqlalchemy import bindparam, func, select

from api.pool import ThreadPool
from kbstore.limits import REPLICA_WAIT_SECONDS_MAX
from kbstore.store.catalogue import Standpoint
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.statements import Statement
from kbstore.store.tables import commits, heads

T = TypeVar("T")
Work = Callable[[Connection], T]
log = structlog.get_logger(__name__)

_REACHED = Statement(
    select(
        select(heads.c.revision).where(heads.c.kb_id == bindparam("kb_id")).scalar_subquery(),
        select(commits.c.digest)
        .where(commits.c.kb_id == bindparam("kb_id"), commits.c.revision == bindparam("revision"))
        .scalar_subquery(),
        func.pg_is_in_recovery(),
    )
)
"""Of a replica: its head, its digest of a revision, and whether it still follows somebody."""

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
        self,
        kb_id: UUID,
        head: Standpoint,
        work: Work[T],
        *,
        min_revision: int = 0,
        is_long: bool = False,
    ) -> T:
        """The same, on the replica if it has this head of the knowledge base, or soon will, and
        `min_revision`.

        The head was read on the database itself: then neither what is shown nor who may see it
        can be older than there. A database that was a replica once and goes its own way is none.
        """
        if self._replica is not None and time.monotonic() >= self._replica_paused_until:
            pool = self._pool(is_long)
            deadline = time.monotonic() + REPLICA_WAIT_SECONDS_MAX
            reading = partial(
                _in_thread, self._replica, partial(_if_reached, kb_id, head, min_revision, work)
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
    kb_id: UUID, head: Standpoint, min_revision: int, work: Work[T], connection: Connection
) -> tuple[T] | None:
    """The answer, of a replica that has reached the head and the revision; None from one that
    has not. Raises OperationalError on a database that is no replica of it any more."""
    row = connection.one(_REACHED, {"kb_id": kb_id.bytes, "revision": head.revision})
    assert row is not None, "a query without a table has a row"
    reached, digest, is_replica = row
    if not is_replica or (digest is not None and digest != head.digest):
        raise OperationalError("it has another history than the database, or takes writes")
    if digest is None or cast(int, reached) < min_revision:
        return None
    # What is read after this can only be newer.
    return (work(connection),)


def _in_thread(database: Database, work: Work[T]) -> T:
    connection = database.reader()
    try:
        return work(connection)
    except PersistenceError:
        if not connection.is_lost:
            raise
    return work(database.reader())
