"""A stretch of an index as bytes: a sealed segment, and what its documents say besides terms.

Numbers of subjects, scopes and stamps go by the order of rows, so those of a stretch fit every
index that has the rows before it. Arrays are little-endian, and are read where they lie.
"""

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from projections.lexical.documents import DocumentsPart
from projections.lexical.segments import Segment
from projections.lexical.vocabulary import Vocabulary

FORMAT = 1
"""Counts up when stretches of an earlier program can no longer be read, or when an index that
is made from the same rows would be another one."""

_LENGTH = np.dtype("<u4")
_POSTING = np.dtype("<u4")


class _Stored(Struct, frozen=True, array_like=True):
    """`line_lengths` are those of the terms in `text`, `list_lengths` of their postings."""

    first: int
    count: int
    text: bytes
    line_lengths: bytes
    list_lengths: bytes
    postings: bytes
    documents: DocumentsPart


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Stored)


def encode_stretch(segment: Segment, documents: DocumentsPart) -> bytes:
    """A segment with the part of its documents."""
    vocabulary = segment.vocabulary
    lines = np.diff(vocabulary.starts, append=len(vocabulary.text))
    stored = _Stored(
        segment.first,
        segment.count,
        vocabulary.text.tobytes(),
        lines.astype(_LENGTH).tobytes(),
        np.diff(segment.starts).astype(_LENGTH).tobytes(),
        segment.postings.astype(_POSTING).tobytes(),
        documents,
    )
    return _encoder.encode(stored)


def decode_stretch(data: bytes) -> tuple[Segment, DocumentsPart]:
    """The same from bytes that `encode_stretch` gave."""
    stored = _decoder.decode(data)
    line_ends = _sums(stored.line_lengths)
    # The first line is empty: the text begins with a line end.
    vocabulary = Vocabulary(np.frombuffer(stored.text, np.uint8), line_ends[:-1] + 1)
    postings = np.frombuffer(stored.postings, _POSTING)
    segment = Segment(stored.first, stored.count, vocabulary, _sums(stored.list_lengths), postings)
    return segment, stored.documents


def _sums(lengths: bytes) -> NDArray[np.int64]:
    """Where each one begins, and where the last one ends."""
    values = np.frombuffer(lengths, _LENGTH)
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums
