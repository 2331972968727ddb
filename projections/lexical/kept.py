"""The indexes of this process: one for each generation of a knowledge base that was searched."""

import threading

from kbstore.store.commits import Head
from kbstore.store.connection import Queryable
from projections.caching import LruCache
from projections.lexical.index import Deadline, Index, View

INDEXES_KEPT_MAX = 64

_kept: LruCache[tuple[bytes, int], Index] = LruCache(INDEXES_KEPT_MAX)
_lock = threading.Lock()


def view_of(connection: Queryable, head: Head, deadline: Deadline) -> View:
    """The index up to a head that was read over `connection`, in the transaction at hand.

    Follows the rows that are new since the last time, all of them at first. Raises
    SearchTimeoutError; what was followed until then stays.
    """
    key = (head.kb_id.bytes, head.generation)
    with _lock:
        index = _kept.get(key)
        if index is None:
            index = Index()
            _kept.put(key, index)
    view = index.view(connection, head, deadline)
    if view is not None:
        return view
    # Another database has the same knowledge base with another history; or this is an old
    # state, read long ago or on a replica, and then the index of the newer ones is kept.
    other = Index()
    if head.revision > index.covered:
        _kept.put(key, other)
    view = other.view(connection, head, deadline)
    assert view is not None, "a new index fits every history"
    return view


def forget_indexes() -> None:
    """Drops every index kept, as erasing a text demands."""
    _kept.clear()
