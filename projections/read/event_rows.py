"""Events as feeds go through them: by position, a bounded stretch at a time, filtered in SQL.

An event shows where its page shows: the scope the event left the page in and today's. An event
of a note needs a readable stamp as well, after it, at the end of its commit and today; one of a
pin a change in the part of the audience the reader knows of, and so has another stamping. Events
of the knowledge base itself show to auditors and admins.
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
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
)

from kbstore.domain.events import Event, NoteRemoved
from kbstore.store.mapper import decode_payload
from kbstore.store.statements import Row, Statement
from kbstore.store.tables import commits
from kbstore.store.tables import events as stored_events
from projections.intervals import of_kb
from projections.read.filters import page_is_readable
from projections.read.known_changes import (
    PARTLY_HIDDEN,
    changes_what_is_known,
    shown_topic,
    topics_shown_as,
)
from projections.read.notes import readable_stamps, shows_today, stamped
from projections.snapshot import Parameters, Snapshot
from projections.tables import activity, note_stamps, pages

ROWS_SCANNED_MAX = 2_000
"""How many events a feed looks at in one call, readable or not."""

_ANY_TOPIC = bindparam("any_topic", type_=Integer) == literal_column("1")
_TOPICS: BindParameter[str] = bindparam("topics", expanding=True)
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


def _scan(
    *, page: bool, actor: bool = False, history: bool = False, newest_first: bool = False
) -> Select[tuple[object, ...]]:
    """`history` leaves out the events of the page's notes and pins."""
    if newest_first:
        order, begins = activity.c.position.desc(), activity.c.position < bindparam("after")
    else:
        order, begins = activity.c.position.asc(), activity.c.position > bindparam("after")
    scan = select(*activity.c).where(
        of_kb(activity), begins, activity.c.revision <= bindparam("revision")
    )
    if history:
        scan = scan.where(activity.c.note_id.is_(None), activity.c.pin_id.is_(None))
    if page:
        scan = scan.where(activity.c.page_id == bindparam("page_id"))
    if actor:
        scan = scan.where(activity.c.actor == bindparam("actor"))
    return scan.order_by(order).limit(bindparam("scanned_max"))


def _note_shows(scan: Subquery) -> ColumnElement[bool]:
    """Whether the stamps a note has after an event's commit are readable, and today's are."""
    stamp = note_stamps.c
    left_with = or_(
        stamp.to_revision > scan.c.revision,
        # Removing a note ends its stamps.
        and_(scan.c.topic == NoteRemoved.topic, stamp.to_revision == scan.c.revision),
    )
    return and_(
        stamped(scan.c.note_id, stamp.from_revision <= scan.c.revision, left_with),
        shows_today(scan.c.note_id),
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
        page = and_(
            pages.c.kb_id == scan.c.kb_id,
            pages.c.generation == scan.c.generation,
            pages.c.page_id == scan.c.page_id,
        )
        beyond: BindParameter[int] = bindparam("beyond")
        if newest_first:
            order, goes_on = scan.c.position.desc(), scan.c.position < beyond
        else:
            order, goes_on = scan.c.position.asc(), scan.c.position > beyond
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
            .outerjoin(pages, page)
            .where(goes_on, readable, or_(_ANY_TOPIC, scan.c.topic.in_(_TOPICS)))
            .order_by(order)
            .limit(bindparam("limit"))
        )
        end = func.min(scan.c.position) if newest_first else func.max(scan.c.position)
        self.end = Statement(select(func.count(), end).select_from(scan))
        partly_hidden = func.sum(
            case((or_(*(scan.c.topic == topic for topic in PARTLY_HIDDEN)), 1), else_=0)
        )
        self.count = Statement(
            select(func.count(), partly_hidden)
            .select_from(scan.outerjoin(pages, page))
            .where(readable)
        )
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
    (page, actor, newest): _Feed(_scan(page=page, actor=actor, newest_first=newest), newest)
    for page in (False, True)
    for actor in (False, True)
    for newest in (False, True)
}
_HISTORY = _Feed(_scan(page=True, history=True))
_HISTORY_NEWEST_FIRST = _Feed(_scan(page=True, history=True, newest_first=True), newest_first=True)
_BETWEEN = _Feed(
    select(*activity.c).where(
        of_kb(activity),
        activity.c.position >= bindparam("first"),
        activity.c.position <= bindparam("last"),
    )
)


def stretch_of_events(
    snapshot: Snapshot,
    after: int | None,
    limit: int,
    *,
    topic: str | None = None,
    page_id: UUID | None = None,
    actor: str | None = None,
    newest_first: bool = False,
) -> Stretch:
    """The readable events from the one after position `after` on, in either direction."""
    if after is None:
        after = snapshot.head.position + 1 if newest_first else 0
    if any("\0" in given for given in (topic, actor) if given is not None):
        # No event holds one, and PostgreSQL takes no such question.
        return Stretch((), None)
    feed = _FEEDS[page_id is not None, actor is not None, newest_first]
    values: Parameters = {"after": after}
    if page_id is not None:
        values["page_id"] = page_id.bytes
    if actor is not None:
        values["actor"] = actor
    return _stretch(snapshot, feed, values, limit, topic)


def stretch_of_history(
    snapshot: Snapshot, page_id: UUID, after: int | None, limit: int, *, newest_first: bool
) -> Stretch:
    """The readable events of a page itself, in either direction; `after` is the last one's
    position."""
    feed = _HISTORY_NEWEST_FIRST if newest_first else _HISTORY
    if after is None:
        after = snapshot.head.position + 1 if newest_first else 0
    values: Parameters = {"after": after, "page_id": page_id.bytes}
    return _stretch(snapshot, feed, values, limit, None)


def events_between(snapshot: Snapshot, first: int, last: int, limit: int) -> list[EventRow]:
    """The readable events from position `first` to `last`, in order."""
    values: Parameters = {"first": first, "last": last}
    return _readable(snapshot, _BETWEEN, values, limit, None)


def all_readable(snapshot: Snapshot, first: int, count: int) -> bool:
    """Whether each of `count` events from position `first` on is readable."""
    values: Parameters = {"first": first, "last": first + count - 1}
    row = snapshot.one(_BETWEEN.count, **_with_access(snapshot, _BETWEEN, values))
    found, partly_hidden = cast(tuple[int, int | None], row)
    if found < count or not partly_hidden:
        return found == count
    return len(_readable(snapshot, _BETWEEN, values, count, None)) == count


def _stretch(
    snapshot: Snapshot, feed: _Feed, values: Parameters, limit: int, topic: str | None
) -> Stretch:
    # Most events are readable: looking at as many as are asked for mostly is enough.
    for scanned_max in (min(limit, ROWS_SCANNED_MAX), ROWS_SCANNED_MAX):
        values = {**values, "scanned_max": scanned_max}
        rows = _readable(snapshot, feed, values, limit, topic)
        if len(rows) == limit:
            return Stretch(tuple(rows), rows[-1].position)
        scanned, last = cast(tuple[int, int | None], snapshot.one(feed.end, **values))
        if scanned < scanned_max:
            return Stretch(tuple(rows), None)
    return Stretch(tuple(rows), last)


def _readable(
    snapshot: Snapshot, feed: _Feed, values: Parameters, limit: int, topic: str | None
) -> list[EventRow]:
    """The first `limit` readable events of a scan."""
    values = {
        **_with_access(snapshot, feed, values),
        "any_topic": int(topic is None),
        "topics": () if topic is None else topics_shown_as(topic),
    }
    rows: list[EventRow] = []
    beyond = snapshot.head.position + 1 if feed.newest_first else 0
    asked = limit
    while True:
        found = [
            _event_row(row) for row in snapshot.all(feed.rows, **values, beyond=beyond, limit=asked)
        ]
        rows += [row for row in found if _shows(snapshot, row.event, topic)]
        if len(found) < asked or len(rows) >= limit:
            return rows[:limit]
        # The scan is run anew for each part, so parts grow.
        beyond, asked = found[-1].position, 2 * asked


def _shows(snapshot: Snapshot, event: Event, topic: str | None) -> bool:
    """What of an event's being readable cannot be said in SQL."""
    if topic is not None and shown_topic(snapshot, event) != topic:
        return False
    return changes_what_is_known(snapshot, event)


def _with_access(snapshot: Snapshot, feed: _Feed, values: Parameters) -> Parameters:
    """The parameters of a scan, with those of what the caller may read of it."""
    access = snapshot.access
    return {
        **values,
        **snapshot.filters,
        "sees_kb": int(access.is_auditor or access.caller.is_admin),
        "stamps": readable_stamps(snapshot, snapshot.all(feed.stamps, **values)),
    }


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
