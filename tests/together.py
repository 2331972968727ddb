"""Things done at the same moment, by threads that wait for each other before they start."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from kbstore.errors import KBStoreError

T = TypeVar("T")


class Together:
    """Runs up to `count` things at once, round after round, in the same threads."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self._executor = executor

    def run(self, work: Sequence[Callable[[], T]]) -> list[T | KBStoreError]:
        """What each came to, in order; a refusal of the store is given, not raised."""
        start = threading.Barrier(len(work))

        def one(do: Callable[[], T]) -> T | KBStoreError:
            start.wait()
            try:
                return do()
            except KBStoreError as refusal:
                return refusal

        return list(self._executor.map(one, work))


@contextmanager
def racing(count: int) -> Iterator[Together]:
    with ThreadPoolExecutor(count, thread_name_prefix="racer") as executor:
        yield Together(executor)


def winners(outcomes: Sequence[T | KBStoreError]) -> list[T]:
    return [outcome for outcome in outcomes if not isinstance(outcome, KBStoreError)]


def codes(outcomes: Sequence[T | KBStoreError]) -> list[str]:
    """The codes of the refusals."""
    return sorted(outcome.code for outcome in outcomes if isinstance(outcome, KBStoreError))
