"""Events as feeds go through them: by position, a bounded stretch at a time, filtered in SQL.

An event shows where its page shows: the scope the event left the page in and today's. An event
of a note needs a readable stamp then and now as well, one of a pin a change in the part of the
audience the reader knows of. Events of the knowledge base itself show to auditors and admins.
"""

from typing import cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Integer,
    Select,
    Subquery,
    Text,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
)

from kbstore.domain.events import Event, PinRemoved, PinSet
from kbstore.store.mapper import decode_payload
from kbstore.store.statements import Row, Statement
from kbstore.store.tables import commits
from kbstore.store.tables import events as stored_events
from projections.intervals import of_kb
from projections.read.filters import page_is_readable
from projections.read.notes import readable_stamps, shows_today, stamped
from projections.read.pins import known_audience
from projections.snapshot import Parameters, Snapshot
from projections.tables import activity, note_stamps, pages

ROWS_SCANNED_MAX = 2_000
"""How many events a feed looks at in one call, readable or not."""

_TOPIC: BindParameter[str | None] = bindparam("topic", type_=Text)
_ANY_KB_EVENT = bindparam("sees_kb", type_=Integer) == literal_column("1")


class EventRow(Struct, frozen=True):
    """A readable event with its commit's time (UTC microseconds); `page_id` is None for one
    of the knowledge base, and `scope_before` None where the page's scope did not change."""

    position: int
    revision: int
    actor: str
    page_id: UUID | None
    scope: str | None
    scope_before: str | None
    note_id: UUID | None
    version: int
    committed_at: int
    event: Event


class Stretch(Struct, frozen=True):
    """The readable events of a stretch; `after` is where the next one begins, None when the
    events of the snapshot have all been looked at."""

    rows: tuple[EventRow, ...]
    after: int | None


def _scan(*, page: bool, actor: bool, newest_first: bool = False) -> Select[tuple[object, ...]]:
    if newest_first:
        order, begins = activity.c.position.desc(), activity.c.position < bindparam("after")
    else:
        order, begins = activity.c.position.asc(), activity.c.position > bindparam("after")
    scan = select(*activity.c).where(
        of_kb(activity), begins, activity.c.revision <= bindparam("revision")
    )
    if page:
        scan = scan.where(activity.c.page_id == bindparam("page_id"))
    if actor:
        scan = scan.where(activity.c.actor == bindparam("actor"))
    return scan.order_by(order).limit(bindparam("scanned_max"))


def _note_shows(scan: Subquery) -> ColumnElement[bool]:
    """Whether the stamps an event left a note with are readable, and today's are."""
    stamp = note_stamps.c
    left_with = or_(
        stamp.to_revision > scan.c.revision,
        # Removing a note ends its stamps.
        and_(scan.c.topic == "note.removed", stamp.to_revision == scan.c.revision),
    )
    return and_(
        stamped(scan.c.note_id, stamp.from_revision <= scan.c.revision, left_with),
        shows_today(scan.c.note_id, pages.c.scope),
    )


class _Feed:
    """The statements over one kind of scan: its readable events, where it ends, its stamps."""

    def __init__(self, scanned: Select[tuple[object, ...]], newest_first: bool = False) -> None:
        scan = scanned.subquery("scan")
        readable = or_(
            and_(scan.c.page_id.is_(None), _ANY_KB_EVENT),
            and_(
                scan.c.page_id.is_not(None),
                page_is_readable(scan.c.scope),
                or_(scan.c.note_id.is_(None), _note_shows(scan)),
            ),
        )
        order = scan.c.position.desc() if newest_first else scan.c.position.asc()
        self.newest_first = newest_first
        self.rows = Statement(
            select(
                scan.c.position,
                scan.c.revision,
                scan.c.topic,
                scan.c.actor,
                scan.c.page_id,
                scan.c.scope,
                scan.c.scope_before,
                scan.c.note_id,
                scan.c.version,
                commits.c.committed_at,
                stored_events.c.originator_id,
                stored_events.c.payload,
            )
            .select_from(scan)
            .join(
                stored_events,
                and_(
                    stored_events.c.kb_id == scan.c.kb_id,
                    stored_events.c.position == scan.c.position,
                ),
            )
            .join(
                commits,
                and_(commits.c.kb_id == scan.c.kb_id, commits.c.revision == scan.c.revision),
            )
            .outerjoin(
                pages,
                and_(
                    pages.c.kb_id == scan.c.kb_id,
                    pages.c.generation == scan.c.generation,
                    pages.c.page_id == scan.c.page_id,
                ),
            )
            .where(readable, or_(_TOPIC.is_(None), scan.c.topic == _TOPIC))
            .order_by(order)
            .limit(bindparam("limit"))
        )
        end = func.min(scan.c.position) if newest_first else func.max(scan.c.position)
        self.end = Statement(select(func.count(), end).select_from(scan))
        self.stamps = Statement(
            select(note_stamps.c.scope)
            .distinct()
            .where(
                of_kb(note_stamps),
                note_stamps.c.note_id.in_(
                    select(scan.c.note_id).where(scan.c.note_id.is_not(None))
                ),
            )
        )


_FEEDS = {
    (page, actor): _Feed(_scan(page=page, actor=actor))
    for page in (False, True)
    for actor in (False, True)
}
_OF_PAGE_NEWEST_FIRST = _Feed(_scan(page=True, actor=False, newest_first=True), newest_first=True)
_BETWEEN = _Feed(
    select(*activity.c).where(
        of_kb(activity),
        activity.c.position >= bindparam("first"),
        activity.c.position <= bindparam("last"),
    )
)
_EVENT_OF = Statement(
    select(stored_events.c.topic, stored_events.c.payload).where(
        stored_events.c.kb_id == bindparam("kb_id"),
        stored_events.c.originator_id == bindparam("originator_id"),
        stored_events.c.originator_version == bindparam("version"),
    )
)


def stretch_of_events(
    snapshot: Snapshot,
    after: int,
    limit: int,
    *,
    topic: str | None = None,
    page_id: UUID | None = None,
    actor: str | None = None,
) -> Stretch:
    """The readable events from the one after position `after` on, oldest first."""
    feed = _FEEDS[page_id is not None, actor is not None]
    values: Parameters = {"after": after}
    if page_id is not None:
        values["page_id"] = page_id.bytes
    if actor is not None:
        values["actor"] = actor
    return _stretch(snapshot, feed, values, limit, topic)


def stretch_of_page(
    snapshot: Snapshot, page_id: UUID, after: int | None, limit: int, *, newest_first: bool
) -> Stretch:
    """The readable events of a page in either direction; `after` is the last one's position."""
    feed = _OF_PAGE_NEWEST_FIRST if newest_first else _FEEDS[True, False]
    if after is None:
        after = snapshot.head.position + 1 if newest_first else 0
    values: Parameters = {"after": after, "page_id": page_id.bytes}
    return _stretch(snapshot, feed, values, limit, None)


def events_between(snapshot: Snapshot, first: int, last: int, limit: int) -> list[EventRow]:
    """The readable events from position `first` to `last`, in order."""
    values: Parameters = {"first": first, "last": last}
    return _readable(snapshot, _BETWEEN, values, limit, None)[0]


def _stretch(
    snapshot: Snapshot, feed: _Feed, values: Parameters, limit: int, topic: str | None
) -> Stretch:
    # Most events are readable: looking at as many as are asked for mostly is enough.
    for scanned_max in (min(limit, ROWS_SCANNED_MAX), ROWS_SCANNED_MAX):
        values = {**values, "scanned_max": scanned_max}
        rows, found = _readable(snapshot, feed, values, limit, topic)
        if len(found) == limit:
            return Stretch(tuple(rows), cast(int, found[-1][0]))
        scanned, last = cast(tuple[int, int | None], snapshot.one(feed.end, **values))
        if scanned < scanned_max:
            return Stretch(tuple(rows), None)
    return Stretch(tuple(rows), last)


def _readable(
    snapshot: Snapshot, feed: _Feed, values: Parameters, limit: int, topic: str | None
) -> tuple[list[EventRow], list[Row]]:
    """The readable events, and the rows they were found among."""
    access = snapshot.access
    found = snapshot.all(
        feed.rows,
        **values,
        **snapshot.filters,
        limit=limit,
        topic=topic,
        sees_kb=int(access.is_auditor or access.caller.is_admin),
        stamps=readable_stamps(snapshot, snapshot.all(feed.stamps, **values)),
    )
    rows = [_event_row(row) for row in found]
    return [row for row in rows if _changes_what_is_known(snapshot, row.event)], found


def _event_row(row: Row) -> EventRow:
    (
        position,
        revision,
        topic,
        actor,
        page_id,
        scope,
        scope_before,
        note_id,
        version,
        committed_at,
        originator_id,
        payload,
    ) = cast(
        tuple[
            int,
            int,
            str,
            str,
            bytes | None,
            str | None,
            str | None,
            bytes | None,
            int,
            int,
            bytes,
            bytes,
        ],
        row,
    )
    return EventRow(
        position=position,
        revision=revision,
        actor=actor,
        page_id=None if page_id is None else UUID(bytes=page_id),
        scope=scope,
        scope_before=scope_before,
        note_id=None if note_id is None else UUID(bytes=note_id),
        version=version,
        committed_at=committed_at,
        event=decode_payload(topic, payload, UUID(bytes=originator_id), version),
    )


def _changes_what_is_known(snapshot: Snapshot, event: Event) -> bool:
    """Whether a pin looks otherwise to the caller after the event; True for other events."""
    if not isinstance(event, PinSet | PinRemoved) or snapshot.access.is_auditor:
        return True
    return _pin_as_known(snapshot, event) != _pin_as_known(snapshot, _event_before(snapshot, event))


def _pin_as_known(snapshot: Snapshot, event: Event | None) -> tuple[tuple[str, ...], int] | None:
    if not isinstance(event, PinSet):
        return None
    audience = known_audience(snapshot, event.audience)
    return (audience, event.depth) if audience else None


def _event_before(snapshot: Snapshot, event: Event) -> Event | None:
    version = event.originator_version - 1
    row = snapshot.one(_EVENT_OF, originator_id=event.originator_id.bytes, version=version)
    if row is None:
        return None
    topic, payload = cast(tuple[str, bytes], row)
    return decode_payload(topic, payload, event.originator_id, version)
