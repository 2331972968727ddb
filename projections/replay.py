"""Replaying: the rows that a stretch of the log gives, written again."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from uuid import UUID

from kbstore.store.connection import Connection
from kbstore.store.projecting import InlineProjections
from kbstore.store.texts import TextReader
from projections.log import read_commits, read_events
from projections.progress import Progress, no_progress

COMMITS_PER_BATCH = 1_000


def replay(
    source: Connection,
    kb_id: UUID,
    target: Connection,
    generation: int,
    projections: InlineProjections,
    from_revision: int,
    to_revision: int,
    progress: Progress = no_progress,
) -> None:
    """Projects the commits of these revisions, both ends included, into a generation.

    The rows of all earlier revisions must stand there already. Each batch is a transaction of
    the target, unless one is open already; no more than one commit's events and one batch's
    commits are held in memory. Source and target may be the same connection. `progress`
    hears of revisions.
    """
    texts = TextReader(source, kb_id)
    for first in range(from_revision, to_revision + 1, COMMITS_PER_BATCH):
        last = min(first + COMMITS_PER_BATCH - 1, to_revision)
        with _transaction(target):
            commits = list(read_commits(source, kb_id, first, last))
            if not commits:
                continue
            end = commits[-1].first_position + commits[-1].event_count - 1
            with closing(read_events(source, kb_id, commits[0].first_position, end)) as stored:
                for commit in commits:
                    events = [event.decode() for event in islice(stored, commit.event_count)]
                    projections.apply(
                        target, generation, commit, commit.first_position, events, texts
                    )
        progress(last, to_revision)


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    if connection.in_transaction:
        yield
        return
    connection.begin_write()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
