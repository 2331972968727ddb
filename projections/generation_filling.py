"""Filling a generation from the log, batch by batch; what was filled stays filled."""

import time
from collections import deque
from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from kbstore.domain.events import Event
from kbstore.store.connection import Connection
from kbstore.store.projecting import InlineProjections
from kbstore.store.texts import TextReader
from projections.generation_progress import Filled, keep_filled, lock_filled
from projections.log import Stretch, next_stretches
from projections.pace import Pace
from projections.progress import Progress


class _Part(Struct, frozen=True):
    """A stretch of the log with its events as today's types."""

    stretch: Stretch
    events: Sequence[Event]


class Filler:
    """Fills generations of one knowledge base. The log is read over `source`, rows go to
    `target`: two connections, of one database."""

    def __init__(
        self, source: Connection, target: Connection, projections: InlineProjections, kb_id: UUID
    ) -> None:
        self._source = source
        self._target = target
        self._projections = projections
        self._texts = TextReader(source, kb_id)

    def fill(self, filled: Filled, to_revision: int, pace: Pace, progress: Progress) -> Filled:
        """Fills on from where it is up to a revision; gives where it is then.

        Each batch is a transaction that keeps the mark too, and no longer than `pace` says: a
        commit of many events is spread over several. `progress` hears of revisions. Raises
        DatabaseInUseError when somebody else fills the same generation.
        """
        while filled.revision < to_revision:
            ahead = deque(self._read(filled, to_revision))
            while ahead:
                filled = self._batch(filled, ahead, pace.transaction_seconds)
                progress(filled.revision, to_revision)
                pace.pause()
        return filled

    def apply_rest(self, filled: Filled, to_revision: int) -> Filled:
        """The same within the open transaction."""
        while filled.revision < to_revision:
            for part in self._read(filled, to_revision):
                filled = self._apply(filled, part)
        return filled

    def _batch(self, filled: Filled, ahead: deque[_Part], seconds: float) -> Filled:
        target = self._target
        with target.writing(is_pipelined=True):
            lock_filled(target, filled)
            end = time.perf_counter() + seconds
            filled = self._apply(filled, ahead.popleft())
            while ahead and time.perf_counter() < end:
                filled = self._apply(filled, ahead.popleft())
            keep_filled(target, filled)
        return filled

    def _apply(self, filled: Filled, part: _Part) -> Filled:
        stretch = part.stretch
        self._projections.apply(
            self._target,
            filled.generation,
            stretch.commit,
            stretch.first_position,
            part.events,
            self._texts,
        )
        revision = stretch.commit.revision if stretch.ends_commit else filled.revision
        return replace(filled, revision=revision, position=stretch.last_position)

    def _read(self, filled: Filled, to_revision: int) -> list[_Part]:
        """What comes next; read and decoded before any lock is taken for it."""
        return [
            _Part(stretch, [event.decode() for event in stretch.events])
            for stretch in next_stretches(
                self._source, filled.kb_id, filled.revision, filled.position, to_revision
            )
        ]
