"""Revisions: the newest one, and the one a time names."""

from api.answers import Answer
from api.calls import Call
from api.operations import reads
from api.parameters import AtRevision, Parameters, Revision, Time
from api.reading import Found, State, past_time, read
from kbstore.clock import format_time
from projections.snapshot import revision_at
from projections.views import RevisionView


class ActiveParameters(Parameters, frozen=True, kw_only=True):
    min_revision: Revision | None = None


class TimeParameters(Parameters, frozen=True, kw_only=True):
    time: Time
    min_revision: Revision | None = None


@reads(
    "readActiveRevision",
    "/revisions/active",
    "Read the newest revision",
    parameters=ActiveParameters,
    answer=RevisionView,
)
async def read_active_revision(call: Call, given: ActiveParameters) -> Answer:
    def query(state: State) -> Found:
        head = state.snapshot.head
        return Found(
            RevisionView(
                revision=head.revision,
                committed_at=format_time(head.committed_at),
                final=False,
            )
        )

    return await read(call, AtRevision(min_revision=given.min_revision), query)


@reads(
    "readRevisionAt",
    "/revisions/at",
    "Read which revision a time names",
    parameters=TimeParameters,
    answer=RevisionView,
)
async def read_revision_at(call: Call, given: TimeParameters) -> Answer:
    micros = await past_time(call, given.time, "time")

    def query(state: State) -> Found:
        at = revision_at(state.snapshot.connection, call.kb.kb_id, micros)
        return Found(
            RevisionView(
                revision=at.revision,
                committed_at=format_time(at.committed_at),
                final=at.final,
            )
        )

    at = AtRevision(as_of=given.time, min_revision=given.min_revision)
    return await read(call, at, query)


OPERATIONS = (read_active_revision, read_revision_at)
