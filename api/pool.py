"""Where reads go that may take longer than a few milliseconds: never into the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kbstore.errors import OverloadedError

T = TypeVar("T")


class ReadPool:
    """A few threads, each with a database connection of its own, and a bounded queue."""

    def __init__(self, threads: int, waiting_max: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="kbstore-reader")
        self._running_max = threads + waiting_max
        self._running = 0

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises; OverloadedError at once when too many wait.

        Called from one event loop alone. Work whose caller has gone still runs to its end.
        """
        if self._running >= self._running_max:
            raise OverloadedError("Too many long reads are waiting; try again.")
        self._running += 1
        future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        future.add_done_callback(self._ended)
        return await future

    def close(self) -> None:
        """Finishes what was accepted."""
        self._executor.shutdown(wait=True)

    def _ended(self, future: asyncio.Future[T]) -> None:
        self._running -= 1
        if not future.cancelled():
            # Whoever waits for it sees the exception; nobody may be waiting any more.
            future.exception()
