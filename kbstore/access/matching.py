"""Which of many patterns an address matches, without trying each of them."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from kbstore.access.addresses import Pattern, split_address

T = TypeVar("T")
_Entries = list[tuple[Pattern, T]]
_Tables = dict[tuple[int, ...], dict[tuple[str, ...], _Entries[T]]]


class PatternIndex(Generic[T]):
    """Patterns with a value each, filed by shape: segment count, type, child, fixed positions.

    A look-up costs one dictionary access for each different set of fixed positions among the
    patterns of the address's shape, however many patterns there are.
    """

    def __init__(self, entries: Iterable[tuple[Pattern, T]]) -> None:
        self._shapes: dict[tuple[int, str, str], _Tables[T]] = {}
        for pattern, value in entries:
            shape = (len(pattern.segments), pattern.segments[0], pattern.child)
            positions = pattern.fixed_positions
            table = self._shapes.setdefault(shape, {}).setdefault(positions, {})
            fixed = tuple(pattern.segments[i] for i in positions)
            table.setdefault(fixed, []).append((pattern, value))
        for shape, tables in self._shapes.items():
            self._shapes[shape] = dict(sorted(tables.items(), key=_specificity))

    def find(self, address: str) -> list[tuple[Pattern, T]]:
        """The entries the address matches: most fixed segments first, then those whose fixed
        segments stand further left, then as they were given."""
        segments, child = split_address(address)
        tables = self._shapes.get((len(segments), segments[0], child))
        if tables is None:
            return []
        found: list[tuple[Pattern, T]] = []
        for positions, table in tables.items():
            entries = table.get(tuple([segments[i] for i in positions]))
            if entries is not None:
                found.extend(entries)
        return found


def _specificity(tables: tuple[tuple[int, ...], object]) -> tuple[int, tuple[int, ...]]:
    positions, _ = tables
    return -len(positions), positions
