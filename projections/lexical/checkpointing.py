"""Making checkpoints of a whole generation."""

from uuid import UUID

from kbstore.errors import SearchTimeoutError
from kbstore.store.connection import Connection
from kbstore.store.heads import read_head
from projections.lexical.checkpoints import delete_checkpoints, write_checkpoint
from projections.lexical.index import Deadline, Index
from projections.pace import Pace

_STEP_SECONDS = 1.0
"""How long one state of the database is held while rows are read."""


def keep_checkpoints(
    source: Connection, target: Connection, kb_id: UUID, generation: int, pace: Pace, piece: int
) -> None:
    """Replaces the checkpoints of a generation by those of its rows as they are now, in pieces
    of so many bytes; does nothing where it is not the active one.

    Rows are read over `source`, a second at a time; `target` writes. One process at a time may
    do this to a knowledge base.
    """
    index = Index(is_of_rows=True)
    while not _follow(source, kb_id, generation, index):
        pass
    if not index.covered:
        return
    delete_checkpoints(target, kb_id, generation, pace)
    for stretch in index.stretches():
        write_checkpoint(target, kb_id, generation, stretch, pace, piece)


def _follow(source: Connection, kb_id: UUID, generation: int, index: Index) -> bool:
    """Whether there is nothing more to follow."""
    with source.reading():
        head = read_head(source, kb_id)
        if head is None or head.generation != generation:
            return True
        try:
            index.view(source, head, Deadline(_STEP_SECONDS))
        except SearchTimeoutError:
            return False
    return True
