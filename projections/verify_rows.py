"""Comparing the rows that stand with those a replay gives, and naming the ones that differ."""

from collections.abc import Iterator
from uuid import UUID

from sqlalchemy import Table, bindparam, select

from kbstore.store.connection import Connection
from kbstore.store.statements import Row, Statement, Value
from projections.checksum import TABLES, content_columns, plain_row, table_checksums
from projections.intervals import of_kb
from projections.verify_report import Failures, shown_key

_ROWS_NAMED_MAX = 10
"""The differing rows that are named for each table."""


class _TableRows:
    """The statements that walk a table and find one of its rows by key."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.columns = [column.name for column in content_columns(table)]
        self.keys = [
            column.name
            for column in table.primary_key.columns
            if column.name not in ("kb_id", "generation")
        ]
        by_key = [table.c[name] == bindparam(name) for name in self.keys]
        rows = select(*content_columns(table)).where(of_kb(table))
        self.all = Statement(rows)
        self.one = Statement(rows.where(*by_key))

    def key(self, row: Row) -> dict[str, Value]:
        return {name: row[self.columns.index(name)] for name in self.keys}


_TABLES = {str(table.name): _TableRows(table) for table in TABLES}


def check_rows(
    live: Connection,
    live_generation: int,
    replayed: Connection,
    replayed_generation: int,
    kb_id: UUID,
    failures: Failures,
) -> None:
    """Compares the checksums of all tables; where they differ, names the rows that do."""
    sums = table_checksums(live, kb_id, live_generation).tables
    expected = table_checksums(replayed, kb_id, replayed_generation).tables
    here: dict[str, Value] = {"kb_id": kb_id.bytes, "generation": live_generation}
    there: dict[str, Value] = {"kb_id": kb_id.bytes, "generation": replayed_generation}
    for name, rows in _TABLES.items():
        if sums[name] == expected[name]:
            continue
        named = 0
        for what, where in _differences(rows, (live, here), (replayed, there)):
            failures.add(what, f"{name} {where}")
            named += 1
            if named == _ROWS_NAMED_MAX:
                break
        if not named:
            failures.add("the checksums differ", name)


_Side = tuple[Connection, dict[str, Value]]


def _differences(rows: _TableRows, live: _Side, replayed: _Side) -> Iterator[tuple[str, str]]:
    """What is wrong and the key of the row, for each row that one side alone has as it is."""
    for row in live[0].each(rows.all, live[1]):
        key = rows.key(row)
        other = replayed[0].one(rows.one, {**replayed[1], **key})
        if other is None:
            yield "replaying gives no such row", shown_key(key)
        elif plain_row(rows.table, other) != plain_row(rows.table, row):
            names = [
                name
                for name, here, there in zip(rows.columns, row, other, strict=True)
                if here != there
            ]
            yield f"replaying gives another {', '.join(names)}", shown_key(key)
    for row in replayed[0].each(rows.all, replayed[1]):
        key = rows.key(row)
        if live[0].one(rows.one, {**live[1], **key}) is None:
            yield "a row that replaying gives is missing", shown_key(key)
