"""Pins: a row from each event on, its audience beside it."""

from sqlalchemy import bindparam, delete, select

from kbstore.domain.events import PinEvent, PinRemoved, PinSet
from kbstore.domain.state import PinState, evolve_pin
from kbstore.store.statements import Statement, Value
from projections.apply_activity import record_on_page
from projections.intervals import began_now, end_rows, of_kb, open_row
from projections.rows import NEWEST_PIN_COLUMNS, newest_pin_state, pin_values
from projections.scope_sets import ScopeSet
from projections.step import Step
from projections.tables import CURRENT, pin_audiences, pins

_PIN = pins.c.pin_id == bindparam("pin_id")
_LAST = Statement(
    select(*NEWEST_PIN_COLUMNS, pins.c.from_revision, pins.c.created_at)
    .where(of_kb(pins), _PIN)
    .order_by(pins.c.from_revision.desc())
    .limit(1)
)
_OPEN = Statement(open_row(pins))
_END = Statement(end_rows(pins, _PIN, pins.c.from_revision == bindparam("began")))
_FORGET = Statement(delete(pins).where(of_kb(pins), _PIN, began_now(pins)))
_AUDIENCE = ScopeSet(pin_audiences, "pin_id")


def apply_pin_event(step: Step, event: PinEvent) -> None:
    """Rows of `pins`, `pin_audiences` and `activity`.

    A removed pin has no current row; one that is set again was created then.
    """
    before: PinState | None = None
    began: Value = None
    created_at: Value = step.committed_at
    if event.originator_version > 1:
        row = step.all(_LAST, {"pin_id": event.originator_id.bytes})[0]
        before = newest_pin_state(row)
        to_revision, began, first_at = row[-3:]
        if to_revision == CURRENT:
            created_at = first_at
    after = evolve_pin(before, event)
    key = {"pin_id": after.pin_id.bytes}
    if isinstance(event, PinRemoved) or (began is not None and began != step.revision):
        # A removed pin's last row stays, also one of this commit: its version goes on counting.
        step.run(_END, {**key, "began": began})
    elif began is not None:
        step.run(_FORGET, key)
    if isinstance(event, PinSet):
        times: dict[str, Value] = {"updated_at": step.committed_at, "updated_by": step.actor}
        step.run(_OPEN, {**pin_values(after), "created_at": created_at, **times})
    _AUDIENCE.change(
        step,
        after.pin_id,
        before.audience if before else (),
        after.audience,
        changed_now=began == step.revision,
    )
    record_on_page(step, event, after.page_id, pin_id=after.pin_id)
