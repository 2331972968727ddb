"""Reading and writing the texts table."""

from collections.abc import Sequence
from uuid import UUID
from zlib import crc32

from sqlalchemy import bindparam, insert, select

from kbstore.domain.events import TextRef
from kbstore.store import tables
from kbstore.store.connection import Connection, Queryable
from kbstore.store.statements import Statement
from kbstore.texts import PreparedText, inflate, text_hash

INSERT_TEXT = Statement(insert(tables.texts))
SELECT_TEXT = Statement(
    select(tables.texts.c.salt, tables.texts.c.deflated, tables.texts.c.data).where(
        tables.texts.c.kb_id == bindparam("kb_id"),
        tables.texts.c.text_id == bindparam("text_id"),
    )
)


class TextReader:
    """The texts of one knowledge base, read over one connection.

    Texts written by the open transaction are answered from `fresh`, without a query.
    """

    def __init__(self, connection: Queryable, kb_id: UUID) -> None:
        self._connection = connection
        self._kb_id = kb_id.bytes
        self.fresh: dict[UUID, PreparedText] = {}

    def text(self, ref: TextRef) -> str:
        """The text behind a reference; empty when it was erased."""
        prepared = self.fresh.get(ref.text_id)
        if prepared is not None:
            return prepared.value
        found = self._row(ref)
        return found[1].decode() if found else ""

    def same_text(self, ref: TextRef, value: str) -> bool:
        """Whether the text behind `ref` is `value`, by its salted hash."""
        prepared = self.fresh.get(ref.text_id)
        if prepared is not None:
            return prepared.value == value
        found = self._row(ref)
        return found is not None and text_hash(found[0], value.encode()) == ref.sha256

    def _row(self, ref: TextRef) -> tuple[bytes, bytes] | None:
        values = {"kb_id": self._kb_id, "text_id": ref.text_id.bytes}
        row = self._connection.one(SELECT_TEXT, values)
        if row is None:
            return None
        salt, deflated, data = row
        assert isinstance(salt, bytes)
        assert isinstance(data, bytes)
        return salt, inflate(data, bool(deflated))


def write_texts(connection: Connection, kb_id: UUID, texts: Sequence[PreparedText]) -> None:
    """Writes new texts."""
    connection.run_many(
        INSERT_TEXT,
        [
            {
                "kb_id": kb_id.bytes,
                "text_id": text.ref.text_id.bytes,
                "salt": text.salt,
                "deflated": text.deflated,
                "data_crc32": crc32(text.data),
                "data": text.data,
            }
            for text in texts
        ],
    )
