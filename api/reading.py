"""Reads: one snapshot at one revision, its answer, and what caches are told about it."""

from collections.abc import Callable
from uuid import UUID

from litestar.types import HTTPScope
from msgspec import UNSET, Struct, UnsetType

from api.answers import NO_CACHE, Answer, encode, entity_tag
from api.calls import Call
from api.headers import text_header
from api.parameters import AtRevision
from kbstore.clock import parse_time
from kbstore.errors import NotFoundError, ProjectionBehindError, ValidationError
from kbstore.ids import parse_uuid
from kbstore.store.commits import Head
from kbstore.store.connection import Connection
from kbstore.store.heads import read_head
from projections.snapshot import Snapshot, open_snapshot, revision_at
from projections.views import View


class Shown(View, frozen=True, kw_only=True):
    """What every read answers: the revision it shows. `final` stands in answers to `asOf`."""

    revision: int
    final: bool | UnsetType = UNSET


class State(Struct, frozen=True):
    """A snapshot, and whether the time that named it can name another one later."""

    snapshot: Snapshot
    final: bool | UnsetType = UNSET

    @property
    def revision(self) -> int:
        return self.snapshot.revision


class Found(Struct, frozen=True):
    """A representation, with its version where it has one. `tagged` is the part of it that the
    entity tag covers, where that is not all of it."""

    value: View
    version: int | None = None
    tagged: object = None


Query = Callable[[State], Found]


class Moment(Struct, frozen=True):
    """The state a read asks for: a revision, or a time in UTC microseconds, else the head."""

    revision: int | None = None
    micros: int | None = None


async def moment_of(call: Call, at: AtRevision) -> Moment:
    """Raises ValidationError for both `revision` and `asOf`, for a time without a zone and for
    one that is still to come."""
    if at.as_of is None:
        return Moment(revision=at.revision)
    if at.revision is not None:
        raise ValidationError(
            "Name a revision or a time, not both.", field="asOf", reason="exclusive"
        )
    return Moment(micros=await past_time(call, at.as_of, "asOf"))


async def past_time(call: Call, value: str, field: str) -> int:
    """A time that has come, in UTC microseconds; ValidationError for others.

    The time of the newest commit has come, whatever the clock says: it may have been set back.
    """
    micros = parse_time(value, field)
    now = call.server.services.commands.clock.now()
    if micros > now and micros > (await head_of(call)).committed_at:
        raise ValidationError(f"{field} is still to come.", field=field, reason="future")
    return micros


async def await_revision(call: Call, revision: int | None) -> None:
    """Returns once the head has reached `revision`; ProjectionBehindError after two seconds."""
    if revision is None:
        return
    head = (await head_of(call)).revision
    if head >= revision:
        return
    seconds_max = call.server.settings.min_revision_wait_seconds_max
    if await call.server.heads.beyond(call.kb.kb_id, revision - 1, seconds_max) is None:
        raise ProjectionBehindError(
            f"Revision {revision} is not reached yet; try again.",
            minRevision=revision,
            activeContentRevision=(await head_of(call)).revision,
        )


async def head_of(call: Call) -> Head:
    """Where the knowledge base stands now."""
    head = await call.read(lambda connection: read_head(connection, call.kb.kb_id))
    if head is None:
        raise NotFoundError("Knowledge base not found.")
    return head


def in_snapshot(
    connection: Connection, call: Call, moment: Moment, use: Callable[[State], Answer]
) -> Answer:
    """What `use` makes of the state, within one read transaction."""
    with connection.reading():
        final: bool | UnsetType = UNSET
        revision = moment.revision
        if moment.micros is not None:
            at = revision_at(connection, call.kb.kb_id, moment.micros)
            revision, final = at.revision, at.final
        snapshot = open_snapshot(connection, call.kb.kb_id, call.caller, revision)
        return use(State(snapshot, final))


async def read(call: Call, at: AtRevision, query: Query, *, is_long: bool = False) -> Answer:
    """The answer to a read. `is_long` keeps it out of the event loop."""
    moment = await moment_of(call, at)
    await await_revision(call, at.min_revision)

    def work(connection: Connection) -> Answer:
        return in_snapshot(connection, call, moment, lambda state: represent(state, query(state)))

    return await call.read_anywhere(work, min_revision=at.min_revision, is_long=is_long)


def represent(state: State, found: Found, status: int = 200) -> Answer:
    """The encoded answer, with the headers of every read."""
    body = encode(found.value)
    tagged = body if found.tagged is None else encode(found.tagged)
    tag = entity_tag(tagged, found.version)
    headers = (
        (b"kb-revision", b"%d" % state.revision),
        (b"etag", tag.encode()),
        NO_CACHE,
    )
    return Answer(status, body, headers)


def conditional(scope: HTTPScope, answer: Answer) -> Answer:
    """The answer, or 304 when `If-None-Match` names the very representation."""
    given = text_header(scope, b"if-none-match")
    if given is None:
        return answer
    tag = next((value for name, value in answer.headers if name == b"etag"), b"").decode()
    named = {part.strip().removeprefix("W/") for part in given.split(",")}
    if tag not in named and given != "*":
        return answer
    about_body = (b"content-type", b"content-length")
    return Answer(304, b"", [header for header in answer.headers if header[0] not in about_body])


def page_id_of(call: Call) -> UUID:
    """The page of the address; text that is no id names no page (NotFoundError)."""
    return id_of(call, "pageId", "page")


def id_of(call: Call, parameter: str, what: str) -> UUID:
    text = call.path[parameter]
    found = parse_uuid(text)
    if found is None:
        raise NotFoundError(f'Knowledge {what} "{text[:100]}" not found.')
    return found
