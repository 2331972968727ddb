"""The documents of an index: what each row says besides its terms.

A document is one version of a page or one event of a note, its subject. Documents are numbered
in the order of commits, so those up to a revision are those below a number.
"""

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kbstore.store.statements import Row, Value
from projections.lexical.growing import Growing

Flags: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.int32]

PAGE, SCOPE_PAGE, NOTE = 0, 1, 2
"""The kinds of subjects."""

_ID_BYTES = 16
_Column: TypeAlias = Growing[np.int64] | Growing[np.int32] | Growing[np.bool_]

DocumentRow: TypeAlias = tuple[
    int, bytes, int, int, str | None, str | None, bytes | None, str | None, int, bytes | None
]
"""Position, subject, revision, has_ended, scope, phrase, page, stamps, ranked_at, changes."""


class Known(Struct, frozen=True):
    """Documents as they were when this was taken; arrays go by document but for `kinds` and
    `ids`, which go by subject. `names`, `addresses`, `stamps` and `ids` may have grown since.

    `subjects_known` says how many subjects there are up to each document. `scopes` are numbers
    of `addresses`, `stamp_sets` of `stamps`, `pages` the subject of a note's page.
    """

    revisions: NDArray[np.int64]
    subjects: Numbers
    subjects_known: Numbers
    has_ended: Flags
    scopes: Numbers
    stamp_sets: Numbers
    pages: Numbers
    times: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    names: Sequence[str | None]
    addresses: Sequence[str]
    stamps: Sequence[str]
    ids: Sequence[bytes]

    def up_to(self, revision: int) -> int:
        """How many documents there are up to a revision."""
        return int(np.searchsorted(self.revisions, revision, side="right"))

    def subjects_up_to(self, documents: int) -> int:
        return int(self.subjects_known[documents - 1]) if documents else 0

    def last_of_each(self, documents: int, subjects: int) -> Numbers:
        """The last of the first so many documents of each subject, -1 where it has none."""
        last = np.full(subjects, -1, np.int32)
        # Of several values for one place, the last is what stays.
        last[self.subjects[:documents]] = np.arange(documents, dtype=np.int32)
        return last


class DocumentsPart(Struct, frozen=True, array_like=True):
    """Documents that follow each other, and the subjects that are new with them, as bytes.

    `addresses` and `stamps` are all that numbers stand for, those of earlier documents too.
    """

    ids: bytes
    kinds: bytes
    addresses: list[str]
    stamps: list[str]
    names: list[str | None]
    columns: list[bytes]


class Documents:
    """Takes rows in their order; one thread at a time may append."""

    def __init__(self) -> None:
        self._subject_numbers: dict[bytes, int] = {}
        self._scope_numbers: dict[str, int] = {}
        self._stamp_numbers: dict[str, int] = {}
        self._ids: list[bytes] = []
        self._addresses: list[str] = []
        self._stamps: list[str] = []
        self._names: list[str | None] = []
        self._kinds = Growing(np.uint8)
        self._revisions = Growing(np.int64)
        self._subjects = Growing(np.int32)
        self._subjects_known = Growing(np.int32)
        self._has_ended = Growing(np.bool_)
        self._scopes = Growing(np.int32)
        self._stamp_sets = Growing(np.int32)
        self._pages = Growing(np.int32)
        self._times = Growing(np.int64)

    def append(self, rows: Sequence[Row]) -> None:
        """The next documents, as DocumentRow."""
        found: list[tuple[int, ...]] = []
        kinds: list[int] = []
        for row in rows:
            _, subject, revision, ended, scope, phrase, page, stamps, time, _ = cast(
                DocumentRow, row
            )
            number = self._subject_numbers.get(subject)
            if number is None:
                number = self._subject_numbers[subject] = len(self._ids)
                self._ids.append(subject)
                kinds.append(_kind(page, phrase))
            found.append(
                (
                    revision,
                    number,
                    len(self._ids),
                    ended,
                    _number(self._scope_numbers, self._addresses, scope),
                    _number(self._stamp_numbers, self._stamps, stamps),
                    0 if page is None else self._subject_numbers[page],
                    time,
                )
            )
            self._names.append(phrase)
        self._kinds.extend(kinds)
        for column, values in zip(self._columns, zip(*found, strict=True), strict=True):
            column.extend(values)

    def part(self, first: int, count: int) -> DocumentsPart:
        """So many documents from one on, of those that are there."""
        end = first + count
        known = self._subjects_known.part
        before, after = (int(known[number - 1]) if number else 0 for number in (first, end))
        return DocumentsPart(
            b"".join(self._ids[before:after]),
            self._kinds.part[before:after].tobytes(),
            list(self._addresses),
            list(self._stamps),
            self._names[first:end],
            [column.part[first:end].astype(_stored(column)).tobytes() for column in self._columns],
        )

    def extend(self, part: DocumentsPart) -> None:
        """The next documents, as `part` gave them of documents from the same rows."""
        for data in _split_ids(part.ids):
            self._subject_numbers[data] = len(self._ids)
            self._ids.append(data)
        for numbers, values, stored in (
            (self._scope_numbers, self._addresses, part.addresses),
            (self._stamp_numbers, self._stamps, part.stamps),
        ):
            for value in stored[len(values) :]:
                _number(numbers, values, value)
        self._names += part.names
        self._kinds.extend(np.frombuffer(part.kinds, np.uint8))
        for column, stored_column in zip(self._columns, part.columns, strict=True):
            column.extend(np.frombuffer(stored_column, _stored(column)))

    @property
    def _columns(self) -> tuple[_Column, ...]:
        return (
            self._revisions,
            self._subjects,
            self._subjects_known,
            self._has_ended,
            self._scopes,
            self._stamp_sets,
            self._pages,
            self._times,
        )

    def known(self) -> Known:
        """All that is there now."""
        return Known(
            self._revisions.part,
            self._subjects.part,
            self._subjects_known.part,
            self._has_ended.part,
            self._scopes.part,
            self._stamp_sets.part,
            self._pages.part,
            self._times.part,
            self._kinds.part,
            self._names,
            self._addresses,
            self._stamps,
            self._ids,
        )


def _stored(column: _Column) -> np.dtype[np.generic]:
    """How the values of a column lie in bytes."""
    return column.part.dtype.newbyteorder("<")


def _split_ids(ids: bytes) -> list[bytes]:
    return [ids[start : start + _ID_BYTES] for start in range(0, len(ids), _ID_BYTES)]


def _kind(page: Value, phrase: Value) -> int:
    if page is not None:
        return NOTE
    return SCOPE_PAGE if phrase is None else PAGE


def _number(numbers: dict[str, int], values: list[str], value: str | None) -> int:
    """The number of a value, a new one where it is new; 0 for none."""
    if value is None:
        return 0
    number = numbers.get(value)
    if number is None:
        number = numbers[value] = len(values)
        values.append(value)
    return number
