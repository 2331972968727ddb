"""Notes that come back with a page that is restored: they were kept beside it.

No read shows them while the page is gone. This says what a caller who may restore the page
would see of them, by their own stamps alone, as `pins.known_pin` does for pins.
"""

from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, select

from kbstore.store.statements import Statement
from projections.intervals import of_kb
from projections.read.filters import at_revision
from projections.read.notes import known_stamps
from projections.rows import decode_scopes
from projections.snapshot import Snapshot
from projections.tables import notes

_NOTE = Statement(
    select(notes.c.page_id, notes.c.stamps).where(
        of_kb(notes), notes.c.note_id == bindparam("note_id"), at_revision(notes)
    )
)


def page_of_note(snapshot: Snapshot, note_id: UUID) -> UUID | None:
    """The page, perhaps gone, that a note stands on; None where the caller can read none of
    its stamps, and for a note that is missing or removed."""
    row = snapshot.one(_NOTE, note_id=note_id.bytes)
    if row is None or not known_stamps(snapshot, decode_scopes(cast(str, row[1]))):
        return None
    return UUID(bytes=cast(bytes, row[0]))
