"""Choices of a step, all from one number that Hypothesis draws.

Hypothesis leaves out steps and makes numbers smaller until a failing story is short. Within a
step the choices are evenly spread, which its own draws would not be.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """The choices that follow from a seed; `turn` makes the same seed choose anew later on."""

    def __init__(self, seed: int, turn: int) -> None:
        self._random = Random(seed * 1_000_003 + turn)
        self.is_careful = False

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def pick(self, items: Sequence[T]) -> T:
        return self._random.choice(items)

    def chance(self, percent: int) -> bool:
        """True in about this many of a hundred cases."""
        return self._random.randrange(100) < percent

    def odd(self, percent: int) -> bool:
        """As `chance`, for what mostly ends in a refusal; never true while `is_careful`."""
        return not self.is_careful and self.chance(percent)

    def some(self, items: Sequence[T]) -> tuple[T, ...]:
        """At least one of the items, in their order."""
        chosen = self._random.randint(1, (1 << len(items)) - 1)
        return tuple(item for index, item in enumerate(items) if chosen >> index & 1)
