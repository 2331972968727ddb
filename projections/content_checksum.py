"""The checksum of what a knowledge base says, whatever its ids and times are.

Two stores in which the same things happened in the same order have the same one: ids are
replaced by the position of the first event of what they name, references to texts by the
SHA-256 of the plain text, and times are left out. Revisions and positions stay.
"""

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import cast
from uuid import UUID

from sqlalchemy import LargeBinary, Table, bindparam, select

from kbstore.domain.events import TextRef
from kbstore.store.connection import Connection
from kbstore.store.statements import Statement, Value
from kbstore.store.tables import events
from kbstore.store.texts import TextReader
from projections.checksum import TABLES, RowSum, content_columns, sum_of_tables
from projections.intervals import of_kb
from projections.lexical.changes import plain_changes
from projections.rows import decode_body_ref, decode_links, decode_text_ref

_CACHED_MAX = 65_536
_TIMES = frozenset({"created_at", "updated_at", "ranked_at"})
_FIRST_EVENT = Statement(
    select(events.c.position).where(
        events.c.kb_id == bindparam("kb_id"),
        events.c.originator_id == bindparam("originator_id"),
        events.c.originator_version == bindparam("version"),
    )
)
_ROWS = {
    table.name: Statement(
        select(*(c for c in content_columns(table) if c.name not in _TIMES)).where(of_kb(table))
    )
    for table in TABLES
}

_Part = Callable[[Value], object]


def content_checksum(connection: Connection, kb_id: UUID, generation: int) -> str:
    """The checksum in hexadecimal; reads the texts and the events of the same database."""
    contents = _Contents(connection, kb_id)
    sums: dict[str, str] = {}
    for table in TABLES:
        row_sum = RowSum()
        parts = contents.parts(table)
        values: dict[str, Value] = {"kb_id": kb_id.bytes, "generation": generation}
        for row in connection.each(_ROWS[table.name], values):
            row_sum.add([part(value) for part, value in zip(parts, row, strict=True)])
        sums[str(table.name)] = row_sum.hexdigest()
    return sum_of_tables(sums)


class _Contents:
    """What stands for the values of a column."""

    def __init__(self, connection: Connection, kb_id: UUID) -> None:
        self._connection = connection
        self._kb_id = kb_id.bytes
        self._texts = TextReader(connection, kb_id)
        self.position_of = lru_cache(_CACHED_MAX)(self._position_of)
        self.text_sum = lru_cache(_CACHED_MAX)(self._text_sum)

    def parts(self, table: Table) -> list[_Part]:
        """One function a column, in the order of `_ROWS`."""
        refs: dict[str, _Part] = {
            "name_ref": self._text,
            "description_ref": self._text,
            "text_ref": self._text,
            "body_ref": self._body,
            "links": self._links,
            "changes": _plain,
        }
        found: list[_Part] = []
        for column in content_columns(table):
            if column.name in _TIMES:
                continue
            if column.name in refs:
                found.append(refs[column.name])
            elif isinstance(column.type, LargeBinary):
                found.append(self._id)
            else:
                found.append(_itself)
        return found

    def _id(self, value: Value) -> object:
        return None if value is None else self.position_of(cast(bytes, value))

    def _text(self, value: Value) -> object:
        return None if value is None else self.text_sum(decode_text_ref(cast(bytes, value)))

    def _body(self, value: Value) -> object:
        if value is None:
            return None
        body = decode_body_ref(cast(bytes, value))
        return [self.text_sum(body.text), body.lines, body.tokens]

    def _links(self, value: Value) -> object:
        if value is None:
            return None
        links = decode_links(cast(bytes, value))
        bound = [[index, self.position_of(page_id.bytes)] for index, page_id in links.bound]
        return [self.text_sum(links.targets), bound]

    def _position_of(self, originator_id: bytes) -> int:
        """Where the thing began; 0 for a declared page that nothing was written to."""
        row = self._connection.one(
            _FIRST_EVENT, {"kb_id": self._kb_id, "originator_id": originator_id, "version": 1}
        )
        return cast(int, row[0]) if row else 0

    def _text_sum(self, ref: TextRef) -> bytes:
        return sha256(self._texts.text(ref).encode()).digest()


def _plain(value: Value) -> object:
    return None if value is None else plain_changes(cast(bytes, value))


def _itself(value: Value) -> object:
    return value
