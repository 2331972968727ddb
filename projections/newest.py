"""Pages as the last event left them: what deciding and projecting both start from."""

from sqlalchemy import bindparam, select

from kbstore.store.statements import Statement
from projections.intervals import is_current, of_kb
from projections.rows import NEWEST_PAGE_COLUMNS, PAGE_COLUMNS, PAGE_OF_VERSION
from projections.tables import page_versions, pages

LIVE_PAGES = (
    select(*PAGE_COLUMNS)
    .join_from(page_versions, pages, PAGE_OF_VERSION)
    .where(of_kb(page_versions), is_current(page_versions))
)
"""The current row of every live page, for further conditions."""

NEWEST_ROWS = (
    select(*NEWEST_PAGE_COLUMNS, pages.c.ended_at)
    .join_from(page_versions, pages, PAGE_OF_VERSION)
    .where(of_kb(page_versions), page_versions.c.page_id == bindparam("page_id"))
    .order_by(page_versions.c.to_revision.desc(), page_versions.c.ended_by.desc())
    .limit(1)
)
NEWEST_PAGE = Statement(NEWEST_ROWS)
"""The last row of a page, live or gone, with NEWEST_PAGE_COLUMNS and `ended_at`."""
