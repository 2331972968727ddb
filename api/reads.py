"""Where reads run: SQLite's short ones in the event loop, everything else beside it."""

from collections.abc import Callable
from typing import TypeVar

from eventsourcing.persistence import PersistenceError

from api.pool import ThreadPool
from kbstore.store.connection import Connection
from kbstore.store.database import Database

T = TypeVar("T")
Work = Callable[[Connection], T]


class Reads:
    """Runs what needs a connection to read from.

    A short read of a SQLite file takes less time than handing it to another thread would. One
    of a server waits for the network, so it always goes to a thread.
    """

    def __init__(self, database: Database, long: ThreadPool, short: ThreadPool) -> None:
        self._database = database
        self._long = long
        self._short = short

    async def run(self, work: Work[T], *, is_long: bool = False) -> T:
        """What `work` returns or raises. `is_long`: it may take more than a few milliseconds.

        Raises OverloadedError when too many wait. A read whose connection was lost is run once
        more on another.
        """
        if self._database.is_file and not is_long:
            return work(self._database.reader())
        pool = self._long if is_long else self._short
        return await pool.run(lambda: self._in_thread(work))

    def _in_thread(self, work: Work[T]) -> T:
        connection = self._database.reader()
        try:
            return work(connection)
        except PersistenceError:
            if not connection.is_lost:
                raise
        return work(self._database.reader())
