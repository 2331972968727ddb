"""Postings: a document and a small change of a term in it, in 32 bits.

The upper 20 bits are the document's number in its segment, the lower 12 the change: name 3
bits, description 3, body 6, in two's complement. A larger change is several postings.
"""

import numpy as np
from numpy.typing import NDArray

from projections.lexical.changes import unpack

DOCUMENTS_MAX = 1 << 20
"""The documents a segment can tell apart."""

CHANGE_BITS = 12
_NAME_MAX, _DESCRIPTION_MAX, _BODY_MAX = 3, 3, 31

NAME_SHIFT, DESCRIPTION_SHIFT = 38, 25
"""Where sums of name and description begin in a weight; those of the body are at 0.

A float64 is exact up to 2**53. A body of 4 MiB has less than 2**25 occurrences of anything, a
description less than 2**13, a name less than 2**12: one character of three bytes folds to four
words at most, and names and descriptions are short.
"""


def _weights() -> NDArray[np.float64]:
    codes = np.arange(1 << CHANGE_BITS)
    name, description, body = codes >> 9, (codes >> 6) & 7, codes & 63
    name, description = name - 8 * (name > 3), description - 8 * (description > 3)
    body = body - 64 * (body > 31)
    total: NDArray[np.int64] = (name << NAME_SHIFT) + (description << DESCRIPTION_SHIFT) + body
    return total.astype(np.float64)


WEIGHTS = _weights()
"""What each change adds to a sum."""


def postings_of(
    document: int, packed: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64] | None]:
    """The postings of a document for its packed changes.

    Where a change takes several, the second array says which of the changes each one is of.
    """
    fields = unpack(packed)
    limits = (_NAME_MAX, _DESCRIPTION_MAX, _BODY_MAX)
    needed = np.ones(len(packed), np.int64)
    for field, limit in zip(fields, limits, strict=True):
        needed = np.maximum(needed, -(-np.abs(field) // limit))
    if needed.max(initial=1) == 1:
        return _encode(document, *fields), None
    owners = np.repeat(np.arange(len(packed)), needed)
    turns = np.arange(len(owners)) - np.repeat(np.cumsum(needed) - needed, needed)
    parts = [
        np.sign(field[owners]) * np.clip(np.abs(field[owners]) - turns * limit, 0, limit)
        for field, limit in zip(fields, limits, strict=True)
    ]
    return _encode(document, *parts), owners


def _encode(
    document: int,
    name: NDArray[np.int64],
    description: NDArray[np.int64],
    body: NDArray[np.int64],
) -> NDArray[np.uint32]:
    change = ((name & 7) << 9) | ((description & 7) << 6) | (body & 63)
    return ((document << CHANGE_BITS) | change).astype(np.uint32)
