"""An array that grows at its end while others read the part they know."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T", bound=np.generic)

_FIRST_CAPACITY = 256


class Growing(Generic[T]):
    """One writer appends; whoever took a part before goes on reading it as it was.

    What was written never changes: a full array is copied into one twice as long.
    """

    def __init__(self, dtype: type[T]) -> None:
        self._array: NDArray[T] = np.zeros(_FIRST_CAPACITY, dtype)
        self.length = 0

    def extend(self, values: ArrayLike) -> None:
        added = np.asarray(values, self._array.dtype)
        end = self.length + len(added)
        if end > len(self._array):
            larger = np.zeros(max(end, 2 * len(self._array)), self._array.dtype)
            larger[: self.length] = self._array[: self.length]
            self._array = larger
        self._array[self.length : end] = added
        self.length = end

    @property
    def part(self) -> NDArray[T]:
        """All that is there now; a view that later additions leave alone."""
        return self._array[: self.length]
