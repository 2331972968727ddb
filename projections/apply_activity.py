"""What happened, event by event: the rows behind histories and activity feeds."""

from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, insert, select

from kbstore.domain.events import Event
from kbstore.store.statements import Statement
from projections.intervals import of_kb
from projections.rows import bytes_or_none
from projections.step import Step
from projections.tables import activity, pages

_SCOPE_OF_PAGE = select(pages.c.scope).where(of_kb(pages), pages.c.page_id == bindparam("page_id"))
_SCOPE = Statement(_SCOPE_OF_PAGE)
_RECORD = Statement(insert(activity))
_RECORD_ON_PAGE = Statement(
    insert(activity).values(
        {
            **{column.name: bindparam(column.name) for column in activity.c},
            "scope": _SCOPE_OF_PAGE.scalar_subquery(),
        }
    )
)


def record(
    step: Step,
    event: Event,
    *,
    page_id: UUID | None = None,
    scope: str | None = None,
    scope_before: str | None = None,
    note_id: UUID | None = None,
    pin_id: UUID | None = None,
    other_page_id: UUID | None = None,
    actor: str | None = None,
) -> None:
    """Records an event. `scope` is that of the page after it, `scope_before` the one before
    it, kept only where it differs; `actor` is given when it is not the commit's."""
    step.run(
        _RECORD,
        {
            "position": step.position,
            "topic": event.topic,
            "actor": actor or step.actor,
            "page_id": bytes_or_none(page_id),
            "scope": scope,
            "scope_before": None if scope_before == scope else scope_before,
            "note_id": bytes_or_none(note_id),
            "pin_id": bytes_or_none(pin_id),
            "other_page_id": bytes_or_none(other_page_id),
            "version": event.originator_version,
        },
    )


def record_on_page(
    step: Step,
    event: Event,
    page_id: UUID,
    *,
    note_id: UUID | None = None,
    pin_id: UUID | None = None,
) -> None:
    """Records an event of a note or a pin under the scope its page stands in."""
    step.run(
        _RECORD_ON_PAGE,
        {
            "position": step.position,
            "topic": event.topic,
            "actor": step.actor,
            "page_id": page_id.bytes,
            "scope_before": None,
            "note_id": bytes_or_none(note_id),
            "pin_id": bytes_or_none(pin_id),
            "other_page_id": None,
            "version": event.originator_version,
        },
    )


def scope_of_page(step: Step, page_id: UUID) -> str:
    """The scope a page stands in, or last stood in."""
    row = step.all(_SCOPE, {"page_id": page_id.bytes})[0]
    return cast(str, row[0])
