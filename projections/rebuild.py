"""Rebuilding: the projections filled anew as another generation, which then takes over."""

import time
from contextlib import closing
from uuid import UUID

from msgspec import Struct
from sqlalchemy import bindparam, update

from kbstore.errors import NotFoundError, StoreError
from kbstore.limits import (
    REBUILD_LAST_REST_EVENTS_MAX,
    REBUILD_PASSES_MAX,
    REBUILD_REST_EVENTS_MAX,
)
from kbstore.store.commits import Head
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import lock_head, read_head
from kbstore.store.projecting import InlineProjections
from kbstore.store.statements import Statement
from kbstore.store.tables import heads
from projections.generation_deleting import delete_other_generations
from projections.generation_filling import Filler
from projections.generation_progress import (
    Filled,
    begin_filling,
    find_filled,
    forget_filled,
    keep_filled,
    lock_filled,
)
from projections.lexical.checkpointing import keep_checkpoints
from projections.lexical.checkpoints import PIECE_BYTES_IN_FILE, PIECE_BYTES_ON_SERVER
from projections.pace import Pace, pace_of
from projections.progress import Progress, no_progress

_SET_GENERATION = Statement(
    update(heads)
    .where(heads.c.kb_id == bindparam("kb"))
    .values(generation=bindparam("to_generation"))
)


class Swap(Struct, frozen=True):
    """A generation taking over: for how long no write could begin, and what was still to be
    projected then."""

    milliseconds: float
    events: int


class Rebuilt(Struct, frozen=True, kw_only=True):
    """The generation that is active now, complete up to `revision` when it took over.

    `resumed_from` is the revision up to which a killed rebuild had filled it, None where this
    one began it. `swap` is None where a killed one took over already, and only the rows of the
    generation before were left to delete.
    """

    generation: int
    revision: int
    resumed_from: int | None
    swap: Swap | None


def rebuild(
    database: Database,
    kb_id: UUID,
    projections: InlineProjections,
    progress: Progress = no_progress,
) -> Rebuilt:
    """Fills a new generation from the log and repoints the head to it; then deletes the old,
    and keeps checkpoints of what search has to know of the new one.

    The log is replayed in short batches, so that reads and writes go on in between; only what
    little is left then is applied under the head's lock. A rebuild that was killed is gone on
    with, unless another program began it. Raises NotFoundError without such a knowledge base,
    DatabaseInUseError while another rebuild of it runs, and StoreError when writers are faster:
    what was filled until then stays for the next one. `progress` hears of revisions.
    """
    with (
        database.alone("rebuilding", kb_id),
        database.connected() as connection,
        closing(database.connect_reader()) as source,
    ):
        piece = PIECE_BYTES_IN_FILE if database.is_file else PIECE_BYTES_ON_SERVER
        work = _Rebuild(source, connection, projections, kb_id, pace_of(database), piece)
        return work.run(progress)


class _Rebuild:
    def __init__(
        self,
        source: Connection,
        connection: Connection,
        projections: InlineProjections,
        kb_id: UUID,
        pace: Pace,
        checkpoint_piece: int,
    ) -> None:
        self._source = source
        self._connection = connection
        self._kb_id = kb_id
        self._pace = pace
        self._checkpoint_piece = checkpoint_piece
        self._filler = Filler(source, connection, projections, kb_id)

    def run(self, progress: Progress) -> Rebuilt:
        head = self._head()
        filled = find_filled(self._source, self._kb_id)
        resumed_from = swap = None
        if filled is None or filled.generation != head.generation:
            filled, resumed_from = self._begin(head, filled)
            filled, swap = self._take_over(filled, progress)
        progress(filled.revision, filled.revision)
        delete_other_generations(self._connection, self._kb_id, filled.generation, self._pace)
        keep_checkpoints(
            self._source,
            self._connection,
            self._kb_id,
            filled.generation,
            self._pace,
            self._checkpoint_piece,
        )
        with self._connection.writing():
            forget_filled(self._connection, self._kb_id)
        return Rebuilt(
            generation=filled.generation,
            revision=filled.revision,
            resumed_from=resumed_from,
            swap=swap,
        )

    def _begin(self, head: Head, filled: Filled | None) -> tuple[Filled, int | None]:
        """What a killed rebuild left, and how far that was; else a generation without rows."""
        generation = head.generation + 1
        if filled is not None and filled.generation == generation and filled.is_of_this_program:
            return filled, filled.revision
        # The mark goes first: it must never stand for rows that are being deleted.
        with self._connection.writing():
            forget_filled(self._connection, self._kb_id)
        delete_other_generations(self._connection, self._kb_id, head.generation, self._pace)
        return begin_filling(self._connection, self._kb_id, generation), None

    def _take_over(self, filled: Filled, progress: Progress) -> tuple[Filled, Swap]:
        """Fills until little is left, and takes over with that."""
        for _ in range(REBUILD_PASSES_MAX):
            to_revision = self._head().revision
            filled = self._filler.fill(filled, to_revision, self._pace, progress)
            swapped = self._swap(filled, REBUILD_REST_EVENTS_MAX)
            if swapped is not None:
                return swapped
        swapped = self._swap(filled, REBUILD_LAST_REST_EVENTS_MAX)
        if swapped is None:
            raise StoreError(
                "Writers are faster than the rebuild: it does not catch up with them. Run it "
                "again when fewer write; it goes on where it is.",
                revision=filled.revision,
            )
        return swapped

    def _swap(self, filled: Filled, rest_max: int) -> tuple[Filled, Swap] | None:
        """Applies what was written since, under the head's lock, and repoints the head; None,
        with nothing done, when that is more than `rest_max` events."""
        connection = self._connection
        with connection.writing(is_pipelined=True):
            head = _found(lock_head(connection, self._kb_id))
            started = time.perf_counter()
            rest = head.position - filled.position
            if rest > rest_max:
                return None
            lock_filled(connection, filled)
            filled = self._filler.apply_rest(filled, head.revision)
            keep_filled(connection, filled)
            connection.run(
                _SET_GENERATION,
                {"kb": self._kb_id.bytes, "to_generation": filled.generation},
            )
        return filled, Swap((time.perf_counter() - started) * 1_000, rest)

    def _head(self) -> Head:
        return _found(read_head(self._source, self._kb_id))


def _found(head: Head | None) -> Head:
    if head is None:
        raise NotFoundError("Knowledge base not found.")
    return head
