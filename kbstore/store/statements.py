"""Statements: written in SQLAlchemy Core, compiled once, run on a plain driver connection.

Core's own `execute` costs six times a sqlite3 call; the SQL text it compiles costs nothing.
Callers name parameters; a driver gets them in the order of its marks, which it binds fastest.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import TypeAlias, cast

from sqlalchemy import BindParameter, any_
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement, operators
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BinaryExpression
from sqlalchemy.sql.visitors import iterate, replacement_traverse

Value: TypeAlias = str | int | float | bytes | bool | None
Row: TypeAlias = tuple[Value, ...]
Values: TypeAlias = Mapping[str, Value | Collection[Value]]
Bound: TypeAlias = tuple[Value | list[Value], ...]

_EXPANDING = re.compile(r"\(__\[POSTCOMPILE_(\w+?)\]\)")
_SQLITE: Dialect = sqlite.dialect(paramstyle="qmark")
# Of the PostgreSQL dialects the one that writes `$1`, as the server wants it, and a cast to each
# parameter, without which the server would not know what a lone parameter is.
_POSTGRESQL: Dialect = PGDialect_asyncpg()  # type: ignore[no-untyped-call]


class Statement:
    """A Core statement with its SQL for each back end.

    `IN` lists are `column.in_(bindparam("scopes", expanding=True))`. SQLite's text of a
    statement with lists depends on their lengths, rounded up to a power of two, and is cached
    by them; PostgreSQL takes a list as one parameter.
    """

    def __init__(self, clause: ClauseElement) -> None:
        compiled = clause.compile(dialect=_SQLITE, compile_kwargs={"render_postcompile": False})
        assert isinstance(compiled, SQLCompiler)
        # `NOT IN` a list padded with NULL would select nothing.
        assert not any(map(_is_not_in_list, iterate(clause))), "NOT IN takes no list"
        self.clause = clause
        self.sqlite = str(compiled)
        """The SQL text for SQLite, lists unexpanded."""
        self.lists = frozenset(_EXPANDING.findall(self.sqlite))
        # A literal in the clause becomes a bind with a value of its own, known only to Core.
        self.constants = self._constants(compiled)
        self.parameters = frozenset(compiled.params)
        self._names = tuple(compiled.positiontup or ())
        self._pick = _picker(self._names)

    def bind(self, values: Values) -> tuple[str, tuple[Value, ...]]:
        """The SQL for SQLite and its parameters for one call; a list may be empty.

        Values that the statement has no parameter for are passed over.
        """
        if self.constants:
            values = {**self.constants, **values}
        if not self.lists:
            return self.sqlite, cast(tuple[Value, ...], self._pick(values))
        bound: list[Value] = []
        sizes = []
        for name in self._names:
            if name not in self.lists:
                bound.append(cast(Value, values[name]))
                continue
            items = cast(Collection[Value], values[name])
            size = 1 << max(0, len(items) - 1).bit_length()
            sizes.append(size)
            bound += items
            # NULL equals nothing, so it pads a list and stands for an empty one.
            bound += [None] * (size - len(items))
        return _expand(self.sqlite, tuple(sizes)), tuple(bound)

    @property
    def postgresql(self) -> str:
        """The SQL text for PostgreSQL, with `$1` for the first parameter."""
        return self._postgresql[0]

    def bind_postgresql(self, values: Values) -> tuple[str, Bound]:
        """The same for PostgreSQL."""
        sql, pick, constants = self._postgresql
        if constants:
            values = {**constants, **values}
        if self.lists:
            values = {
                name: list(cast(Collection[Value], value)) if name in self.lists else value
                for name, value in values.items()
            }
        return sql, pick(values)

    @cached_property
    def _postgresql(self) -> tuple[str, Callable[[Values], Bound], dict[str, Value]]:
        clause = cast(ClauseElement, replacement_traverse(self.clause, {}, _list_as_array))
        compiled = clause.compile(dialect=_POSTGRESQL)
        assert isinstance(compiled, SQLCompiler)
        names = tuple(compiled.positiontup or ())
        return str(compiled), _picker(names), self._constants(compiled)

    def _constants(self, compiled: SQLCompiler) -> dict[str, Value]:
        return {
            name: value
            for name, value in compiled.params.items()
            if value is not None and name not in self.lists
        }


def _list_as_array(element: object, **_: object) -> ClauseElement | None:
    """`column IN (list)` as `column = ANY (array)`; other parts stay as they are."""
    compared = _compared_to_list(element)
    if compared is None or compared.operator is not operators.in_op:
        return None
    return compared.left == any_(BindParameter(compared.right.key, type_=ARRAY(compared.left.type)))


def _is_not_in_list(element: object) -> bool:
    compared = _compared_to_list(element)
    return compared is not None and compared.operator is operators.not_in_op


def _compared_to_list(element: object) -> BinaryExpression[object] | None:
    """The element if it compares something to a list of values."""
    if not isinstance(element, BinaryExpression):
        return None
    right = element.right
    return element if isinstance(right, BindParameter) and right.expanding else None


def _picker(names: tuple[str, ...]) -> Callable[[Values], Bound]:
    """Takes the values of these names, in their order."""
    if len(names) > 1:
        return cast(Callable[[Values], Bound], itemgetter(*names))
    return lambda values: tuple(cast(Value, values[name]) for name in names)


@lru_cache(maxsize=2_048)
def _expand(sql: str, sizes: tuple[int, ...]) -> str:
    """The text with as many marks in each list, in their order, as `sizes` says."""
    left = iter(sizes)
    return _EXPANDING.sub(lambda _: f"({', '.join('?' * next(left))})", sql)
