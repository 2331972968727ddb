"""Checking that each value is of its column's kind, so that what follows can rely on it.

SQLite keeps a value of any storage class in any column, and neither back end knows how long an
id or a digest is.
"""

from collections.abc import Sequence

from sqlalchemy import (
    Column,
    ColumnElement,
    LargeBinary,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
)

from kbstore.store.connection import Connection
from kbstore.store.sqlite import SqliteConnection
from kbstore.store.statements import Statement, Value
from kbstore.store.tables import commits, events, heads, texts
from projections.checksum import TABLES
from projections.verify_report import Failures, shown_key

_NULL: ColumnElement[str] = literal_column("'null'")


class _Values:
    """The statements that find the wrong values of a table."""

    def __init__(self, table: Table) -> None:
        self.name = str(table.name)
        scoped = [name for name in ("kb_id", "generation") if name in table.primary_key.columns]
        self.keys = [column for column in table.primary_key.columns if column.name not in scoped]
        columns = [column for column in table.c if column.name not in scoped]
        self.columns = [column.name for column in columns]
        condition = and_(*(table.c[name] == bindparam(name) for name in scoped))
        classes = [
            or_(_is_of_other_class(column), _is_of_other_length(column)) for column in columns
        ]
        self.on_sqlite = Statement(self._finding(classes).where(condition))
        lengths = [_is_of_other_length(column) for column in columns]
        self.elsewhere = Statement(self._finding(lengths).where(condition))

    def _finding(self, wrong: Sequence[ColumnElement[bool]]) -> Select[tuple[object, ...]]:
        """The key of each row with a wrong value, and 1 for each column that has one."""
        marks = [case((each, 1), else_=0) for each in wrong]
        return select(*self.keys, *marks).where(or_(*wrong))

    def check(self, connection: Connection, values: dict[str, Value], failures: Failures) -> None:
        is_sqlite = isinstance(connection, SqliteConnection)
        statement = self.on_sqlite if is_sqlite else self.elsewhere
        names = [column.name for column in self.keys]
        for row in connection.each(statement, values):
            key = dict(zip(names, row, strict=False))
            marks = row[len(names) :]
            wrong = [name for name, mark in zip(self.columns, marks, strict=True) if mark]
            where = f"{self.name} {shown_key(key)}".rstrip()
            failures.add(f"no such value can stand in {', '.join(wrong)}", where)


def _is_of_other_class(column: Column[object]) -> ColumnElement[bool]:
    storage = func.typeof(column)
    own = storage != literal_column(f"'{_class(column)}'")
    return and_(own, storage != _NULL) if column.nullable else own


def _class(column: Column[object]) -> str:
    if isinstance(column.type, LargeBinary):
        return "blob"
    return "text" if isinstance(column.type, Text) else "integer"


def _is_of_other_length(column: Column[object]) -> ColumnElement[bool]:
    length = column.type.length if isinstance(column.type, LargeBinary) else None
    if length is None:
        return literal_column("0") == literal_column("1")
    return func.length(column) != length


_HEAD = _Values(heads)
_LOG = [_Values(table) for table in (commits, events, texts)]
_ROWS = [_Values(table) for table in TABLES]


def check_head_values(connection: Connection, kb_id: bytes, failures: Failures) -> None:
    """Checks the row that says where the log ends and which generation counts."""
    _HEAD.check(connection, {"kb_id": kb_id}, failures)


def check_values(connection: Connection, kb_id: bytes, generation: int, failures: Failures) -> None:
    """Checks the log, its texts and the rows of a generation."""
    for values in _LOG:
        values.check(connection, {"kb_id": kb_id}, failures)
    for values in _ROWS:
        values.check(connection, {"kb_id": kb_id, "generation": generation}, failures)
