"""Pages as their rows hold them, at the revision of a snapshot.

`row_of` and the other raw look-ups know nothing of access: what they give is for finding out
where a page stands. What is shown to a caller comes through `readable_row` or a query that
carries a filter.
"""

from collections.abc import Iterator
from typing import cast
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Integer, and_, bindparam, exists, func, literal_column, or_, select

from kbstore.ids import id_from_bytes
from kbstore.store.statements import Row, Statement
from kbstore.text.normalise import fold_key
from projections.intervals import is_current, of_kb
from projections.read.filters import at_revision, page_is_readable, scope_is_readable
from projections.snapshot import Snapshot
from projections.tables import page_versions, pages

_OCCUPANTS_READ_MAX = 100
"""How many pages that stood at one place are read at once."""

V, P = page_versions.c, pages.c


class PageRow(Struct, frozen=True):
    """A written page. `scope_now` and `ended_at` tell where it stands today; `body_ref` is the
    MessagePack of a BodyRef. Times are UTC microseconds."""

    page_id: UUID
    version: int
    to_revision: int
    scope: str
    parent_id: UUID | None
    key: str | None
    name: str
    name_fold: str
    description: str | None
    body_ref: bytes | None
    updated_at: int
    updated_by: str
    scope_now: str
    ended_at: int | None
    created_at: int


PAGE_COLUMNS = (
    V.page_id,
    V.version,
    V.to_revision,
    V.scope,
    V.parent_id,
    V.key,
    V.name,
    V.name_fold,
    V.description,
    V.body_ref,
    V.updated_at,
    V.updated_by,
    P.scope.label("scope_now"),
    P.ended_at,
    P.created_at,
)
"""What `page_row` reads, of a query over PAGES_AND_VERSIONS."""

PAGES_AND_VERSIONS = page_versions.join(
    pages,
    and_(P.kb_id == V.kb_id, P.generation == V.generation, P.page_id == V.page_id),
)


OF_GENERATION = of_kb(page_versions)
AT_REVISION = at_revision(page_versions)

_PAGES = select(*PAGE_COLUMNS).select_from(PAGES_AND_VERSIONS).where(OF_GENERATION)
_OF_PAGE = _PAGES.add_columns(V.from_revision).where(V.page_id == bindparam("page_id")).limit(1)
_ENDED_AFTER = Statement(
    _OF_PAGE.where(V.to_revision > bindparam("revision")).order_by(V.to_revision, V.ended_by)
)
_ENDED_BEFORE = Statement(
    _OF_PAGE.where(V.to_revision <= bindparam("revision")).order_by(
        V.to_revision.desc(), V.ended_by.desc()
    )
)
_KNOWN_BEFORE = _PAGES.where(
    V.page_id == bindparam("page_id"), V.from_revision <= bindparam("revision")
)
_VERSION_ROW = Statement(
    # A page that follows an ancestor elsewhere has further rows of the same version.
    _KNOWN_BEFORE.where(V.version == bindparam("version"), page_is_readable(V.scope))
    .order_by(V.from_revision)
    .limit(1)
)
_UP_TO_VERSION = Statement(
    _KNOWN_BEFORE.where(V.version <= bindparam("version"))
    .order_by(V.version.desc(), V.to_revision.desc(), V.ended_by.desc())
    .limit(1)
)
_SCOPE_PAGE = Statement(
    _PAGES.where(V.scope == bindparam("scope"), V.parent_id.is_(None), AT_REVISION).limit(1)
)
_IS_CHILD = (
    OF_GENERATION,
    V.parent_id == bindparam("parent_id"),
    V.key_fold == bindparam("key_fold"),
)
_CHILD = select(*PAGE_COLUMNS).select_from(PAGES_AND_VERSIONS).where(*_IS_CHILD)
_CHILD_AT = Statement(_CHILD.where(AT_REVISION).limit(1))
_CHILD_NOW = Statement(_CHILD.where(is_current(page_versions)).limit(1))
_LIVES = page_versions.alias("lives")
_INTO = pages.alias("into")
_LIVES_IN_SIGHT = exists().where(
    _LIVES.c.kb_id == V.kb_id,
    _LIVES.c.generation == V.generation,
    _LIVES.c.page_id == V.page_id,
    _LIVES.c.from_revision <= bindparam("revision"),
    _LIVES.c.to_revision > bindparam("revision"),
    scope_is_readable(_LIVES.c.scope),
)
# Where the merges end today. At an earlier revision they may have ended elsewhere.
_MERGED_INTO_ONE_IN_SIGHT = exists().where(
    _INTO.c.kb_id == P.kb_id,
    _INTO.c.generation == P.generation,
    _INTO.c.page_id == P.merged_into,
    or_(_INTO.c.ended_at.is_(None), _INTO.c.ended_at > bindparam("revision")),
    or_(
        bindparam("is_head", type_=Integer) == literal_column("0"),
        scope_is_readable(_INTO.c.scope),
    ),
)
_CHILDREN_BEFORE = Statement(
    select(V.page_id)
    .select_from(PAGES_AND_VERSIONS)
    .where(
        *_IS_CHILD,
        V.from_revision <= bindparam("revision"),
        or_(
            and_(page_is_readable(V.scope), _LIVES_IN_SIGHT),
            # A merged page is told of where the page that took over is.
            and_(
                P.ended_how == "merged",
                scope_is_readable(V.scope),
                scope_is_readable(P.scope),
                _MERGED_INTO_ONE_IN_SIGHT,
            ),
        ),
    )
    .group_by(V.page_id)
    .order_by(func.max(V.to_revision).desc(), func.max(V.from_revision).desc(), V.page_id.desc())
    .limit(_OCCUPANTS_READ_MAX)
    .offset(bindparam("skipped"))
)


def page_row(row: Row) -> PageRow:
    """The page of a row that starts with PAGE_COLUMNS."""
    parent = cast(bytes | None, row[4])
    return PageRow(
        id_from_bytes(cast(bytes, row[0])),
        cast(int, row[1]),
        cast(int, row[2]),
        cast(str, row[3]),
        None if parent is None else id_from_bytes(parent),
        *row[5:15],  # type: ignore[arg-type]
    )


def last_row(snapshot: Snapshot, page_id: UUID) -> PageRow | None:
    """The newest row up to the revision, of a page that may have ended; None before it was."""
    known = snapshot.rows_read
    if page_id in known:
        return known[page_id]
    row = snapshot.one(_ENDED_AFTER, page_id=page_id.bytes)
    if row is None or cast(int, row[-1]) > snapshot.revision:
        row = snapshot.one(_ENDED_BEFORE, page_id=page_id.bytes)
    found = None if row is None else page_row(row)
    known[page_id] = found
    return found


def row_of(snapshot: Snapshot, page_id: UUID) -> PageRow | None:
    """The page as it lives at the revision, whoever asks."""
    row = last_row(snapshot, page_id)
    return row if row is not None and row.to_revision > snapshot.revision else None


def is_readable(snapshot: Snapshot, row: PageRow) -> bool:
    """The rule of `filters.page_is_readable` for one row."""
    access = snapshot.access
    if access.is_auditor:
        return True
    if row.scope not in access.readable:
        return False
    return row.scope_now in (access.readable if row.ended_at is None else access.owned)


def readable_row(snapshot: Snapshot, page_id: UUID) -> PageRow | None:
    """The page as it lives at the revision, where the caller may read it."""
    row = row_of(snapshot, page_id)
    return row if row is not None and is_readable(snapshot, row) else None


def row_of_version(snapshot: Snapshot, page_id: UUID, version: int) -> PageRow | None:
    """The page as this version left it, where the version exists and the caller may read it in
    one of the scopes it stood in. A version that ended the page left it as it was before."""
    row = snapshot.one(_VERSION_ROW, page_id=page_id.bytes, version=version, **snapshot.filters)
    return page_row(row) if row is not None else _ended_row(snapshot, page_id, version)


def _ended_row(snapshot: Snapshot, page_id: UUID, version: int) -> PageRow | None:
    """What a version ended that has no row of its own, where the caller may read that."""
    row = snapshot.one(_UP_TO_VERSION, page_id=page_id.bytes, version=version)
    if row is None:
        return None
    found = page_row(row)
    ended = found.version == version - 1 and found.to_revision <= snapshot.revision
    return replace(found, version=version) if ended and is_readable(snapshot, found) else None


def scope_page_row(snapshot: Snapshot, scope: str) -> PageRow | None:
    """The written page at the top of a scope, where the caller may read it."""
    return _readable(snapshot, snapshot.one(_SCOPE_PAGE, scope=scope))


def child_row(snapshot: Snapshot, parent_id: UUID, key: str) -> PageRow | None:
    """The child with this key, where the caller may read it; keys compare folded."""
    if "\0" in key:
        # No key holds one, and PostgreSQL takes no such question.
        return None
    statement = _CHILD_NOW if snapshot.is_head else _CHILD_AT
    row = snapshot.one(statement, parent_id=parent_id.bytes, key_fold=fold_key(key))
    return _readable(snapshot, row)


def children_before(snapshot: Snapshot, parent_id: UUID, key: str) -> Iterator[UUID]:
    """The pages that stood at this place up to the revision, the last one first, as far as the
    scope they had there and the one they have or last had are readable.

    Deleted ones are left out: they tell nothing. At the head each one lives, or was merged into
    one that does, where the caller may read it.
    """
    skipped = 0
    while "\0" not in key:
        rows = snapshot.all(
            _CHILDREN_BEFORE,
            parent_id=parent_id.bytes,
            key_fold=fold_key(key),
            is_head=int(snapshot.is_head),
            skipped=skipped,
            **snapshot.filters,
        )
        for row in rows:
            yield id_from_bytes(cast(bytes, row[0]))
        if len(rows) < _OCCUPANTS_READ_MAX:
            return
        skipped += len(rows)


def _readable(snapshot: Snapshot, row: Row | None) -> PageRow | None:
    if row is None:
        return None
    found = page_row(row)
    snapshot.rows_read.setdefault(found.page_id, found)
    return found if is_readable(snapshot, found) else None
