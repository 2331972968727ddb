"""Pins, as far as the scopes they deliver to are the reader's business.

A pin shows where its page shows and he may read or holds one scope of its audience. What is
changed of the rest does not show, neither as an update nor as who made it.
"""

from collections.abc import Callable
from typing import cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import bindparam, select

from kbstore.access import declaration_of
from kbstore.domain.events import CONFIG_AUTHOR
from kbstore.store.statements import Row, Statement
from projections.intervals import of_kb
from projections.read.declared import way_down
from projections.read.filters import at_revision
from projections.read.pages import shown_time
from projections.read.refs import standing
from projections.read.rows import PageRow, readable_row
from projections.read.slices import Slice
from projections.read.standing import Standing, place_of
from projections.rows import decode_scopes
from projections.snapshot import Snapshot
from projections.tables import pin_audiences, pins
from projections.views import PinView

_CHANGES_READ_MAX = 500
"""How many changes of a pin are read at once."""

_PINS_READ_AT_ONCE = 500

_COLUMNS = (
    pins.c.pin_id,
    pins.c.page_id,
    pins.c.kind,
    pins.c.depth,
    pins.c.audience,
    pins.c.from_revision,
    pins.c.to_revision,
    pins.c.updated_at,
    pins.c.updated_by,
)
_ONE = Statement(
    select(*_COLUMNS).where(of_kb(pins), pins.c.pin_id == bindparam("pin_id"), at_revision(pins))
)
_OF_PAGE = Statement(
    select(*_COLUMNS)
    .where(of_kb(pins), pins.c.page_id == bindparam("page_id"), at_revision(pins))
    .order_by(pins.c.kind.desc())
)
_BEFORE = Statement(
    select(*_COLUMNS)
    .where(
        of_kb(pins),
        pins.c.pin_id == bindparam("pin_id"),
        pins.c.from_revision < bindparam("before"),
    )
    .order_by(pins.c.from_revision.desc())
    .limit(_CHANGES_READ_MAX)
)
_FOR_SCOPES = Statement(
    select(*_COLUMNS)
    .where(
        of_kb(pins),
        at_revision(pins),
        pins.c.pin_id > bindparam("after"),
        pins.c.pin_id.in_(
            select(pin_audiences.c.pin_id).where(
                of_kb(pin_audiences),
                pin_audiences.c.scope.in_(bindparam("audience", expanding=True)),
                at_revision(pin_audiences),
            )
        ),
    )
    .order_by(pins.c.pin_id)
    .limit(bindparam("limit"))
)


class KnownPin(Struct, frozen=True):
    """The page a pin is on, and of its audience what the caller knows of."""

    page_id: UUID
    audience: tuple[str, ...]
    depth: int


class _Pin(Struct, frozen=True):
    """A row of a pin, with the part of its audience the reader knows of."""

    pin_id: bytes
    page_id: UUID
    kind: str
    depth: int
    audience: tuple[str, ...]
    from_revision: int
    to_revision: int
    updated_at: int
    updated_by: str


def pins_of_page(snapshot: Snapshot, page_id: UUID) -> tuple[PinView, ...]:
    """The pins of a page: `page`, then `list`. Raises NotFoundError as `standing` does."""
    page = standing(snapshot, page_id)
    found = [_pin(snapshot, row) for row in snapshot.all(_OF_PAGE, page_id=page_id.bytes)]
    return tuple(_view(snapshot, page, pin) for pin in found if pin.audience)


def pins_for(
    snapshot: Snapshot, audience: frozenset[str], after: UUID | None, limit: int
) -> Slice[tuple[PinView, PageRow], UUID]:
    """The pins that deliver to these scopes, each with its page, by pin id from `after` on.

    Scopes that the caller neither reads nor holds deliver nothing to him. Gives less than
    `limit` where pages are hidden, and still goes on.
    """
    known = [scope for scope in audience if snapshot.access.knows_audience(scope)]
    rows = snapshot.all(
        _FOR_SCOPES, audience=known, after=after.bytes if after else b"", limit=limit + 1
    )
    found: list[tuple[PinView, PageRow]] = []
    for row in rows[:limit]:
        pin = _pin(snapshot, row)
        page = readable_row(snapshot, pin.page_id)
        if page is not None:
            found.append((_view(snapshot, page, pin), page))
    last = UUID(bytes=cast(bytes, rows[limit - 1][0])) if len(rows) > limit else None
    return Slice(items=tuple(found), after=last)


def pins_delivered(
    snapshot: Snapshot, held: frozenset[str], pins_max: int
) -> tuple[tuple[PinView, PageRow], ...]:
    """The pins that deliver to whoever holds these scopes, each with its page, by the time from
    which on they are known to the reader; the first `pins_max`."""
    known = [scope for scope in held if snapshot.access.knows_audience(scope)]
    found: list[tuple[int, bytes, PinView, PageRow]] = []
    after = b""
    while rows := snapshot.all(_FOR_SCOPES, audience=known, after=after, limit=_PINS_READ_AT_ONCE):
        for row in rows:
            pin = _pin(snapshot, row)
            page = readable_row(snapshot, pin.page_id)
            if page is not None:
                since = _oldest(snapshot, pin, lambda older: bool(older.audience))
                found.append((since.from_revision, pin.pin_id, _view(snapshot, page, pin), page))
        after = cast(bytes, rows[-1][0])
    found.sort(key=lambda each: each[:2])
    return tuple((view, page) for _, _, view, page in found[:pins_max])


def configured_pins(snapshot: Snapshot, scope: str) -> tuple[tuple[PinView, Standing], ...]:
    """What the configuration of the revision pins for whoever holds a scope, in the order it
    is declared; nothing for who has no role there."""
    declared = declaration_of(snapshot.configuration, scope)
    if declared is None:
        return ()
    found: list[tuple[PinView, Standing]] = []
    for template in declared.templates.pages:
        if template.pin is None:
            continue
        way = way_down(snapshot, scope, template.path)
        if way is None:
            continue
        page = way[-1]
        view = PinView(
            page=page.page_id,
            ref=place_of(snapshot, page).ref,
            kind=template.pin.kind,
            depth=template.pin.depth,
            audience=(scope,),
            updated_at=shown_time(snapshot.configured_time),
            updated_by=CONFIG_AUTHOR,
        )
        found.append((view, page))
    return tuple(found)


def known_pin(snapshot: Snapshot, pin_id: UUID) -> KnownPin | None:
    """A pin by its own audience alone: whether its page shows is for the caller to ask. None
    where the caller knows of no part of it."""
    row = snapshot.one(_ONE, pin_id=pin_id.bytes)
    pin = None if row is None else _pin(snapshot, row)
    return KnownPin(pin.page_id, pin.audience, pin.depth) if pin and pin.audience else None


def known_audience(snapshot: Snapshot, audience: tuple[str, ...]) -> tuple[str, ...]:
    """The part of an audience that the caller knows of: scopes he may read or holds."""
    return tuple(scope for scope in audience if snapshot.access.knows_audience(scope))


def _pin(snapshot: Snapshot, row: Row) -> _Pin:
    pin_id, page_id, kind, depth, audience, began, ended, updated_at, updated_by = cast(
        tuple[bytes, bytes, str, int, str, int, int, int, str], row
    )
    return _Pin(
        pin_id,
        UUID(bytes=page_id),
        kind,
        depth,
        known_audience(snapshot, decode_scopes(audience)),
        began,
        ended,
        updated_at,
        updated_by,
    )


def _view(snapshot: Snapshot, page: Standing, pin: _Pin) -> PinView:
    shown = _since_it_looks_so(snapshot, pin)
    return PinView(
        page=page.page_id,
        ref=place_of(snapshot, page).ref,
        kind=pin.kind,
        depth=pin.depth,
        audience=pin.audience,
        updated_at=shown_time(shown.updated_at),
        updated_by=shown.updated_by,
    )


def _since_it_looks_so(snapshot: Snapshot, pin: _Pin) -> _Pin:
    """The oldest row from which on the pin looked to this reader as it does."""
    return _oldest(
        snapshot,
        pin,
        lambda older: older.audience == pin.audience and older.depth == pin.depth,
    )


def _oldest(snapshot: Snapshot, pin: _Pin, goes_on: Callable[[_Pin], bool]) -> _Pin:
    """The oldest of the rows without a gap before this one for all of which that holds."""
    oldest = pin
    while True:
        rows = snapshot.all(_BEFORE, pin_id=pin.pin_id, before=oldest.from_revision)
        for row in rows:
            older = _pin(snapshot, row)
            if older.to_revision != oldest.from_revision or not goes_on(older):
                return oldest
            oldest = older
        if len(rows) < _CHANGES_READ_MAX:
            return oldest
