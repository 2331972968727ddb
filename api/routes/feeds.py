"""What happened: commits, events and deletions."""

from uuid import UUID

from api.answers import Answer
from api.calls import Call
from api.listing import Part, Walk, Window, position_key, read_list
from api.operations import reads
from api.parameters import AtRevision, ListAt, Position, Revision
from api.reading import Found, State, read
from api.representations import CommitList, CommitRead, DeletionList, EventList
from kbstore.errors import NotFoundError, ValidationError
from kbstore.ids import parse_uuid
from kbstore.limits import REVISION_MAX
from projections.read.activity import commit, events, list_commits
from projections.read.deletions import list_deletions


class CommitParameters(ListAt, frozen=True, kw_only=True):
    """The commits after the revision `after`."""

    after: Revision = 0


class EventParameters(ListAt, frozen=True, kw_only=True):
    """The events after the position `after`, perhaps of one type, page or actor."""

    after: Position = 0
    type: str | None = None
    page_id: str | None = None
    actor: str | None = None


@reads(
    "listCommits",
    "/commits",
    "List the commits with what the caller may read of them, oldest first",
    parameters=CommitParameters,
    answer=CommitList,
)
async def list_all_commits(call: Call, given: CommitParameters) -> Answer:
    def query(state: State, window: Window) -> Part:
        after = given.after if window.after_position is None else window.after_position
        found = list_commits(state.snapshot, after, window.limit)
        return Part(CommitList, found.items, position_key(found.after))

    walk = Walk(operation="listCommits", shape=(given.after,), is_feed=True, is_long=True)
    return await read_list(call, given, walk, query)


@reads(
    "readCommit",
    "/commits/{revision}",
    "Read one commit",
    parameters=AtRevision,
    answer=CommitRead,
)
async def read_commit(call: Call, given: AtRevision) -> Answer:
    text = call.path["revision"]
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(REVISION_MAX))
    if not is_number or not 0 < int(text) <= REVISION_MAX:
        raise NotFoundError(f"Commit {text[:32]} not found.")

    def query(state: State) -> Found:
        view = commit(state.snapshot, int(text))
        return Found(CommitRead(revision=state.revision, final=state.final, commit=view))

    return await read(call, given, query, is_long=True)


@reads(
    "listEvents",
    "/events",
    "List the events the caller may read, oldest first",
    parameters=EventParameters,
    answer=EventList,
)
async def list_all_events(call: Call, given: EventParameters) -> Answer:
    page_id = page_id_in(given.page_id)

    def query(state: State, window: Window) -> Part:
        found = events(
            state.snapshot,
            given.after if window.after_position is None else window.after_position,
            window.limit,
            type=given.type,
            page_id=page_id,
            actor=given.actor,
        )
        return Part(EventList, found.items, position_key(found.after))

    shape = (given.after, given.type, given.page_id, given.actor)
    walk = Walk(operation="listEvents", shape=shape, is_feed=True, is_long=True)
    return await read_list(call, given, walk, query)


@reads(
    "listDeletions",
    "/deletions",
    "List the deleted pages that the caller can restore, newest first",
    parameters=ListAt,
    answer=DeletionList,
    is_list=True,
)
async def list_all_deletions(call: Call, given: ListAt) -> Answer:
    def query(state: State, window: Window) -> Part:
        pair = window.after_pair
        after = None if pair is None else (pair[1], pair[0])
        found = list_deletions(state.snapshot, after, window.limit)
        key = None if found.after is None else (found.after[1].bytes, found.after[0])
        return Part(DeletionList, found.items, key)

    return await read_list(call, given, Walk(operation="listDeletions", is_long=True), query)


def page_id_in(given: str | None) -> UUID | None:
    """The page that `pageId` names among the parameters; ValidationError for text that is no id."""
    if given is None:
        return None
    page_id = parse_uuid(given)
    if page_id is None:
        raise ValidationError("pageId must be an id.", field="pageId", reason="notAnId")
    return page_id


OPERATIONS = (list_all_commits, read_commit, list_all_events, list_all_deletions)
