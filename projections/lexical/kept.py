"""The indexes of this process: one for each generation of a knowledge base that was searched."""

import threading
from typing import TypeAlias

from msgspec import Struct

from kbstore.store.commits import Head
from kbstore.store.connection import Queryable
from projections.caching import LruCache
from projections.lexical.index import Deadline, Index, View

INDEXES_BYTES_MAX = 1 << 30
"""How much memory the indexes of a process take, by estimate; a larger one is kept alone."""

_INDEX_BYTES_MIN = 1 << 16
_DOCUMENT_BYTES, _SUBJECT_BYTES = 150, 250
_GROWTH = 1.125
"""An index is weighed again when it is so many times as heavy as it was."""

_Key: TypeAlias = tuple[bytes, int]


class _Kept(Struct, frozen=True):
    """An index, and what it weighed when it was put here."""

    index: Index
    nbytes: int


_kept: LruCache[_Key, _Kept] = LruCache(INDEXES_BYTES_MAX, lambda kept: kept.nbytes)
_lock = threading.Lock()


def view_of(connection: Queryable, head: Head, deadline: Deadline) -> View:
    """The index up to a head that was read over `connection`, in the transaction at hand.

    Follows the rows that are new since the last time, all of them at first. Raises
    SearchTimeoutError; what was followed until then stays.
    """
    key = (head.kb_id.bytes, head.generation)
    with _lock:
        kept = _kept.get(key)
        if kept is None:
            kept = _Kept(Index(), _INDEX_BYTES_MIN)
            _kept.put(key, kept)
    view = kept.index.view(connection, head, deadline)
    if view is not None:
        _weigh_again(key, kept, view)
        return view
    # Another database has the same knowledge base with another history; or this is an old
    # state, read long ago or on a replica, and then the index of the newer ones is kept.
    other = _Kept(Index(), _INDEX_BYTES_MIN)
    if head.revision > kept.index.covered:
        with _lock:
            _kept.put(key, other)
    view = other.index.view(connection, head, deadline)
    assert view is not None, "a new index fits every history"
    _weigh_again(key, other, view)
    return view


def _weigh_again(key: _Key, kept: _Kept, view: View) -> None:
    """Tells what an index weighs now, where it is still the one that is kept."""
    now = min(bytes_of(view), INDEXES_BYTES_MAX)
    if now <= kept.nbytes * _GROWTH:
        return
    with _lock:
        there = _kept.get(key)
        if there is not None and there.index is kept.index:
            _kept.put(key, _Kept(kept.index, now))


def bytes_of(view: View) -> int:
    """About how much memory the index of a view takes."""
    documents = view.documents
    found = _DOCUMENT_BYTES * len(documents.revisions) + _SUBJECT_BYTES * len(documents.kinds)
    return found + sum(part.nbytes for part in view.parts)


def forget_indexes() -> None:
    """Drops every index kept, as erasing a text demands."""
    _kept.clear()
