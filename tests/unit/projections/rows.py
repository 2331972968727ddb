"""Reading whole tables, and what must hold of any rows with intervals."""

from collections import defaultdict
from typing import Any
from uuid import UUID

from sqlalchemy import Table

from kbstore.store.connection import Connection
from projections.checksum import TABLES, content_columns
from tests.backends import change, query
from tests.unit.projections.history import History

Rows = dict[str, list[dict[str, Any]]]

# What may have one row at a time; a link's `ordinal` counts within its text.
SUBJECTS = {
    "page_versions": ("page_id",),
    "notes": ("note_id",),
    "note_stamps": ("note_id", "scope"),
    "pins": ("pin_id",),
    "pin_audiences": ("pin_id", "scope"),
    "links": ("source_id", "ordinal"),
    "configurations": (),
}


def all_rows(connection: Connection, kb_id: UUID, generation: int) -> Rows:
    """Every row of every table, in key order, without knowledge base and generation."""
    found: Rows = {}
    for table in TABLES:
        names = [column.name for column in content_columns(table)]
        quoted = ", ".join(f'"{name}"' for name in names)
        key = ", ".join(f'"{column.name}"' for column in table.primary_key.columns)
        rows = query(
            connection,
            f"SELECT {quoted} FROM {table.name} WHERE kb_id = ? AND generation = ? ORDER BY {key}",
            kb_id.bytes,
            generation,
        )
        found[table.name] = [dict(zip(names, row, strict=True)) for row in rows]
    return found


def broken_intervals(rows: Rows) -> list[str]:
    """Rows that end before they begin, and rows of one subject that are valid together."""
    broken = []
    for table, subject in SUBJECTS.items():
        by_subject = defaultdict(list)
        for row in rows[table]:
            by_subject[tuple(row[name] for name in subject)].append(
                (row["from_revision"], row["to_revision"])
            )
        for key, intervals in by_subject.items():
            last = 0
            for begin, end in sorted(intervals):
                if not last <= begin <= end:
                    broken.append(f"{table} {key}: {sorted(intervals)}")
                last = end
    return broken


def rows_of(history: History, table: str, **where: object) -> list[dict[str, Any]]:
    """The rows of a table in key order, those alone that have these values."""
    wanted = {k: v.bytes if isinstance(v, UUID) else v for k, v in where.items()}
    rows = all_rows(history.connection, history.kb_id, 1)[table]
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def change_last(history: History, table: Table, column: str) -> None:
    """Changes a byte, or a number, in the last row that has a value in the column."""
    key = [f'"{c.name}"' for c in table.primary_key.columns]
    rows = query(
        history.connection,
        f'SELECT "{column}", {", ".join(key)} FROM {table.name} WHERE "{column}" IS NOT NULL'
        f" ORDER BY {', '.join(key)} DESC LIMIT 1",
    )
    assert rows, f"nothing stands in {table.name}.{column}"
    value, *place = rows[0]
    where = " AND ".join(f"{name} = ?" for name in key)
    sql = f'UPDATE {table.name} SET "{column}" = ? WHERE {where}'
    assert change(history.connection, sql, _other(value), *place) == 1


def _other(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ 1024
    if isinstance(value, str):
        return value[:-1] + chr(ord(value[-1]) ^ 1) if value else "x"
    assert isinstance(value, bytes)
    return value[:-1] + bytes([value[-1] ^ 1])
