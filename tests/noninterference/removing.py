"""Access filters taken away one at a time.

Of a query a filter is a condition in its SQL: it becomes one that always holds. Of Python code
it is a function that a module calls: there it passes everything.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pkgutil import iter_modules

import pytest
from msgspec import Struct
from sqlalchemy import literal_column
from sqlalchemy.sql import ClauseElement, operators
from sqlalchemy.sql.elements import BinaryExpression, BindParameter, BooleanClauseList
from sqlalchemy.sql.visitors import iterate, replacement_traverse

import projections.read
from kbstore.store.statements import Statement
from projections.read.event_rows import _Feed

ALWAYS = literal_column("1") == literal_column("1")


class Removal(Struct, frozen=True):
    """One filter; `remove` gives the block in which it is gone."""

    name: str
    apply: Callable[[pytest.MonkeyPatch], None]


# --- conditions in SQL -------------------------------------------------------------------------


def _compares(element: object, name: str) -> bool:
    """Whether the element compares something to the parameter of this name."""
    return isinstance(element, BinaryExpression) and any(
        isinstance(side, BindParameter) and side.key == name
        for side in (element.left, element.right)
    )


def _is_either(element: object) -> bool:
    return isinstance(element, BooleanClauseList) and element.operator is operators.or_


def _has(element: object, name: str) -> bool:
    return isinstance(element, ClauseElement) and any(
        isinstance(part, BindParameter) and part.key == name for part in iterate(element)
    )


def _is_scope_readable(element: object) -> bool:
    """`filters.scope_is_readable`."""
    return _is_either(element) and _compares(_first(element), "reads_all")


def _is_scope_owned(element: object) -> bool:
    """`filters.owned_scope`."""
    return _is_either(element) and _compares(_first(element), "owns_all")


def _is_shown_now(element: object) -> bool:
    """`filters.shows_now`: of what lives where it is readable, of what ended where it is owned."""
    if not _is_either(element) or _is_scope_readable(element) or _is_scope_owned(element):
        return False
    parts = _parts(element)
    return len(parts) == 2 and _has(parts[0], "readable") and not _has(parts[0], "owned")


def _parts(element: object) -> list[object]:
    assert isinstance(element, BooleanClauseList)
    return list(element.clauses)


def _first(element: object) -> object:
    return _parts(element)[0]


CONDITIONS: Mapping[str, Callable[[object], bool]] = {
    "the scope of then": _is_scope_readable,
    "the place of today": _is_shown_now,
    "who owned what ended": _is_scope_owned,
    "the stamps": lambda element: _compares(element, "stamps"),
    "events of the knowledge base": lambda element: _compares(element, "sees_kb"),
    "the audience": lambda element: _compares(element, "audience"),
}


def without(clause: ClauseElement, condition: str) -> ClauseElement | None:
    """The clause with such conditions always true; None where it has none."""
    holds, found = CONDITIONS[condition], []

    def replaced(element: object, **_: object) -> ClauseElement | None:
        if holds(element):
            found.append(element)
            return ALWAYS
        # The place of today is a condition of its own.
        if condition == "the scope of then" and _is_shown_now(element):
            return element if isinstance(element, ClauseElement) else None
        return None

    changed = replacement_traverse(clause, {}, replaced)
    assert isinstance(changed, ClauseElement)
    return changed if found else None


def _queries() -> Iterator[tuple[str, list[Statement]]]:
    """The statements of the read side by the query they are forms of: at the head and at a
    revision, in either direction, of one page and of all."""
    for module in iter_modules(projections.read.__path__):
        found: dict[str, list[Statement]] = {}
        named = vars(import_module(f"projections.read.{module.name}"))
        for name, value in named.items():
            for form, statement in _statements(name, value):
                found.setdefault(form, []).append(statement)
        for form, statements in found.items():
            yield f"{module.name}.{form}", statements


def _statements(name: str, value: object) -> Iterator[tuple[str, Statement]]:
    form = name.strip("_").removesuffix("_NOW").removesuffix("_AT").lower()
    form = form.removesuffix("_newest_first")
    if isinstance(value, Statement):
        yield form, value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _statements(name, inner)
    elif isinstance(value, _Feed):
        yield f"{form} rows", value.rows
        if form == "between":
            # Of the other feeds nobody asks for the count.
            yield f"{form} count", value.count


def _removed_from(statements: list[Statement], condition: str) -> list[Statement] | None:
    changed = [without(statement.clause, condition) for statement in statements]
    if any(clause is None for clause in changed):
        return None
    return [Statement(clause) for clause in changed if clause is not None]


UNUSED = frozenset({"pins.for_scopes"})
"""Queries that no route and no tool asks."""


def conditions_in_sql() -> Iterator[Removal]:
    """Every condition of `filters` and its kin, of every query that has it."""
    for query, statements in _queries():
        if query in UNUSED:
            continue
        for condition in CONDITIONS:
            if without(statements[0].clause, condition) is not None:
                yield Removal(
                    f"{query}: {condition}",
                    lambda patch, s=statements, c=condition: _swap(patch, s, c),  # type: ignore[misc]
                )


def _swap(patch: pytest.MonkeyPatch, statements: list[Statement], condition: str) -> None:
    changed = _removed_from(statements, condition)
    assert changed is not None
    for statement, other in zip(statements, changed, strict=True):
        for name in ("sqlite", "lists", "constants", "parameters", "_names", "_pick"):
            patch.setattr(statement, name, getattr(other, name))


# --- functions -----------------------------------------------------------------------------------


def _all_scopes(snapshot: object, scopes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(scopes)


def _all_rows(snapshot: object, rows: list[tuple[str]]) -> list[str]:
    return [row[0] for row in rows]


def _always(*_: object) -> bool:
    return True


def _function(module: str, name: str) -> object:
    return getattr(import_module(module), name)


def _raw_row() -> object:
    return _function("projections.read.rows", "row_of")


READ = "projections.read"
FUNCTIONS: Mapping[tuple[str, str], Callable[[], object]] = {
    **{
        (f"{READ}.{module}", "readable_row"): _raw_row
        for module in ("refs", "links", "notes", "pins", "deletions", "event_views", "diff")
    },
    ("api.planned", "readable_row"): _raw_row,
    ("api.written", "readable_row"): _raw_row,
    **{
        (f"{READ}.{module}", "is_readable"): lambda: _always
        for module in ("rows", "history", "standing", "event_views")
    },
    ("api.conflicts", "is_readable"): lambda: _always,
    **{
        (f"{READ}.{module}", "known_stamps"): lambda: _all_scopes
        for module in ("notes", "event_views", "known_changes")
    },
    **{
        (f"{READ}.{module}", "readable_stamps"): lambda: _all_rows
        for module in ("notes", "backlinks", "event_rows")
    },
    **{
        (f"{READ}.{module}", "known_audience"): lambda: _all_scopes
        for module in ("pins", "event_views", "known_changes")
    },
    ("api.planned", "known_audience"): lambda: _all_scopes,
    (f"{READ}.event_rows", "changes_what_is_known"): lambda: _always,
    (f"{READ}.event_views", "shown_topic"): lambda: lambda snapshot, event: event.topic,
    (f"{READ}.messages", "all_readable"): lambda: _always,
}
"""By the module that asks and the function it asks."""


def functions() -> Iterator[Removal]:
    for (module, name), passing in FUNCTIONS.items():
        yield Removal(
            f"{module}.{name}",
            lambda patch, m=module, n=name, p=passing: patch.setattr(  # type: ignore[misc]
                import_module(m), n, p()
            ),
        )


def removals() -> Iterator[Removal]:
    """Every filter there is to take away."""
    yield from conditions_in_sql()
    yield from functions()


@contextmanager
def removed(removal: Removal) -> Iterator[None]:
    """The block in which a filter passes everything."""
    with pytest.MonkeyPatch.context() as patch:
        removal.apply(patch)
        yield
