"""A part of a list, and where the next one goes on."""

from typing import Generic, TypeVar

from msgspec import Struct

from kbstore.errors import ValidationError

T = TypeVar("T")
K = TypeVar("K")


class Slice(Struct, Generic[T, K], frozen=True, kw_only=True):
    """`after` is what the next call takes; None at the end of the list. A feed may give few
    items or none and still go on: it stops looking after a bounded number of rows."""

    items: tuple[T, ...]
    after: K | None


def stale_key() -> ValidationError:
    """The refusal of an `after` that no list of this snapshot can have given."""
    return ValidationError(
        "The cursor does not belong to this list.", field="cursor", reason="mismatch"
    )
