"""Sets of scopes with their intervals: the stamps of notes and the audiences of pins."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import Table, bindparam, delete

from kbstore.store.statements import Statement
from projections.intervals import began_now, end_rows, of_kb, open_row
from projections.step import Step


class ScopeSet:
    """A table with one row a scope of the thing that `id_column` names."""

    def __init__(self, table: Table, id_column: str) -> None:
        owner = table.c[id_column] == bindparam(id_column)
        self._id = id_column
        self._open = Statement(open_row(table))
        self._end = Statement(end_rows(table, owner, table.c.scope == bindparam("scope")))
        self._forget = Statement(
            delete(table).where(
                of_kb(table), owner, began_now(table), table.c.to_revision == bindparam("revision")
            )
        )

    def change(
        self,
        step: Step,
        owner: UUID,
        before: Collection[str],
        after: Collection[str],
        *,
        changed_now: bool = False,
    ) -> None:
        """Makes `before` into `after`; `changed_now` when an earlier event of this commit may
        have changed the set, so that rows of this very revision may stand already."""
        had, has = dict.fromkeys(before), dict.fromkeys(after)
        self._each(step, self._end, owner, [scope for scope in had if scope not in has])
        if changed_now:
            step.run(self._forget, {self._id: owner.bytes})
        self._each(step, self._open, owner, [scope for scope in has if scope not in had])

    def _each(self, step: Step, statement: Statement, owner: UUID, scopes: list[str]) -> None:
        step.run_many(statement, [{self._id: owner.bytes, "scope": scope} for scope in scopes])
