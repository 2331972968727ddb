"""A bounded cache that forgets what was used longest ago."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def _one(_: object) -> int:
    return 1


class LruCache(Generic[K, V]):
    """Values up to a total weight, one each unless `weigh` says otherwise; safe to share
    between threads. A value heavier than the whole cache is not kept."""

    def __init__(self, weight_max: int, weigh: Callable[[V], int] = _one) -> None:
        self._weight_max = weight_max
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        weight = self._weigh(value)
        if weight > self._weight_max:
            return
        with self._lock:
            old = self._values.pop(key, None)
            if old is not None:
                self._weight -= self._weigh(old)
            self._values[key] = value
            self._weight += weight
            while self._weight > self._weight_max:
                _, dropped = self._values.popitem(last=False)
                self._weight -= self._weigh(dropped)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._weight = 0

    def __len__(self) -> int:
        return len(self._values)
