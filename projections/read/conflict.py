"""What a caller needs to go on after a version conflict, as far as he may read it."""

from uuid import UUID

from kbstore.text.diff import merge_lines
from projections.read.diff import body_diff, body_of, text_change
from projections.read.pages import labels, times, version_of
from projections.read.refs import standing
from projections.read.rows import PageRow, row_of, row_of_version
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.views import Json

_FIRST_WRITTEN = 1


def conflict_details(
    snapshot: Snapshot, page_id: UUID, expected_version: int, body: str | None = None
) -> dict[str, Json]:
    """The details of a VersionConflictError, from a snapshot of the head.

    `pageId`, `ref`, `expectedVersion`, `currentVersion`, `currentRevision`, `updatedBy`,
    `updatedAt`; `diff`, a unified diff from the expected body to the current one; `changes`,
    with `{before, after}` for each of `name`, `description` and `ref` that differs; and where
    the refused edit brought a whole `body` that does not overlap with what others changed,
    `merged`: the body to send next, with the `expectedVersion` to send it with. `diff`,
    `changes` and `merged` are left out where the expected version is unknown or unreadable.
    Raises NotFoundError for a page that is missing or hidden.
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
    base_body, current_body = body_of(snapshot, base), body_of(snapshot, page)
    details["diff"] = body_diff(
        base_body,
        current_body,
        f"{ref} version {expected_version}",
        f"{ref} version {current_version}",
    )
    details["changes"] = _changes(snapshot, base, page)
    merged = None if body is None else merge_lines(base_body or "", body, current_body or "")
    if merged is not None:
        details["merged"] = {"body": merged, "expectedVersion": current_version}
    return details


def _base(snapshot: Snapshot, page: Standing, version: int) -> PageRow | None:
    """The version an edit was made from. A declared page is written as it was declared, so
    version 1 says what version 0 said."""
    if not isinstance(page, PageRow) or not 0 <= version < page.version:
        return None
    return row_of_version(snapshot, page.page_id, max(version, _FIRST_WRITTEN))


def _changes(snapshot: Snapshot, base: PageRow, page: Standing) -> dict[str, Json]:
    """What else of the page differs from the version an edit was made from."""
    before, after = labels(snapshot, base), labels(snapshot, page)
    ref = place_of(snapshot, page).ref
    changes = {
        "name": text_change(before[0], after[0]),
        "description": text_change(before[1], after[1]),
        "ref": text_change(_ref_then(snapshot, base) or ref, ref),
    }
    return {
        field: {"before": change.before, "after": change.after}
        for field, change in changes.items()
        if change is not None
    }


def _ref_then(snapshot: Snapshot, row: PageRow) -> str | None:
    """The ref a row that has ended had; None where it was valid at no revision."""
    then = snapshot.at(row.to_revision - 1)
    valid = row_of(then, row.page_id)
    if valid is None or _place(valid) != _place(row):
        return None
    return place_of(then, valid).ref


def _place(row: PageRow) -> tuple[str, UUID | None, str | None]:
    return row.scope, row.parent_id, row.key
