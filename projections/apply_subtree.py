"""A subtree in another scope: pages follow the page above them without events of their own."""

from uuid import UUID

from sqlalchemy import bindparam, update

from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.store.statements import Statement, Value
from projections.intervals import began_now, end_rows, is_current, of_kb, open_row
from projections.step import Step
from projections.tables import page_versions, pages

_COLUMNS = [column.name for column in page_versions.c]
_BELOW = page_versions.c.parent_id.in_(bindparam("parents", expanding=True))
_FOLLOW_NEW = Statement(
    update(page_versions)
    .where(of_kb(page_versions), _BELOW, is_current(page_versions), began_now(page_versions))
    .values(scope=bindparam("to_scope"))
    .returning(page_versions.c.page_id)
)
_END_BELOW = Statement(
    end_rows(
        page_versions, _BELOW, page_versions.c.from_revision < bindparam("revision")
    ).returning(*page_versions.c)
)
_OPEN = Statement(open_row(page_versions))
_SET_SCOPES = Statement(
    update(pages)
    .where(of_kb(pages), pages.c.page_id.in_(bindparam("page_ids", expanding=True)))
    .values(scope=bindparam("to_scope"))
)


def move_below(step: Step, page_id: UUID, scope: str) -> None:
    """Sets the scope of every live page below a page, level by level.

    Each gets a second row of the version it has. A row that began in this very commit was
    never seen, so it changes in place.
    """
    above: list[Value] = [page_id.bytes]
    for _ in range(NESTING_LEVELS_MAX):
        values = {"parents": above, "to_scope": scope}
        new = step.all(_FOLLOW_NEW, values)
        ended = [dict(zip(_COLUMNS, row, strict=True)) for row in step.all(_END_BELOW, values)]
        above = [row[0] for row in new] + [row["page_id"] for row in ended]
        if not above:
            return
        step.run_many(_OPEN, [{**row, **step.key, "scope": scope} for row in ended])
        step.run(_SET_SCOPES, {"page_ids": above, "to_scope": scope})
    raise AssertionError(f"pages nest more than {NESTING_LEVELS_MAX} levels below {page_id}")
