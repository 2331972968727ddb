"""What a refused writer needs to go on, read outside the writer and under his access."""

from uuid import UUID

from msgspec import UNSET

from api.calls import Call
from kbstore.domain.commands import (
    Batch,
    Command,
    DeletePage,
    EditPage,
    MergePage,
    Operation,
    RestorePage,
)
from kbstore.errors import (
    ConflictError,
    NotFoundError,
    RevisionConflictError,
    VersionConflictError,
)
from kbstore.ids import parse_uuid
from kbstore.store.connection import Connection
from kbstore.texts import PreparedBody
from projections.read.activity import events, list_commits
from projections.read.conflict import conflict_details
from projections.read.deletions import ref_before
from projections.read.history import history
from projections.read.rows import is_readable, last_row
from projections.snapshot import Snapshot, open_snapshot
from projections.views import EventView, Json

EVENTS_READ_MAX = 200
PAGES_TOLD_MAX = 10_000


async def enrich(call: Call, command: Command, conflict: ConflictError) -> ConflictError:
    """The refusal with all its details; others than version and revision conflicts as they are.

    Raises NotFoundError where the caller can no longer read the page.
    """
    if isinstance(conflict, (VersionConflictError, RevisionConflictError)):
        return await call.read(
            lambda connection: _enriched(connection, call, command, conflict), is_long=True
        )
    return conflict


def _enriched(
    connection: Connection,
    call: Call,
    command: Command,
    conflict: VersionConflictError | RevisionConflictError,
) -> ConflictError:
    with connection.reading():
        snapshot = open_snapshot(connection, call.kb.kb_id, call.caller)
        if isinstance(conflict, RevisionConflictError):
            pages = pages_changed_since(snapshot, int(str(conflict.details["expectedRevision"])))
            return RevisionConflictError(conflict.message, **{**conflict.details, "pages": pages})
        page_id = parse_uuid(str(conflict.details.get("pageId")))
        expected = conflict.details.get("expectedVersion")
        if page_id is None or not isinstance(expected, int):
            return conflict
        try:
            body = _body_sent(command, page_id, expected)
            details = conflict_details(snapshot, page_id, expected, body)
        except NotFoundError:
            if last_row(snapshot, page_id) is None:
                # The commit itself was to create the page: nobody has read a version of it.
                return conflict
            deleted = _details_of_deleted(snapshot, page_id)
            if deleted is None:
                raise
            details = deleted
        return VersionConflictError(conflict.message, **{**conflict.details, **details})


def _details_of_deleted(snapshot: Snapshot, page_id: UUID) -> dict[str, Json] | None:
    """Of a deleted page that the caller can restore: the ref it had, who deleted it, and when.
    None of others."""
    row = last_row(snapshot, page_id)
    if row is None or not is_readable(snapshot, row):
        return None
    (deletion,) = history(snapshot, page_id, None, 1, newest_first=True).items
    return {
        "ref": ref_before(snapshot, page_id, deletion.revision),
        "currentRevision": snapshot.revision,
        "updatedBy": deletion.actor,
        "updatedAt": deletion.at,
    }


def pages_changed_since(snapshot: Snapshot, revision: int) -> list[Json]:
    """The readable pages that an event after `revision` is about: `pageId`, `ref`, `revision`.

    The ref of a page that has ended is the one it had before, for who may see that it was.
    """
    first = list_commits(snapshot, revision, EVENTS_READ_MAX)
    while not first.items and first.after is not None:
        first = list_commits(snapshot, first.after, EVENTS_READ_MAX)
    if not first.items:
        return []
    changed: dict[UUID, EventView] = {}
    position: int | None = first.items[0].events[0].position - 1
    while position is not None and len(changed) < PAGES_TOLD_MAX:
        part = events(snapshot, position, EVENTS_READ_MAX)
        for event in part.items:
            if event.page_id is not None:
                changed[event.page_id] = event
        position = part.after
    return [
        {
            "pageId": str(page_id),
            "ref": event.ref or _ref_of_ended(snapshot, page_id),
            "revision": event.revision,
        }
        for page_id, event in changed.items()
    ]


def _ref_of_ended(snapshot: Snapshot, page_id: UUID) -> str | None:
    row = last_row(snapshot, page_id)
    if row is None or row.to_revision > snapshot.revision or not is_readable(snapshot, row):
        return None
    return ref_before(snapshot, page_id, row.to_revision)


def _body_sent(command: Command, page_id: UUID, expected: int) -> str | None:
    """The whole body that the refused command would have left the page with, where it was made
    from the version expected; None where no edit of it says the last word on the body, and for
    an unwritten page, whose text may have been another one when it was read."""
    if expected == 0:
        return None
    operations = command.operations if isinstance(command, Batch) else (command,)
    last = next((each for each in reversed(operations) if _sets_body(each, page_id)), None)
    if not isinstance(last, EditPage) or last.expected_version != expected:
        return None
    return last.body.text.value if isinstance(last.body, PreparedBody) else None


def _sets_body(operation: Operation, page_id: UUID) -> bool:
    match operation:
        case EditPage():
            return operation.page == page_id and operation.body is not UNSET
        case RestorePage() | DeletePage() | MergePage():
            return operation.page == page_id
        case _:
            return False
