"""Where work goes that may take longer than a few milliseconds: never into the event loop."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from kbstore.errors import OverloadedError

T = TypeVar("T")


class ThreadPool:
    """A few threads and a bounded queue."""

    def __init__(self, threads: int, waiting_max: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="kbstore-reader")
        self._accepted_max = threads + waiting_max
        self._accepted = 0
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises; OverloadedError at once when too many wait.

        Work that has begun runs to its end, and counts until then, also when nobody waits for
        it any more.
        """
        with self._lock:
            if self._accepted >= self._accepted_max:
                raise OverloadedError("Too many reads are waiting; try again.")
            self._accepted += 1
        future = self._executor.submit(work)
        future.add_done_callback(self._ended)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finishes what was accepted."""
        self._executor.shutdown(wait=True)

    def _ended(self, future: Future[T]) -> None:
        with self._lock:
            self._accepted -= 1
