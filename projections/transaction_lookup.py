"""What deciding asks of the state, answered over the open write transaction."""

from collections.abc import Collection
from typing import cast
from uuid import UUID

from msgspec.structs import replace
from sqlalchemy import BigInteger, LargeBinary, bindparam, func, literal_column, select

from kbstore.domain.events import TextRef
from kbstore.domain.state import NoteState, PageState, PinState
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.store.connection import Connection
from kbstore.store.statements import Row, Statement, Value
from kbstore.store.texts import TextReader
from kbstore.text.normalise import fold_key
from projections.intervals import is_current, of_kb
from projections.newest import LIVE_PAGES, NEWEST_PAGE
from projections.rows import (
    NEWEST_NOTE_COLUMNS,
    NEWEST_PIN_COLUMNS,
    NOTE_COLUMNS,
    PAGE_COLUMNS,
    PAGE_OF_VERSION,
    newest_note_state,
    newest_page_state,
    newest_pin_state,
    note_state,
    page_state,
)
from projections.step import Parameters
from projections.tables import deletions, notes, page_versions, pages, pins, scopes

_V = page_versions.c
_UNDER = _V.parent_id == bindparam("parent_id")
_SCOPE_AT = PAGE_COLUMNS.index(_V.scope)
_AGE = (pages.c.created_at, pages.c.page_id)

_SCOPE_PAGE = Statement(
    LIVE_PAGES.where(_V.scope == bindparam("scope"), _V.parent_id.is_(None)).limit(1)
)
_CHILD = Statement(LIVE_PAGES.where(_UNDER, _V.key_fold == bindparam("key_fold")))
_CHILDREN = Statement(LIVE_PAGES.where(_UNDER).order_by(*_AGE).limit(bindparam("limit")))
_LEVEL = Statement(
    LIVE_PAGES.where(_V.parent_id.in_(bindparam("parents", expanding=True)))
    .order_by(*_AGE)
    .limit(bindparam("limit"))
)
_NAMED = Statement(LIVE_PAGES.where(_V.name == bindparam("name")).order_by(_V.page_id))
_ROWS_OF_PAGE = (
    select(*PAGE_COLUMNS, _V.from_revision)
    .join_from(page_versions, pages, PAGE_OF_VERSION)
    .where(of_kb(page_versions), _V.page_id == bindparam("page_id"))
    .limit(1)
)
_UP_TO_VERSION = Statement(
    _ROWS_OF_PAGE.where(_V.version <= bindparam("version")).order_by(
        _V.version.desc(), _V.to_revision.desc(), _V.ended_by.desc()
    )
)
_SCOPES_OF_VERSION = Statement(
    select(_V.scope)
    .where(
        of_kb(page_versions),
        _V.page_id == bindparam("page_id"),
        _V.version == bindparam("version"),
    )
    .distinct()
)
_ENDED_AFTER = Statement(
    _ROWS_OF_PAGE.where(_V.to_revision > bindparam("revision")).order_by(
        _V.to_revision, _V.ended_by
    )
)
_PARENT = Statement(
    select(_V.parent_id)
    .where(of_kb(page_versions), _V.page_id == bindparam("page_id"))
    .order_by(_V.to_revision.desc(), _V.ended_by.desc())
    .limit(1)
)
_BELOW = select(
    bindparam("page_id", type_=LargeBinary).label("page_id"),
    literal_column("1", BigInteger).label("level"),
).cte("below", recursive=True)
_LEVELS = Statement(
    select(
        func.max(
            _BELOW.union_all(
                select(_V.page_id, _BELOW.c.level + literal_column("1")).where(
                    of_kb(page_versions),
                    is_current(page_versions),
                    _V.parent_id == _BELOW.c.page_id,
                    _BELOW.c.level <= literal_column(str(NESTING_LEVELS_MAX)),
                )
            ).c.level
        )
    )
)
_ENDED_AT = Statement(
    select(pages.c.ended_at).where(of_kb(pages), pages.c.page_id == bindparam("page_id"))
)
_FROM_TEMPLATE = Statement(
    select(pages.c.page_id).where(
        of_kb(pages),
        pages.c.template_scope == bindparam("scope"),
        pages.c.template_path == bindparam("path"),
    )
)
# No event leaves a live page under a gone one, so the last to go is nearest to the top.
_DELETED = Statement(
    select(deletions.c.page_id)
    .where(of_kb(deletions), deletions.c.deletion == bindparam("deletion"))
    .order_by(deletions.c.position.desc())
    .limit(bindparam("limit"))
)
_NOTE = Statement(
    select(*NEWEST_NOTE_COLUMNS)
    .where(of_kb(notes), notes.c.note_id == bindparam("note_id"))
    .order_by(notes.c.from_revision.desc())
    .limit(1)
)
_NOTES = Statement(
    select(*NOTE_COLUMNS)
    .where(of_kb(notes), notes.c.page_id == bindparam("page_id"), is_current(notes))
    .order_by(notes.c.added_position)
    .limit(bindparam("limit"))
)
_PIN = Statement(
    select(*NEWEST_PIN_COLUMNS)
    .where(of_kb(pins), pins.c.pin_id == bindparam("pin_id"))
    .order_by(pins.c.from_revision.desc())
    .limit(1)
)
_SCOPES = Statement(select(scopes.c.scope).where(of_kb(scopes)))


class TransactionLookup:
    """A `Lookup` that reads the inline tables and keeps nothing between two questions."""

    def __init__(
        self, connection: Connection, kb_id: UUID, generation: int, texts: TextReader
    ) -> None:
        self._connection = connection
        self._key: dict[str, Value] = {"kb_id": kb_id.bytes, "generation": generation}
        self._texts = texts

    def page(self, page_id: UUID) -> PageState | None:
        row = self._one(NEWEST_PAGE, {"page_id": page_id.bytes})
        return newest_page_state(row) if row else None

    def scope_page(self, scope: str) -> PageState | None:
        row = self._one(_SCOPE_PAGE, {"scope": scope})
        return page_state(row) if row else None

    def child_by_key(self, parent_id: UUID, key: str) -> PageState | None:
        row = self._one(_CHILD, {"parent_id": parent_id.bytes, "key_fold": fold_key(key)})
        return page_state(row) if row else None

    def children(self, parent_id: UUID, limit: int) -> list[PageState]:
        rows = self._all(_CHILDREN, {"parent_id": parent_id.bytes, "limit": limit})
        return [page_state(row) for row in rows]

    def ancestors(self, page_id: UUID) -> list[PageState]:
        found: list[PageState] = []
        row = self._one(_PARENT, {"page_id": page_id.bytes})
        parent_id = cast(bytes | None, row[0]) if row else None
        while parent_id is not None and len(found) <= NESTING_LEVELS_MAX:
            parent = self.page(UUID(bytes=parent_id))
            if parent is None:
                break
            found.append(parent)
            parent_id = parent.parent_id.bytes if parent.parent_id else None
        return found

    def subtree(self, page_id: UUID, limit: int) -> list[PageState]:
        top = self.page(page_id)
        if top is None or not top.is_live:
            return []
        found = level = [top]
        for _ in range(NESTING_LEVELS_MAX):
            left = limit - len(found)
            if not level or left <= 0:
                break
            parents = [page.page_id.bytes for page in level]
            rows = self._all(_LEVEL, {"parents": parents, "limit": left})
            level = [page_state(row) for row in rows]
            found = found + level
        return found[:limit]

    def subtree_levels(self, page_id: UUID) -> int:
        row = self._one(_LEVELS, {"page_id": page_id.bytes})
        return cast(int, row[0]) if row else 1

    def pages_named(self, name: str, scopes: Collection[str], limit: int) -> list[PageState]:
        # Whoever reads everything may hold more scopes than a statement has parameters.
        found: list[PageState] = []
        for row in self._connection.each(_NAMED, {**self._key, "name": name}):
            if len(found) == limit:
                break
            if row[_SCOPE_AT] in scopes:
                found.append(page_state(row))
        return found

    def page_at_version(self, page_id: UUID, version: int) -> PageState | None:
        row = self._one(_UP_TO_VERSION, {"page_id": page_id.bytes, "version": version})
        state = page_state(row) if row else None
        if state is None or state.version == version:
            return state
        # An event that ends a page leaves no row: there is a gap of one version, or the end.
        newest = self.page(page_id)
        if newest is None or newest.version < version:
            return None
        if newest.version == version:
            return replace(
                state, version=version, ended=newest.ended, merged_into=newest.merged_into
            )
        return replace(state, version=version, ended="deleted")

    def scopes_of_version(self, page_id: UUID, version: int) -> frozenset[str]:
        rows = self._all(_SCOPES_OF_VERSION, {"page_id": page_id.bytes, "version": version})
        return frozenset(cast(str, row[0]) for row in rows)

    def page_at_revision(self, page_id: UUID, revision: int) -> PageState | None:
        row = self._one(_ENDED_AFTER, {"page_id": page_id.bytes, "revision": revision})
        if row is None or cast(int, row[-1]) > revision:
            return None
        return page_state(row)

    def ended_at(self, page_id: UUID) -> int | None:
        row = self._one(_ENDED_AT, {"page_id": page_id.bytes})
        return cast(int | None, row[0]) if row else None

    def deleted_by(self, revision: int, limit: int) -> list[PageState]:
        rows = self._all(_DELETED, {"deletion": revision, "limit": limit})
        deleted = [self.page(UUID(bytes=cast(bytes, row[0]))) for row in rows]
        return [page for page in deleted if page is not None]

    def declared_pages_gone(self, scope: str, path: tuple[str, ...]) -> int:
        rows = self._all(_FROM_TEMPLATE, {"scope": scope, "path": "/".join(path)})
        written = [UUID(bytes=cast(bytes, row[0])) for row in rows]
        return sum(not self._stands_at(page_id, scope, path) for page_id in written)

    def note(self, note_id: UUID) -> NoteState | None:
        row = self._one(_NOTE, {"note_id": note_id.bytes})
        return newest_note_state(row) if row else None

    def notes(self, page_id: UUID, limit: int) -> list[NoteState]:
        rows = self._all(_NOTES, {"page_id": page_id.bytes, "limit": limit})
        return [note_state(row) for row in rows]

    def pin(self, pin_id: UUID) -> PinState | None:
        row = self._one(_PIN, {"pin_id": pin_id.bytes})
        return newest_pin_state(row) if row else None

    def same_text(self, ref: TextRef, value: str) -> bool:
        return self._texts.same_text(ref, value)

    def text(self, ref: TextRef) -> str:
        return self._texts.text(ref)

    def scope_addresses(self) -> frozenset[str]:
        return frozenset(cast(str, row[0]) for row in self._all(_SCOPES, {}))

    def _stands_at(self, page_id: UUID, scope: str, path: tuple[str, ...]) -> bool:
        page = self.page(page_id)
        if page is None or not page.is_live or page.scope != scope:
            return False
        below_top = [page, *self.ancestors(page_id)][:-1]
        keys = [fold_key(above.key or "") for above in reversed(below_top)]
        return keys == [fold_key(key) for key in path]

    def _one(self, statement: Statement, values: Parameters) -> Row | None:
        return self._connection.one(statement, {**self._key, **values})

    def _all(self, statement: Statement, values: Parameters) -> list[Row]:
        return self._connection.all(statement, {**self._key, **values})
