"""Checksums of the projection tables: equal rows, equal checksums."""

from hashlib import sha256
from uuid import UUID

import msgspec
from msgspec import Struct
from sqlalchemy import Column, Table, select

from kbstore.store.connection import Connection
from kbstore.store.statements import Row, Statement, Value
from projections.intervals import of_kb
from projections.lexical.changes import plain_changes
from projections.tables import metadata, search_documents

TABLES: tuple[Table, ...] = tuple(sorted(metadata.tables.values(), key=lambda table: table.name))
_MODULUS = 1 << 256
_encode = msgspec.msgpack.Encoder().encode


class Checksums(Struct, frozen=True):
    """SHA-256 sums in hexadecimal: of each table by name, and of all of them."""

    tables: dict[str, str]
    checksum: str


class RowSum:
    """A checksum of rows in any order: the SHA-256 of each, added up modulo 2**256.

    Neither a back end's way to sort texts nor the order that ids happen to have plays a part.
    """

    def __init__(self) -> None:
        self._sum = 0

    def add(self, row: object) -> None:
        """Takes a row of integers, texts, bytes and None, or lists of them."""
        digest = sha256(_encode(row)).digest()
        self._sum = (self._sum + int.from_bytes(digest, "big")) % _MODULUS

    def hexdigest(self) -> str:
        return self._sum.to_bytes(32, "big").hex()


def content_columns(table: Table) -> list[Column[object]]:
    """The columns of a table that tell something: all but the knowledge base and generation."""
    return [column for column in table.c if column.name not in ("kb_id", "generation")]


_ROWS = {
    table.name: Statement(select(*content_columns(table)).where(of_kb(table))) for table in TABLES
}


_CHANGES = content_columns(search_documents).index(search_documents.c.changes)


def plain_row(table: Table, row: Row) -> Row:
    """A row with all content columns as it is compared: nothing in it is compressed."""
    changes = row[_CHANGES] if table is search_documents else None
    if not isinstance(changes, bytes):
        return row
    return (*row[:_CHANGES], plain_changes(changes), *row[_CHANGES + 1 :])


def table_checksums(connection: Connection, kb_id: UUID, generation: int) -> Checksums:
    """The checksums over all columns but `kb_id` and `generation`; rows are read one by one."""
    sums: dict[str, str] = {}
    for table in TABLES:
        row_sum = RowSum()
        values: dict[str, Value] = {"kb_id": kb_id.bytes, "generation": generation}
        for row in connection.each(_ROWS[table.name], values):
            row_sum.add(plain_row(table, row))
        sums[str(table.name)] = row_sum.hexdigest()
    return Checksums(sums, sum_of_tables(sums))


def sum_of_tables(sums: dict[str, str]) -> str:
    """One checksum of many, by the names of their tables."""
    return sha256(_encode(sorted(sums.items()))).hexdigest()
