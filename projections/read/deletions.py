"""What was deleted and can be restored, newest first."""

from typing import cast
from uuid import UUID

from sqlalchemy import and_, bindparam, or_, select, tuple_

from kbstore.store.statements import Row, Statement
from kbstore.store.tables import commits
from projections.intervals import of_kb
from projections.read.filters import owned_scope, page_is_readable
from projections.read.pages import shown_time
from projections.read.rows import last_row, readable_row
from projections.read.slices import Slice
from projections.read.standing import place_of
from projections.snapshot import Snapshot
from projections.tables import activity, deletions, pages
from projections.views import DeletionView

_D = deletions.c
_DELETED = Statement(
    select(
        _D.page_id, _D.version, _D.deletion, _D.position, commits.c.committed_at, activity.c.actor
    )
    .select_from(deletions)
    .join(
        pages,
        and_(
            pages.c.kb_id == _D.kb_id,
            pages.c.generation == _D.generation,
            pages.c.page_id == _D.page_id,
        ),
    )
    .join(commits, and_(commits.c.kb_id == _D.kb_id, commits.c.revision == _D.deletion))
    .join(
        activity,
        and_(
            activity.c.kb_id == _D.kb_id,
            activity.c.generation == _D.generation,
            activity.c.position == _D.position,
        ),
    )
    .where(
        of_kb(deletions),
        _D.deletion <= bindparam("revision"),
        or_(_D.restored_at.is_(None), _D.restored_at > bindparam("revision")),
        tuple_(_D.deletion, _D.page_id) < tuple_(bindparam("deletion"), bindparam("page_id")),
        owned_scope(_D.scope),
        page_is_readable(_D.scope),
    )
    .order_by(_D.deletion.desc(), _D.page_id.desc())
    .limit(bindparam("limit"))
)

_AFTER_ALL_IDS = b"\xff" * 17


def list_deletions(
    snapshot: Snapshot, after: tuple[int, UUID] | None, limit: int
) -> Slice[DeletionView, tuple[int, UUID]]:
    """The pages that were deleted and not restored up to the revision, from the one after
    `after` (its `deletion` and `page_id`) on.

    Shows pages whose last scope the caller owns, all to an auditor. A ref is the one the page
    had just before it was deleted.
    """
    deletion, page_id = (
        (snapshot.revision, _AFTER_ALL_IDS) if after is None else (after[0], after[1].bytes)
    )
    rows = snapshot.all(
        _DELETED, deletion=deletion, page_id=page_id, limit=limit + 1, **snapshot.filters
    )
    views = tuple(_view(snapshot, row) for row in rows[:limit])
    last = (views[-1].deletion, views[-1].page_id) if len(rows) > limit else None
    return Slice(items=views, after=last)


def ref_before(snapshot: Snapshot, page_id: UUID, deletion: int) -> str:
    """The ref a page had just before the revision that ended it; its id where it stood at none,
    because one commit both created and ended it, or stood where the caller cannot read."""
    before = snapshot.at(deletion - 1)
    standing = readable_row(before, page_id)
    return str(page_id) if standing is None else place_of(before, standing).ref


def _view(snapshot: Snapshot, row: Row) -> DeletionView:
    page_bytes, version, deletion, _, committed_at, actor = cast(
        tuple[bytes, int, int, int, int, str], row
    )
    page_id = UUID(bytes=page_bytes)
    last = last_row(snapshot, page_id)
    assert last is not None, "a deleted page was written"
    return DeletionView(
        page_id=page_id,
        ref=ref_before(snapshot, page_id, deletion),
        name=last.name,
        version=version,
        deletion=deletion,
        deleted_at=shown_time(committed_at),
        deleted_by=actor,
    )
