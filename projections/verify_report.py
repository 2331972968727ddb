"""What a verification found."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct

from kbstore.store.statements import Value

FAILURES_KEPT_MAX = 100
"""The failures a report lists; a torn log may have one for each of its events."""

_ID_BYTES = 16


class Failure(Struct, frozen=True):
    """One thing that does not hold: what is wrong, and where it is."""

    what: str
    where: str


class Report(Struct, frozen=True, kw_only=True):
    """A knowledge base verified up to a revision; it is sound when nothing failed.

    `checksum` is that of the projection rows as they stand, None when they cannot be read;
    `content_checksum` that of what they say whatever ids and times are, None when something
    failed. `failed` counts all failures, `failures` are the first of them. `revision` is 0
    where the head says none.
    """

    revision: int
    events: int
    checksum: str | None
    content_checksum: str | None
    failed: int
    failures: tuple[Failure, ...]


class Failures:
    """Collects failures while the parts are checked."""

    def __init__(self) -> None:
        self.kept: list[Failure] = []
        self.count = 0

    def add(self, what: str, where: str) -> None:
        self.count += 1
        if self.count <= FAILURES_KEPT_MAX:
            self.kept.append(Failure(what, where))


def shown_key(key: Mapping[str, Value]) -> str:
    """The key of a row, as a failure names it."""
    return " ".join(f"{name}={_shown(value)}" for name, value in key.items())


def _shown(value: Value) -> str:
    if not isinstance(value, bytes):
        return str(value)
    return str(UUID(bytes=value)) if len(value) == _ID_BYTES else value.hex()
