"""A subtree in another scope: pages follow the page above them without events of their own."""

from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, select, update

from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.store.statements import Row, Statement, Value
from projections.apply_terms import Follower, add_followers
from projections.apply_versions import ALL_COLUMNS, keep_rows
from projections.intervals import is_current, of_kb
from projections.step import Step
from projections.tables import page_versions, pages

_BELOW = (
    of_kb(page_versions),
    page_versions.c.parent_id.in_(bindparam("parents", expanding=True)),
    is_current(page_versions),
)
_SELECT = Statement(select(*ALL_COLUMNS).where(*_BELOW))
_FOLLOW = Statement(
    update(page_versions)
    .where(*_BELOW)
    .values(scope=bindparam("to_scope"), from_revision=bindparam("revision"))
)
_PAGE_ID = ALL_COLUMNS.index(page_versions.c.page_id)
_NAME = ALL_COLUMNS.index(page_versions.c.name)
_UPDATED_AT = ALL_COLUMNS.index(page_versions.c.updated_at)
_BEGAN = ALL_COLUMNS.index(page_versions.c.from_revision)
_SET_SCOPES = Statement(
    update(pages)
    .where(of_kb(pages), pages.c.page_id.in_(bindparam("page_ids", expanding=True)))
    .values(scope=bindparam("to_scope"))
)


def move_below(step: Step, page_id: UUID, scope: str) -> None:
    """Sets the scope of every live page below a page, level by level.

    Each gets a second row of the version it has, but for one whose row began in this very
    commit: that was never seen.
    """
    above: list[Value] = [page_id.bytes]
    for _ in range(NESTING_LEVELS_MAX):
        rows = step.all(_SELECT, {"parents": above})
        if not rows:
            return
        keep_rows(step, [row for row in rows if row[_BEGAN] != step.revision])
        step.run(_FOLLOW, {"parents": above, "to_scope": scope})
        above = [row[_PAGE_ID] for row in rows]
        add_followers(step, scope, [_follower(row) for row in rows])
        step.run(_SET_SCOPES, {"page_ids": above, "to_scope": scope})
    raise AssertionError(f"pages nest more than {NESTING_LEVELS_MAX} levels below {page_id}")


def _follower(row: Row) -> Follower:
    # Whatever stands below another page is no scope page.
    return Follower(
        UUID(bytes=cast(bytes, row[_PAGE_ID])),
        cast(str, row[_NAME]),
        cast(int, row[_UPDATED_AT]),
    )
