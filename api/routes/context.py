"""The pinned context of the run that asks."""

from api.answers import Answer
from api.calls import Call
from api.operations import reads
from api.parameters import AtRevision
from api.reading import Found, Shown, State, read
from projections.read.pinned import LeftOut, PinnedItem, pinned_context


class ContextRead(Shown, frozen=True, kw_only=True):
    """What is pinned for the scopes that the run holds. `left_out` names the pins that found no
    room; `tokens` is the estimate of what the items say."""

    items: tuple[PinnedItem, ...]
    left_out: tuple[LeftOut, ...]
    tokens: int


@reads(
    "readContext",
    "/context",
    "Read what is pinned for the run, to put before a model",
    parameters=AtRevision,
    answer=ContextRead,
)
async def read_context(call: Call, given: AtRevision) -> Answer:
    def query(state: State) -> Found:
        context = pinned_context(state.snapshot)
        shown = ContextRead(
            revision=state.revision,
            final=state.final,
            items=context.items,
            left_out=context.left_out,
            tokens=context.tokens,
        )
        # Whoever polls between turns wants to hear of other pins, not of each commit.
        return Found(shown, tagged=(shown.items, shown.left_out))

    return await read(call, given, query, is_long=True)


OPERATIONS = (read_context,)
