"""One index in memory: it follows the rows of a generation and hands out views of itself.

What it holds is filed under digests of commits that were read in the transaction at hand, as
all that is kept between reads. So it serves every process and every connection, and a history
that is another one is noticed.
"""

import threading
import time
from collections import OrderedDict
from typing import cast

from msgspec import Struct
from sqlalchemy import bindparam, select

from kbstore.errors import SearchTimeoutError
from kbstore.store.commits import Head
from kbstore.store.connection import Queryable
from kbstore.store.statements import Row, Statement, Values
from kbstore.store.tables import commits
from projections.caching import LruCache
from projections.intervals import of_kb
from projections.lexical.changes import decode_changes
from projections.lexical.documents import Documents, Known
from projections.lexical.segments import Part, Segment, merged
from projections.lexical.tail import Tail
from projections.lexical.visibility import Visible, VisibleKey
from projections.tables import search_documents

TAIL_DOCUMENTS_MAX = 2_048
"""How many documents the tail has when it is sealed."""

FAN = 8
"""How many segments of a size become one."""

MERGED_DOCUMENTS_MAX = 1 << 19
_ROWS_READ_MAX = 500
_DIGESTS_KEPT_MAX = 16_384
_VISIBLE_KEPT_MAX = 16
_S = search_documents.c

_ROWS = Statement(
    select(
        _S.position,
        _S.subject_id,
        _S.revision,
        _S.has_ended,
        _S.scope,
        _S.phrase,
        _S.page_id,
        _S.stamps,
        _S.ranked_at,
        _S.changes,
    )
    .where(
        of_kb(search_documents),
        _S.position >= bindparam("position"),
        _S.position <= bindparam("last"),
    )
    .order_by(_S.position, _S.subject_id)
    .limit(bindparam("limit"))
)
_DIGESTS = Statement(
    select(commits.c.revision, commits.c.digest).where(
        commits.c.kb_id == bindparam("kb_id"),
        commits.c.revision >= bindparam("first"),
        commits.c.revision <= bindparam("last"),
    )
)


class Deadline:
    """When a search has to be over. Raises SearchTimeoutError in `check` once it is not."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        if self.seconds_left == 0.0:
            raise SearchTimeoutError("The search took too long; look for longer or fewer words.")


class View(Struct, frozen=True):
    """An index up to a head, or further: what lies behind is passed over by its number.

    `visible` keeps what readers see of the same states from one search to the next.
    """

    parts: tuple[Part, ...]
    documents: Known
    visible: LruCache[VisibleKey, Visible]


class Index:
    """Safe to share between threads. One of them follows the rows at a time; searching needs
    no lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._segments: list[Segment] = []
        self._tail = Tail(0)
        self._documents = Documents()
        self._visible: LruCache[VisibleKey, Visible] = LruCache(_VISIBLE_KEPT_MAX)
        # Rows up to `_position`, of which the last is of the commit `_touched`; all rows up to
        # the revision `_covered`. Digests are those of recent commits.
        self._position = 0
        self._in_position = 0
        self._touched = 0
        self._covered = 0
        self._digests: OrderedDict[int, bytes] = OrderedDict()

    @property
    def covered(self) -> int:
        """The revision up to which all rows were followed."""
        return self._covered

    def view(self, connection: Queryable, head: Head, deadline: Deadline) -> View | None:
        """The index as of a head that is read over `connection`, in one transaction with it.

        None where that head is of another history, or too far behind to tell. Raises
        SearchTimeoutError; what was followed until then stays.
        """
        if not self._lock.acquire(timeout=deadline.seconds_left):
            deadline.check()
            return None
        try:
            if head.revision > self._covered:
                if not self._is_continued_by(connection, head):
                    return None
                self._follow(connection, head, deadline)
            elif self._digests.get(head.revision) != head.digest:
                return None
            parts: tuple[Part, ...] = (*self._segments, self._tail.part())
            return View(parts, self._documents.known(), self._visible)
        finally:
            self._lock.release()

    def _is_continued_by(self, connection: Queryable, head: Head) -> bool:
        """Whether the last commit that was read is one of this history."""
        if not self._touched:
            return True
        values: Values = {
            "kb_id": head.kb_id.bytes,
            "first": self._touched,
            "last": self._touched,
        }
        row = connection.one(_DIGESTS, values)
        return row is not None and row[1] == self._digests[self._touched]

    def _follow(self, connection: Queryable, head: Head, deadline: Deadline) -> None:
        key: Values = {
            "kb_id": head.kb_id.bytes,
            "generation": head.generation,
            "last": head.position,
        }
        while True:
            # A part may have ended among the rows of one event, whose order is fixed.
            limit = _ROWS_READ_MAX + self._in_position
            rows = connection.all(_ROWS, {**key, "position": self._position, "limit": limit})
            new = rows[self._in_position :]
            if new:
                self._take(new)
                self._note_digests(connection, head, self._touched, self._touched)
            if len(new) < _ROWS_READ_MAX:
                break
            deadline.check()
        first = max(self._covered + 1, head.revision - _DIGESTS_KEPT_MAX + 1)
        self._note_digests(connection, head, first, head.revision)
        self._covered = self._touched = head.revision

    def _take(self, rows: list[Row]) -> None:
        self._documents.append(rows)
        for row in rows:
            changes = cast(bytes | None, row[-1])
            if changes is None:
                self._tail.append_nothing()
            else:
                self._tail.append(*decode_changes(changes))
            if self._tail.count == TAIL_DOCUMENTS_MAX:
                self._seal()
            position = cast(int, row[0])
            self._in_position = self._in_position + 1 if position == self._position else 1
            self._position = position
        self._touched = cast(int, rows[-1][2])

    def _seal(self) -> None:
        self._segments.append(self._tail.part().sealed())
        self._tail = Tail(self._tail.first + self._tail.count)
        while len(last := self._segments[-FAN:]) == FAN and _are_of_a_size(last):
            self._segments[-FAN:] = [merged(last)]

    def _note_digests(self, connection: Queryable, head: Head, first: int, last: int) -> None:
        if first == last == head.revision:
            self._digests[last] = head.digest
        else:
            values: Values = {"kb_id": head.kb_id.bytes, "first": first, "last": last}
            for revision, digest in connection.all(_DIGESTS, values):
                self._digests[cast(int, revision)] = cast(bytes, digest)
        while len(self._digests) > _DIGESTS_KEPT_MAX:
            self._digests.popitem(last=False)


def _are_of_a_size(segments: list[Segment]) -> bool:
    """Whether the segments are of one size and may become one."""
    first = segments[0].count
    return FAN * first <= MERGED_DOCUMENTS_MAX and all(s.count == first for s in segments)
