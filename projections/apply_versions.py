"""Page versions: the current row of a page changes in place, what it was is kept as a copy.

The current row has one key for as long as its page lives. So an edit moves nothing in the
indexes by place, key and name, and adds one row to each of the others.
"""

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from sqlalchemy import bindparam, insert, select, update

from kbstore.domain.events import PageEvent
from kbstore.domain.state import PageState
from kbstore.store.statements import Row, Statement, Value
from projections.intervals import is_current, of_kb, open_row
from projections.rows import VERSION_COLUMNS, version_state, version_values
from projections.step import Step
from projections.tables import page_versions

ALL_COLUMNS = (
    *VERSION_COLUMNS,
    *(column for column in page_versions.c if column not in set(VERSION_COLUMNS)),
)
"""Every column, in the order that `version_state` reads."""

_NAMES = [column.name for column in ALL_COLUMNS]
_BEGAN = _NAMES.index("from_revision")
_PLACE = ("scope", "parent_id", "key", "key_fold", "name", "name_fold", "name_ref")
_CONTENT = ("description", "description_ref", "body_ref", "links", "updated_at", "updated_by")
_CURRENT = (
    of_kb(page_versions),
    page_versions.c.page_id == bindparam("page_id"),
    is_current(page_versions),
)

_OPEN = Statement(open_row(page_versions))
_KEEP = Statement(insert(page_versions))
_SELECT = Statement(select(*ALL_COLUMNS).where(*_CURRENT))
_END = Statement(
    update(page_versions)
    .where(*_CURRENT)
    .values(to_revision=bindparam("revision"), ended_by=bindparam("position"))
)


def _change(*names: str) -> Statement:
    values: dict[str, object] = {name: bindparam(name) for name in ("version", *names)}
    values["from_revision"] = bindparam("revision")
    return Statement(update(page_versions).where(*_CURRENT).values(values))


# What a statement sets counts as changed for the indexes, whatever the values are.
_CHANGE_CONTENT = _change(*_CONTENT)
_CHANGE_ALL = _change(*_PLACE, *_CONTENT)


class CurrentVersion(Struct, frozen=True):
    """The current row of a page, and the page as it shows it."""

    page: PageState
    row: Row

    @property
    def from_revision(self) -> int:
        return cast(int, self.row[_BEGAN])


def current_version(step: Step, event: PageEvent) -> CurrentVersion:
    """The row that an event of a live page goes on from."""
    rows = step.all(_SELECT, {"page_id": event.originator_id.bytes})
    if not rows:
        raise AssertionError(f"{event.topic} does not continue page {event.originator_id}")
    return CurrentVersion(version_state(rows[0]), rows[0])


def open_version(step: Step, page: PageState, author: str) -> None:
    """The first row of a page, or of one that comes back."""
    step.run(_OPEN, {**_values(step, page, author), "ended_by": 0})


def change_version(step: Step, current: CurrentVersion, page: PageState) -> None:
    """Makes the current row show the page as the event left it."""
    keep_rows(step, [current.row])
    before = current.page
    stays = (page.scope, page.parent_id, page.key, page.name_ref) == (
        before.scope,
        before.parent_id,
        before.key,
        before.name_ref,
    )
    step.run(_CHANGE_CONTENT if stays else _CHANGE_ALL, _values(step, page, step.actor))


def end_version(step: Step, page: PageState) -> None:
    """Ends the current row of a page that is gone."""
    step.run(_END, {"page_id": page.page_id.bytes, "position": step.position})


def keep_rows(step: Step, rows: Sequence[Row]) -> None:
    """Copies of current rows, with all their columns, that end at this event."""
    ended: dict[str, Value] = {"to_revision": step.revision, "ended_by": step.position}
    step.run_many(_KEEP, [{**dict(zip(_NAMES, row, strict=True)), **ended} for row in rows])


def _values(step: Step, page: PageState, author: str) -> dict[str, Value]:
    return {**version_values(page), "updated_at": step.committed_at, "updated_by": author}
