"""Choices of a step, made by Hypothesis, so that a failing story shrinks."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Draw:
    """Draws numbers, and picks with them; the smallest choice is always the first one."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def number(self, low: int, high: int) -> int:
        return int(self._data.draw(st.integers(low, high)))

    def pick(self, items: Sequence[T]) -> T:
        return items[self.number(0, len(items) - 1)]

    def chance(self, percent: int) -> bool:
        """True in about this many of a hundred cases; false is the simpler choice."""
        return self.number(0, 99) >= 100 - percent

    def some(self, items: Sequence[T]) -> tuple[T, ...]:
        """At least one of the items, in their order."""
        chosen = self.number(1, (1 << len(items)) - 1)
        return tuple(item for index, item in enumerate(items) if chosen >> index & 1)
