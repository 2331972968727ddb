"""What a caller needs to go on after a version conflict, as far as he may read it."""

from uuid import UUID

from kbstore.text.diff import merge_lines, unified_diff
from projections.read.diff import body_of
from projections.read.pages import times, version_of
from projections.read.refs import standing
from projections.read.rows import PageRow, row_of_version
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.views import Json

_FIRST_WRITTEN = 1


def conflict_details(
    snapshot: Snapshot, page_id: UUID, expected_version: int, body: str | None = None
) -> dict[str, Json]:
    """The details of a VersionConflictError, from a snapshot of the head.

    `pageId`, `ref`, `expectedVersion`, `currentVersion`, `currentRevision`, `updatedBy`,
    `updatedAt`; `diff`, a unified diff from the expected body to the current one; and where
    the refused edit brought a whole `body` that does not overlap with what others changed,
    `merged`: the body to send next, with the `expectedVersion` to send it with. `diff` and
    `merged` are left out where the expected version is unknown or unreadable. Raises
    NotFoundError for a page that is missing or hidden.
    """
    page = standing(snapshot, page_id)
    ref = place_of(snapshot, page).ref
    _, updated_at, updated_by = times(snapshot, page)
    current_version = version_of(page)
    details: dict[str, Json] = {
        "pageId": str(page_id),
        "ref": ref,
        "expectedVersion": expected_version,
        "currentVersion": current_version,
        "currentRevision": snapshot.revision,
        "updatedBy": updated_by,
        "updatedAt": updated_at,
    }
    base = _base(snapshot, page, expected_version)
    if base is None:
        return details
    base_body, current_body = body_of(snapshot, base) or "", body_of(snapshot, page) or ""
    details["diff"] = unified_diff(
        base_body,
        current_body,
        f"{ref} version {expected_version}",
        f"{ref} version {current_version}",
    )
    merged = None if body is None else merge_lines(base_body, body, current_body)
    if merged is not None:
        details["merged"] = {"body": merged, "expectedVersion": current_version}
    return details


def _base(snapshot: Snapshot, page: Standing, version: int) -> PageRow | None:
    """The version an edit was made from. A declared page is written as it was declared, so
    version 1 says what version 0 said."""
    if not isinstance(page, PageRow) or not 0 <= version < page.version:
        return None
    return row_of_version(snapshot, page.page_id, max(version, _FIRST_WRITTEN))
