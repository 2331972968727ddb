"""A clock that stands, and ids that follow from a name: what two worlds both do gets the same
times and the same ids in both, whatever else was done in between."""

from hashlib import sha256
from itertools import count
from uuid import UUID

START = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z, in UTC microseconds."""
STEP = 1_000_000
"""From one thing that both worlds do to the next."""


class SetClock:
    """Shows the time it was set to."""

    def __init__(self) -> None:
        self.micros = START

    def now(self) -> int:
        return self.micros


class NamedIds:
    """UUIDv7 by the clock's time; the rest follows from a name and from how many were made."""

    def __init__(self, clock: SetClock) -> None:
        self._clock = clock
        self._name = ""
        self._numbers = count()

    def begin(self, name: str) -> None:
        """What is made from now on follows from this name."""
        self._name = name
        self._numbers = count()

    def new_id(self) -> UUID:
        number = next(self._numbers)
        head = (self._clock.now() // 1_000) << 16 | 7 << 12 | number & 0xFFF
        tail = int.from_bytes(self._hash(number)[:8], "big") >> 2
        return UUID(int=head << 64 | 0b10 << 62 | tail)

    def new_salt(self) -> bytes:
        return self._hash(next(self._numbers))[:16]

    def _hash(self, number: int) -> bytes:
        return sha256(f"{self._name}\n{number}".encode()).digest()
