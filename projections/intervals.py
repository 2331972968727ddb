"""Rows that are valid from one revision up to another: how they are found, opened and ended."""

from sqlalchemy import (
    ColumnElement,
    Insert,
    Table,
    Update,
    and_,
    bindparam,
    insert,
    literal_column,
    update,
)

from projections.tables import CURRENT

CURRENT_LITERAL: ColumnElement[int] = literal_column(str(CURRENT))
"""`CURRENT` as it must stand in the SQL for a partial index of current rows to be used."""


def of_kb(table: Table) -> ColumnElement[bool]:
    """The start of every key, as the parameters `kb_id` and `generation`."""
    return and_(table.c.kb_id == bindparam("kb_id"), table.c.generation == bindparam("generation"))


def is_current(table: Table) -> ColumnElement[bool]:
    """Whether no revision has ended the row."""
    return table.c.to_revision == CURRENT_LITERAL


def began_now(table: Table) -> ColumnElement[bool]:
    """Whether the row began in the commit of the parameter `revision`: it was never seen."""
    return table.c.from_revision == bindparam("revision")


def open_row(table: Table) -> Insert:
    """Inserts a row valid from the parameter `revision` on; the others are its columns."""
    interval = {"from_revision": bindparam("revision"), "to_revision": CURRENT_LITERAL}
    columns: dict[str, object] = {column.name: bindparam(column.name) for column in table.c}
    return insert(table).values({**columns, **interval})


def end_rows(table: Table, *conditions: ColumnElement[bool]) -> Update:
    """Ends the current rows that meet the conditions at the parameter `revision`."""
    ended = update(table).where(of_kb(table), *conditions, is_current(table))
    return ended.values(to_revision=bindparam("revision"))
