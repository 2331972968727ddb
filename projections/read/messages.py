"""The messages of commits, where the reader sees the whole commit."""

from collections.abc import Collection
from typing import cast

from sqlalchemy import bindparam, select

from kbstore.store.statements import Statement
from kbstore.store.tables import commits
from projections.read.event_rows import all_readable
from projections.snapshot import Snapshot

_WITH_MESSAGE = Statement(
    select(
        commits.c.revision, commits.c.first_position, commits.c.event_count, commits.c.message
    ).where(
        commits.c.kb_id == bindparam("kb_id"),
        commits.c.revision.in_(bindparam("revisions", expanding=True)),
        commits.c.message.is_not(None),
    )
)


def shown_messages(snapshot: Snapshot, revisions: Collection[int]) -> dict[int, str]:
    """The message by revision, of those commits whose events are all readable."""
    shown = {}
    for row in snapshot.all(_WITH_MESSAGE, revisions=sorted(revisions)):
        revision, first, count, message = cast(tuple[int, int, int, str], row)
        if all_readable(snapshot, first, count):
            shown[revision] = message
    return shown
