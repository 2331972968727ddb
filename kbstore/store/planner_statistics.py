"""What SQLite's planner is told about the tables, so that no plan depends on what lies in them.

Without statistics it takes two columns of a key for nearly as good as three, and scans a whole
knowledge base where an index leads to one page. What ANALYZE gathers would change from file to
file. So each file gets the same estimates, made from the shape of its indexes alone.
"""

import sqlite3
from collections.abc import Iterator, Sequence

from sqlalchemy import LargeBinary, MetaData, Table

_ROWS = 1_000_000
_ROWS_OF_ID = 20
_ROWS_OF_VALUE = 50
_ROWS_OF_PAIR = 5
_WHOLE = ("kb_id", "generation")
"""Columns that narrow nothing: one knowledge base may be all there is."""
_PARTIAL = 10
"""How many times fewer rows a partial index is taken to have."""


def write_statistics(raw: sqlite3.Connection, schema: Sequence[MetaData]) -> None:
    """Replaces the planner's statistics, within the open transaction."""
    # ANALYZE makes the table sqlite_stat1, which no other statement may create.
    raw.execute("ANALYZE")
    raw.execute("DELETE FROM sqlite_stat1")
    for metadata in schema:
        for table in metadata.sorted_tables:
            rows = [(table.name, *row) for row in _estimates(raw, table)]
            raw.executemany("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)", rows)
    raw.execute("ANALYZE sqlite_schema")


def _estimates(raw: sqlite3.Connection, table: Table) -> Iterator[tuple[str, str]]:
    """For each index its name and its `stat`: all rows, then for each longer prefix of its
    columns the rows that share their values."""
    indexes = raw.execute("SELECT * FROM pragma_index_list(?)", (table.name,))
    for _, name, is_unique, origin, is_partial in indexes.fetchall():
        columns = raw.execute("SELECT name FROM pragma_index_info(?)", (name,))
        rows = [_ROWS, *_rows_left(table, [column for (column,) in columns.fetchall()])]
        if is_partial:
            rows = [max(1, number // _PARTIAL) for number in rows]
        if is_unique:
            rows[-1] = 1
        # The primary key of a table without rowids goes by the name of the table.
        is_table = origin == "pk" and not table.dialect_options["sqlite"]["with_rowid"]
        yield table.name if is_table else name, " ".join(map(str, rows))


def _rows_left(table: Table, columns: Sequence[str]) -> Iterator[int]:
    left = _ROWS
    for column in columns:
        if column not in _WHOLE:
            is_id = isinstance(table.c[column].type, LargeBinary)
            one = _ROWS_OF_ID if is_id else _ROWS_OF_VALUE
            left = one if left == _ROWS else _ROWS_OF_PAIR
        yield left
