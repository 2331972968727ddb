"""Lists: walked part by part at one revision, and feeds, which never go stale."""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from msgspec import Struct

from api.answers import Answer
from api.calls import Call
from api.cursors import After, Place, Shape, Signer, refuse_mismatch, stale
from api.parameters import ListAt
from api.reading import (
    Found,
    Moment,
    State,
    await_revision,
    in_snapshot,
    moment_of,
    represent,
)
from api.representations import ListRead
from kbstore.limits import LIST_ITEMS_DEFAULT
from projections.views import View

T = TypeVar("T")


class Window(Struct, frozen=True):
    """The part of a list to show: at most `limit` items after the sort key `after`."""

    limit: int
    after: After | None

    @property
    def after_id(self) -> UUID | None:
        """The sort key of a list whose key is one id."""
        if self.after is None:
            return None
        (key,) = self.after
        assert isinstance(key, bytes)
        return UUID(bytes=key)

    @property
    def after_position(self) -> int | None:
        """The sort key of a feed: a position or a revision."""
        if self.after is None:
            return None
        (key,) = self.after
        assert isinstance(key, int)
        return key

    @property
    def after_pair(self) -> tuple[UUID, int] | None:
        """The sort key of a list whose key is an id and a number."""
        if self.after is None:
            return None
        id_bytes, number = self.after
        assert isinstance(id_bytes, bytes)
        assert isinstance(number, int)
        return UUID(bytes=id_bytes), number


class Part(Struct, frozen=True):
    """What a window shows: `kind` is the list's class, `after` the key the next part begins
    after, None at the end."""

    kind: Callable[..., ListRead]
    items: tuple[View, ...]
    after: After | None


class Walk(Struct, frozen=True, kw_only=True):
    """Which list is walked. `shape` holds every parameter that shapes it; a feed goes by
    position, so that it never goes stale."""

    operation: str
    shape: Shape = ()
    is_feed: bool = False
    is_long: bool = False


def id_key(after: UUID | None) -> After | None:
    return None if after is None else (after.bytes,)


def position_key(after: int | None) -> After | None:
    return None if after is None else (after,)


def pair_key(after: tuple[UUID, int] | None) -> After | None:
    return None if after is None else (after[0].bytes, after[1])


async def read_list(
    call: Call, at: ListAt, walk: Walk, query: Callable[[State, Window], Part]
) -> Answer:
    """The next part of a list.

    Raises ValidationError for a cursor that is altered or of another list, or sent with a
    revision or a time that is not its own, and StaleCursorError when the head has moved on
    since the walk began without one.
    """
    signer = Signer(call.kb, walk.operation, call.caller, walk.shape)
    place = None if at.cursor is None else signer.read(at.cursor)
    moment = await moment_of(call, at)
    is_pinned = moment != Moment() or (place is not None and place.is_pinned)
    if place is not None:
        if moment.revision not in (None, place.revision):
            raise refuse_mismatch()
        if moment == Moment() and (is_pinned or not walk.is_feed):
            moment = Moment(revision=place.revision)
    await await_revision(call, at.min_revision)
    limit = at.limit or (place.limit if place is not None else LIST_ITEMS_DEFAULT)
    window = Window(limit, None if place is None else place.after)

    def use(state: State) -> Answer:
        _check_place(state, place, walk, is_pinned)
        part = query(state, window)
        cursor = None
        if part.after is not None:
            cursor = signer.write(Place(state.revision, is_pinned, limit, part.after))
        shown = part.kind(
            revision=state.revision, final=state.final, items=part.items, next_cursor=cursor
        )
        return represent(state, Found(shown))

    return await call.read_anywhere(
        lambda connection: in_snapshot(connection, call, moment, use),
        min_revision=at.min_revision,
        is_long=walk.is_long,
    )


def _check_place(state: State, place: Place | None, walk: Walk, is_pinned: bool) -> None:
    """Refuses a state that is not the cursor's. A feed that names none goes on at the head."""
    if place is None or (walk.is_feed and not is_pinned):
        return
    if state.revision != place.revision:
        raise refuse_mismatch()
    if not is_pinned and not state.snapshot.is_head:
        raise stale(place, state.snapshot.head.revision)
