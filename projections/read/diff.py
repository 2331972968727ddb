"""Two states of a page, compared."""

from uuid import UUID

from kbstore.errors import NotFoundError
from kbstore.text.diff import unified_diff
from projections.read.bodies import body_text
from projections.read.pages import labels, standing_at_version, version_of
from projections.read.refs import standing
from projections.read.rows import PageRow, readable_row
from projections.read.standing import Standing, place_of
from projections.snapshot import Snapshot
from projections.views import DiffView, TextChange

NO_BODY = "/dev/null"
"""What diffs call the file that is not there."""


def diff_versions(
    snapshot: Snapshot, page_id: UUID, from_version: int, to_version: int
) -> DiffView:
    """What changed from one version of a page to another.

    Raises NotFoundError as `page` does, and for a version that is not or may not be read.
    """
    here = standing(snapshot, page_id)
    before = standing_at_version(snapshot, page_id, from_version)
    after = standing_at_version(snapshot, page_id, to_version)
    ref = place_of(snapshot, here).ref
    return _compare(snapshot, ref, (snapshot, before, None), (snapshot, after, None))


def diff_revisions(
    snapshot: Snapshot, page_id: UUID, from_revision: int, to_revision: int
) -> DiffView:
    """What changed on a page from one revision to another, neither above the snapshot's.

    Raises NotFoundError as `page` does, and where the page did not live at one of them.
    """
    here = standing(snapshot, page_id)
    ref = place_of(snapshot, here).ref
    states = []
    for revision in (from_revision, to_revision):
        then = snapshot.at(revision)
        state = readable_row(then, page_id)
        if state is None:
            raise NotFoundError(f'Knowledge page "{page_id}" was not there at {revision}.')
        states.append((then, state, place_of(then, state).ref))
    return _compare(snapshot, ref, states[0], states[1])


_State = tuple[Snapshot, Standing, str | None]


def _compare(snapshot: Snapshot, ref: str, before: _State, after: _State) -> DiffView:
    from_name, from_description = labels(*before[:2])
    to_name, to_description = labels(*after[:2])
    from_version, to_version = version_of(before[1]), version_of(after[1])
    return DiffView(
        page=after[1].page_id,
        ref=ref,
        from_version=from_version,
        to_version=to_version,
        name=text_change(from_name, to_name),
        description=text_change(from_description, to_description),
        place=text_change(before[2], after[2]),
        body=body_diff(
            body_of(snapshot, before[1]),
            body_of(snapshot, after[1]),
            f"{ref} version {from_version}",
            f"{ref} version {to_version}",
        ),
    )


def body_diff(before: str | None, after: str | None, from_label: str, to_label: str) -> str:
    """The unified diff of two bodies, "" where they are equal; a side that is None is called
    NO_BODY, which is all that tells none from an empty one."""
    if before is None:
        from_label = NO_BODY
    if after is None:
        to_label = NO_BODY
    diff = unified_diff(before or "", after or "", from_label, to_label)
    return diff or ("" if before == after else f"--- {from_label}\n+++ {to_label}\n")


def body_of(snapshot: Snapshot, page: Standing) -> str | None:
    """The body of a page the caller was found to be allowed to read."""
    return body_text(snapshot, page.body_ref) if isinstance(page, PageRow) else page.body


def text_change(before: str | None, after: str | None) -> TextChange | None:
    """Both sides where they differ, else None."""
    return None if before == after else TextChange(before=before, after=after)
