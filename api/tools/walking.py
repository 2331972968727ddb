"""Lists within a tool's answer: their cursors, by the rules of every list."""

from typing import cast
from uuid import UUID

from msgspec import Struct

from api.cursors import Place, Signer, refuse_mismatch, stale
from api.reading import Moment
from api.tools.tool import Reading


class Stand(Struct, frozen=True):
    """How far a list got: after which page or note, with the limit and the depth it had."""

    limit: int
    depth: int
    after: UUID


class ToolWalk(Struct, frozen=True):
    """A list on its way; `stand` is None at its beginning."""

    signer: Signer
    revision: int
    is_pinned: bool
    stand: Stand | None

    def next(self, stand: Stand) -> str:
        """The cursor of what follows."""
        after = (stand.depth, stand.after.bytes)
        return self.signer.write(Place(self.revision, self.is_pinned, stand.limit, after))


def walk_of(
    reading: Reading, operation: str, *shape: int | str | bool | None, cursor: str | None
) -> ToolWalk:
    """The list of an operation with these parameters, where a cursor says that it stands.

    Raises ValidationError for a cursor that is altered or of another list, and StaleCursorError
    once the head has moved on, unless the walk names its revision.
    """
    signer = reading.signer(operation, *shape)
    revision, is_pinned = reading.state.revision, reading.moment != Moment()
    if cursor is None:
        return ToolWalk(signer, revision, is_pinned, None)
    place = signer.read(cursor)
    is_pinned = is_pinned or place.is_pinned
    if place.revision != revision:
        if reading.moment == Moment():
            raise stale(place, revision)
        raise refuse_mismatch()
    depth, after = cast(tuple[int, bytes], place.after)
    return ToolWalk(signer, revision, is_pinned, Stand(place.limit, depth, UUID(bytes=after)))
