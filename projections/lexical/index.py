"""One index in memory: it follows the rows of a generation and hands out views of itself.

What it holds is filed under digests of commits that were read in the transaction at hand, as
all that is kept between reads. So it serves every process and every connection, and a history
that is another one is noticed.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import cast

from msgspec import Struct
from sqlalchemy import bindparam, select

from kbstore.errors import ProjectionBehindError, SearchTimeoutError
from kbstore.store.commits import Head
from kbstore.store.connection import Queryable
from kbstore.store.statements import Row, Statement, Values
from kbstore.store.tables import commits
from projections.caching import LruCache
from projections.intervals import of_kb
from projections.lexical.changes import decode_changes
from projections.lexical.checkpoints import Checkpoints, End, Stretch, iterate_stretches
from projections.lexical.documents import Documents, Known
from projections.lexical.segments import Part, Segment, merged
from projections.lexical.tail import Tail
from projections.lexical.visibility import Visible, VisibleKey
from projections.tables import activity, search_documents

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


# Every event of a page has a row; the first one is that of the first page.
_FIRST_ROW = Statement(
    select(_S.position)
    .where(of_kb(search_documents), _S.position >= bindparam("position"))
    .order_by(_S.position)
    .limit(1)
)
_FIRST_EVENT = Statement(
    select(activity.c.position)
    .where(
        of_kb(activity),
        activity.c.position >= bindparam("position"),
        activity.c.page_id.is_not(None),
    )
    .order_by(activity.c.position)
    .limit(1)
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
            raise _took_too_long()


def _took_too_long() -> SearchTimeoutError:
    return SearchTimeoutError("The search took too long; try again, or with longer words.")


class View(Struct, frozen=True):
    """An index up to a head, or further: what lies behind is passed over by its number.

    `visible` keeps what readers see of the same states from one search to the next.
    """

    parts: tuple[Part, ...]
    documents: Known
    visible: LruCache[VisibleKey, Visible]


class _Sealed(Struct, frozen=True):
    """A segment, and the last row of it."""

    segment: Segment
    end: End


class Index:
    """Safe to share between threads. One of them follows the rows at a time; searching needs
    no lock. Begins with the checkpoints that are kept, unless it is to be made of rows alone."""

    def __init__(self, *, is_of_rows: bool = False) -> None:
        self._lock = threading.Lock()
        self._is_begun = False
        self._is_of_rows = is_of_rows
        self._sealed: list[_Sealed] = []
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
        SearchTimeoutError; what was followed until then stays. Raises ProjectionBehindError
        where the generation has pages that a program without this index has written.
        """
        if not self._lock.acquire(timeout=deadline.seconds_left):
            raise _took_too_long()
        try:
            if head.revision > self._covered:
                if not self._is_continued_by(connection, head):
                    return None
                if not self._is_begun:
                    self._begin(connection, head, deadline)
                self._follow(connection, head, deadline)
            elif self._digests.get(head.revision) != head.digest:
                return None
            segments = [sealed.segment for sealed in self._sealed]
            parts: tuple[Part, ...] = (*segments, self._tail.part())
            return View(parts, self._documents.known(), self._visible)
        finally:
            self._lock.release()

    def stretches(self) -> Iterator[Stretch]:
        """All that was followed, in stretches as long as they may be, each to become a
        checkpoint. For an index that nobody else uses."""
        sealed = list(self._sealed)
        if self._tail.count:
            sealed.append(_Sealed(self._tail.part().sealed(), self._end))
        while sealed:
            some, documents = 0, 0
            while some < len(sealed) and (
                not some or documents + sealed[some].segment.count <= MERGED_DOCUMENTS_MAX
            ):
                documents += sealed[some].segment.count
                some += 1
            segment = merged([each.segment for each in sealed[:some]])
            part = self._documents.part(segment.first, segment.count)
            yield Stretch(segment, part, sealed[some - 1].end)
            del sealed[:some]

    def _begin(self, connection: Queryable, head: Head, deadline: Deadline) -> None:
        """Looks whether there is a row for each event, and takes what checkpoints there are."""
        _check_filled(connection, head)
        if not self._is_of_rows:
            checkpoints = Checkpoints(connection, head)
            for stretch, digest in iterate_stretches(checkpoints, self._tail.first):
                self._sealed.append(_Sealed(stretch.segment, stretch.end))
                self._documents.extend(stretch.documents)
                self._tail = Tail(stretch.segment.first + stretch.segment.count)
                self._end = stretch.end
                self._digests[stretch.end.revision] = digest
                deadline.check()
        self._is_begun = True

    @property
    def _end(self) -> End:
        return End(self._position, self._in_position, self._touched)

    @_end.setter
    def _end(self, end: End) -> None:
        self._position, self._in_position = end.position, end.rows_at_position
        self._touched = end.revision

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
            position = cast(int, row[0])
            self._in_position = self._in_position + 1 if position == self._position else 1
            self._position = position
            self._touched = cast(int, row[2])
            if self._tail.count == TAIL_DOCUMENTS_MAX:
                self._seal()

    def _seal(self) -> None:
        self._sealed.append(_Sealed(self._tail.part().sealed(), self._end))
        self._tail = Tail(self._tail.first + self._tail.count)
        while len(last := self._sealed[-FAN:]) == FAN and _are_of_a_size(last):
            segment = merged([sealed.segment for sealed in last])
            self._sealed[-FAN:] = [_Sealed(segment, last[-1].end)]

    def _note_digests(self, connection: Queryable, head: Head, first: int, last: int) -> None:
        if first == last == head.revision:
            self._digests[last] = head.digest
        else:
            values: Values = {"kb_id": head.kb_id.bytes, "first": first, "last": last}
            for revision, digest in connection.all(_DIGESTS, values):
                self._digests[cast(int, revision)] = cast(bytes, digest)
        while len(self._digests) > _DIGESTS_KEPT_MAX:
            self._digests.popitem(last=False)


def _are_of_a_size(sealed: list[_Sealed]) -> bool:
    """Whether the segments are of one size and may become one."""
    first = sealed[0].segment.count
    all_equal = all(each.segment.count == first for each in sealed)
    return FAN * first <= MERGED_DOCUMENTS_MAX and all_equal


def _check_filled(connection: Queryable, head: Head) -> None:
    """Raises ProjectionBehindError where events of pages have no rows to search."""
    first: Values = {"kb_id": head.kb_id.bytes, "generation": head.generation, "position": 1}
    event = connection.one(_FIRST_EVENT, first)
    if event is None:
        return
    row = connection.one(_FIRST_ROW, first)
    if row is None or cast(int, row[0]) > cast(int, event[0]):
        raise ProjectionBehindError(
            "The pages of this knowledge base were written by a release without this search; "
            "`kbstore rebuild` makes them found.",
        )
