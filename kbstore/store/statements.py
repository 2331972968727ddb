"""Statements: written in SQLAlchemy Core, compiled once, run on a plain driver connection.

Core's own `execute` costs six times a sqlite3 call; the SQL text it compiles costs nothing.
Callers name parameters; SQLite gets them in the order of its marks, which it binds fastest.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import TypeAlias, cast

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

Value: TypeAlias = str | int | float | bytes | bool | None
Row: TypeAlias = tuple[Value, ...]
Values: TypeAlias = Mapping[str, Value | Collection[Value]]

_EXPANDING = re.compile(r"\(__\[POSTCOMPILE_(\w+?)\]\)")
_SQLITE: Dialect = sqlite.dialect(paramstyle="qmark")
_POSTGRESQL: Dialect = postgresql.dialect(paramstyle="pyformat")  # type: ignore[no-untyped-call]


class Statement:
    """A Core statement with its SQL for each back end.

    `IN` lists are `column.in_(bindparam("scopes", expanding=True))`; the SQL of a statement
    with lists depends on their lengths, rounded up to a power of two, and is cached by them.
    """

    def __init__(self, clause: ClauseElement) -> None:
        compiled = clause.compile(dialect=_SQLITE, compile_kwargs={"render_postcompile": False})
        assert isinstance(compiled, SQLCompiler)
        self.clause = clause
        self.sqlite = str(compiled)
        """The SQL text for SQLite, lists unexpanded."""
        self.lists = frozenset(_EXPANDING.findall(self.sqlite))
        # A literal in the clause becomes a bind with a value of its own, known only to Core.
        self.constants: dict[str, Value] = {
            name: value
            for name, value in compiled.params.items()
            if value is not None and name not in self.lists
        }
        self.parameters = frozenset(compiled.params)
        self._names = tuple(compiled.positiontup or ())
        self._pick = _picker(self._names)

    @cached_property
    def postgresql(self) -> str:
        """The SQL text for PostgreSQL, lists unexpanded."""
        return str(self.clause.compile(dialect=_POSTGRESQL))

    def bind(self, values: Values) -> tuple[str, tuple[Value, ...]]:
        """The SQL for SQLite and its parameters for one call; a list may be empty.

        Values that the statement has no parameter for are passed over.
        """
        if self.constants:
            values = {**self.constants, **values}
        if not self.lists:
            return self.sqlite, self._pick(values)
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


def _picker(names: tuple[str, ...]) -> Callable[[Values], tuple[Value, ...]]:
    """Takes the values of these names, in their order."""
    if len(names) > 1:
        return cast(Callable[[Values], tuple[Value, ...]], itemgetter(*names))
    return lambda values: tuple(cast(Value, values[name]) for name in names)


@lru_cache(maxsize=2_048)
def _expand(sql: str, sizes: tuple[int, ...]) -> str:
    """The text with as many marks in each list, in their order, as `sizes` says."""
    left = iter(sizes)
    return _EXPANDING.sub(lambda _: f"({', '.join('?' * next(left))})", sql)
