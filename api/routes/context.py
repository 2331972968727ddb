"""The pinned context of the run that asks."""

from api.answers import NO_CACHE, Answer, encode, entity_tag
from api.calls import Call
from api.operations import reads
from api.parameters import AtRevision
from api.reading import Shown, State, await_revision, in_snapshot, moment_of
from kbstore.store.connection import Connection
from projections.read.pinned import LeftOut, PinnedItem, pinned_context


class ContextRead(Shown, frozen=True, kw_only=True):
    """What is pinned for the scopes that the run holds. `left_out` names the pins that found no
    room; `tokens` is the estimate of what the items say."""

    items: tuple[PinnedItem, ...]
    left_out: tuple[LeftOut, ...]
    tokens: int


def context_read(state: State) -> ContextRead:
    """The pinned context at a state."""
    context = pinned_context(state.snapshot)
    return ContextRead(
        revision=state.revision,
        final=state.final,
        items=context.items,
        left_out=context.left_out,
        tokens=context.tokens,
    )


@reads(
    "readContext",
    "/context",
    "Read what is pinned for the run, to put before a model",
    parameters=AtRevision,
    answer=ContextRead,
)
async def read_context(call: Call, given: AtRevision) -> Answer:
    moment = await moment_of(call, given)
    await await_revision(call, given.min_revision)

    def answer(state: State) -> Answer:
        shown = context_read(state)
        # Whoever polls between turns wants to hear of other pins, not of each commit.
        tag = entity_tag(encode((shown.items, shown.left_out)))
        headers = (
            (b"kb-revision", b"%d" % state.revision),
            (b"etag", tag.encode()),
            NO_CACHE,
        )
        return Answer(200, encode(shown), headers)

    def work(connection: Connection) -> Answer:
        return in_snapshot(connection, call, moment, answer)

    return await call.read_anywhere(work, min_revision=given.min_revision, is_long=True)


OPERATIONS = (read_context,)
