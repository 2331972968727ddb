"""What events say, whatever ids their commit made up for what is new."""

from collections.abc import Iterable
from uuid import UUID

import msgspec
from msgspec import UNSET

from kbstore.domain.events import Event


def plan(events: Iterable[Event], known: set[UUID]) -> list[object]:
    """The events as plain values; an id that is not `known` becomes the number of its first
    appearance, and what proves a text is left out."""
    numbers: dict[UUID, str] = {}

    def plain(value: object) -> object:
        if isinstance(value, UUID):
            if value in known:
                return str(value)
            return numbers.setdefault(value, f"new {len(numbers)}")
        if isinstance(value, bytes):
            return None
        if isinstance(value, tuple):
            return [plain(item) for item in value]
        if isinstance(value, msgspec.Struct):
            fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
            return {name: plain(item) for name, item in fields if item is not UNSET}
        return value

    return [[event.topic, plain(event)] for event in events]
