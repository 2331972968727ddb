"""Statements: written in SQLAlchemy Core, compiled once, run on a plain driver connection.

Core's own `execute` costs six times a sqlite3 call; the SQL text it compiles costs nothing.
Parameters are named on both back ends.
"""

import re
from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from typing import TypeAlias

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

Value: TypeAlias = str | int | float | bytes | bool | None
Row: TypeAlias = tuple[Value, ...]

_EXPANDING = re.compile(r"\(__\[POSTCOMPILE_(\w+?)\]\)")
_SQLITE: Dialect = sqlite.dialect(paramstyle="named")
_POSTGRESQL: Dialect = postgresql.dialect(paramstyle="pyformat")  # type: ignore[no-untyped-call]


class Statement:
    """A Core statement with its SQL for each back end.

    `IN` lists are `column.in_(bindparam("scopes", expanding=True))`; the SQL of a statement
    with lists depends on their lengths, rounded up to a power of two, and is cached by them.
    """

    def __init__(self, clause: ClauseElement) -> None:
        compiled = clause.compile(dialect=_SQLITE, compile_kwargs={"render_postcompile": False})
        self.clause = clause
        self.template = str(compiled)
        self.lists: tuple[str, ...] = tuple(dict.fromkeys(_EXPANDING.findall(self.template)))
        # A literal in the clause becomes a bind with a value of its own, known only to Core.
        self.constants: dict[str, Value] = {
            name: value
            for name, value in compiled.params.items()
            if value is not None and name not in self.lists
        }
        self.parameters = frozenset(compiled.params)

    @cached_property
    def postgresql(self) -> str:
        """The SQL text for PostgreSQL, lists unexpanded."""
        return str(self.clause.compile(dialect=_POSTGRESQL))

    @property
    def sqlite(self) -> str:
        """The SQL text for SQLite, lists unexpanded."""
        return self.template

    def bind(self, values: Mapping[str, Value | Collection[Value]]) -> tuple[str, dict[str, Value]]:
        """The SQL and the parameters for one call; a list may be empty."""
        if not self.lists:
            return self.template, {**self.constants, **values}  # type: ignore[dict-item]
        plain: dict[str, Value] = dict(self.constants)
        sizes = []
        for name, value in values.items():
            if name in self.lists:
                continue
            plain[name] = value  # type: ignore[assignment]
        for name in self.lists:
            items = list(values[name])  # type: ignore[arg-type]
            size = 1 << max(0, len(items) - 1).bit_length()
            # NULL equals nothing, so it pads a list and stands for an empty one.
            items += [None] * (size - len(items))
            sizes.append(size)
            for index, item in enumerate(items):
                plain[f"{name}_{index}"] = item
        return _expand(self.template, self.lists, tuple(sizes)), plain


@lru_cache(maxsize=2_048)
def _expand(template: str, lists: tuple[str, ...], sizes: tuple[int, ...]) -> str:
    counts = dict(zip(lists, sizes, strict=True))

    def binds(match: re.Match[str]) -> str:
        name = match.group(1)
        return "(" + ", ".join(f":{name}_{index}" for index in range(counts[name])) + ")"

    return _EXPANDING.sub(binds, template)
