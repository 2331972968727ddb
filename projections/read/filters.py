"""Conditions that queries share: which rows are valid, and who may see them.

Access is always today's. A page shows where its scope at the revision and its scope now are
both readable; one that has since ended only to owners of the scope it last had and to
auditors. The parameters come from `Snapshot.filters`.
"""

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    FromClause,
    Integer,
    Table,
    and_,
    bindparam,
    literal_column,
    or_,
)

from projections.tables import pages

_ONE: ColumnElement[int] = literal_column("1")
_READS_ALL = bindparam("reads_all", type_=Integer) == _ONE
_OWNS_ALL = bindparam("owns_all", type_=Integer) == _ONE
_READABLE: BindParameter[str] = bindparam("readable", expanding=True)
_OWNED: BindParameter[str] = bindparam("owned", expanding=True)


def at_revision(table: Table) -> ColumnElement[bool]:
    """Rows valid at the parameter `revision`."""
    revision: BindParameter[int] = bindparam("revision")
    return and_(table.c.from_revision <= revision, table.c.to_revision > revision)


def scope_is_readable(scope: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a scope that has or had pages is readable."""
    return or_(_READS_ALL, scope.in_(_READABLE))


def owned_scope(scope: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether what has ended in this scope shows: to its owners and to auditors."""
    return or_(_OWNS_ALL, scope.in_(_OWNED))


def page_is_readable(scope_then: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a page shows; the query joins `pages`, which knows where it stands now."""
    return and_(scope_is_readable(scope_then), shows_now(pages))


def shows_now(page: FromClause) -> ColumnElement[bool]:
    """Whether a page shows where it stands now, or last stood; `page` is `pages` or an alias."""
    return or_(
        and_(page.c.ended_at.is_(None), scope_is_readable(page.c.scope)),
        and_(page.c.ended_at.is_not(None), owned_scope(page.c.scope)),
    )
