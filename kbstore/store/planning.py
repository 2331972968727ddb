"""What SQLite's query planner is told about the indexes.

Without statistics it takes the first columns of any index for selective. In ours they are the
knowledge base and the generation, the same in most rows, so that it would rather scan the
primary key than look up by the columns that follow in another index. The figures below are
shapes, not counts: written once with the schema, they keep plans the same for ever.
"""

from collections.abc import Iterator

from kbstore.store.connection import Connection

_TABLE_ROWS = 1_000_000
_PARTIAL_INDEX_ROWS = 100_000

_SHARED_COLUMNS = ("kb_id", "generation")
"""Leading columns that many rows of a file share: a tenth of them, to the planner."""

_ROWS_LEFT = (100, 10, 2)
"""How many rows are left once the first, the second, the third column after them is known."""


def write_planner_statistics(connection: Connection) -> None:
    """Replaces the statistics of every index; connections opened from now on plan by them."""
    raw = connection.raw
    # This makes the table of statistics where there is none, and analyses nothing.
    raw.execute("ANALYZE sqlite_schema")
    raw.execute("DELETE FROM sqlite_stat1")
    raw.executemany(
        "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)", list(_statistics(connection))
    )
    raw.execute("ANALYZE sqlite_schema")


def _statistics(connection: Connection) -> Iterator[tuple[str, str, str]]:
    """For each index its table, its name and "rows, rows left by one column, by two, ..."."""
    indexes = connection.raw.execute(
        'SELECT tables.name, listed.name, listed."unique", listed.partial, stored.name IS NULL'
        " FROM sqlite_schema AS tables"
        " JOIN pragma_index_list(tables.name) AS listed"
        " LEFT JOIN sqlite_schema AS stored"
        " ON stored.name = listed.name AND stored.type = 'index'"
        " WHERE tables.type = 'table'"
    ).fetchall()
    for table, index, unique, partial, is_table in indexes:
        columns = [
            str(row[0])
            for row in connection.raw.execute(
                "SELECT name FROM pragma_index_info(?) ORDER BY seqno", (index,)
            )
        ]
        rows = _PARTIAL_INDEX_ROWS if partial else _TABLE_ROWS
        left = _rows_left(columns, rows, unique=bool(unique))
        # The primary key that a table without rowids is stored by goes by the table's name.
        name = table if is_table else index
        yield table, name, " ".join(str(number) for number in (rows, *left))


def _rows_left(columns: list[str], rows: int, *, unique: bool) -> list[int]:
    own = [column for column in columns if column not in _SHARED_COLUMNS]
    left = [rows // 10] * (len(columns) - len(own))
    left += [_ROWS_LEFT[min(known, len(_ROWS_LEFT) - 1)] for known in range(len(own))]
    if unique:
        left[-1] = 1
    return left
