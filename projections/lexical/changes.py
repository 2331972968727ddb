"""What one event changed of the terms of a page or a note, as a row holds it.

A change of a term counts in three fields: name, description and body (the text of a note is a
body). Sums over the rows of a subject, up to a revision, give what it held there, so no row is
ever closed or updated. A row stands for itself: terms are spelt out, and nothing is shared.
"""

import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kbstore.text.terms import Terms
from kbstore.texts import COMPRESS_BYTES_MIN, deflate

NAME_UNIT = 1 << 44
DESCRIPTION_UNIT = 1 << 28
BODY_UNIT = 1
"""One occurrence in each field, in the integer a row holds for a term."""

_PLAIN, _DEFLATED = b"\0", b"\1"
_COUNT = np.dtype("<u4")
_CHANGE = np.dtype("<i8")

Changes = dict[str, int]


def changes_between(fields: Iterable[tuple[int, Terms, Terms]]) -> Changes:
    """The changes of the terms, for each field its unit, its terms before and its terms after.

    What is new comes first, in the order of the text.
    """
    changes: Changes = {}
    for unit, before, after in fields:
        for terms, sign in ((after, unit), (before, -unit)):
            for term, count in terms.items():
                changes[term] = changes.get(term, 0) + sign * count
    return {term: change for term, change in changes.items() if change}


def encode_changes(changes: Changes) -> bytes | None:
    """The changes as a row holds them, deflated where it pays; None where there are none.

    A byte says whether the rest is deflated. Then come the number of terms (u32), their changes
    (i64 each) and the terms, parted by line ends; little-endian.
    """
    if not changes:
        return None
    raw = b"".join(
        (
            np.array([len(changes)], _COUNT).tobytes(),
            np.array(list(changes.values()), _CHANGE).tobytes(),
            "\n".join(changes).encode(),
        )
    )
    if len(raw) <= COMPRESS_BYTES_MIN:
        return _PLAIN + raw
    data, deflated = deflate(raw)
    return (_DEFLATED if deflated else _PLAIN) + data


def decode_changes(data: bytes) -> tuple[list[bytes], NDArray[np.int64]]:
    """The terms in UTF-8, and the change of each."""
    raw = data[1:] if data[:1] == _PLAIN else zlib.decompress(data[1:])
    count = int(np.frombuffer(raw, _COUNT, 1)[0])
    start = _COUNT.itemsize + count * _CHANGE.itemsize
    packed = np.frombuffer(raw, _CHANGE, count, _COUNT.itemsize)
    terms = raw[start:].split(b"\n")
    assert len(terms) == count, "a row of terms says how many there are"
    return terms, packed.astype(np.int64)


def plain_changes(data: bytes) -> bytes:
    """The bytes to compare rows by: releases of zlib need not deflate alike. What cannot be
    inflated stays as it is."""
    if data[:1] != _DEFLATED:
        return data
    try:
        return _PLAIN + zlib.decompress(data[1:])
    except zlib.error:
        return data


def unpack(packed: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """The changes in name, description and body of packed ones."""
    body = _lowest(packed, DESCRIPTION_UNIT)
    rest = (packed - body) >> 28
    description = _lowest(rest, NAME_UNIT // DESCRIPTION_UNIT)
    return (rest - description) >> 16, description, body


def _lowest(packed: NDArray[np.int64], modulus: int) -> NDArray[np.int64]:
    """The lowest field, which is signed."""
    half = modulus >> 1
    return ((packed + half) & (modulus - 1)) - half
