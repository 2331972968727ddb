"""What a verification found."""

from msgspec import Struct

FAILURES_KEPT_MAX = 100
"""The failures a report lists; a torn log may have one for each of its events."""


class Failure(Struct, frozen=True):
    """One thing that does not hold: what is wrong, and where it is."""

    what: str
    where: str


class Report(Struct, frozen=True, kw_only=True):
    """A knowledge base verified up to a revision; it is sound when nothing failed.

    `checksum` is that of the projection rows as they stand, `content_checksum` that of what
    they say whatever ids and times are, None when something failed. `failed` counts all
    failures, `failures` are the first of them.
    """

    revision: int
    events: int
    checksum: str
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
