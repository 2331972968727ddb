"""Checking the texts: each one an event names is there and whole, and no other is there."""

import zlib
from collections.abc import Iterator
from typing import cast
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Column,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    bindparam,
    insert,
    select,
)

from kbstore.domain.events import Event, text_refs
from kbstore.store.connection import Connection
from kbstore.store.statements import Statement, Value
from kbstore.store.tables import texts
from kbstore.texts import inflate, text_hash
from projections.verify_report import Failures

_BATCH = 1_000

metadata = MetaData()
named_texts = Table(
    "named_texts",
    metadata,
    Column("text_id", LargeBinary(16), nullable=False),
    Column("sha256", LargeBinary(32), nullable=False),
    Column("position", BigInteger, nullable=False),
    PrimaryKeyConstraint("text_id", "sha256"),
    sqlite_with_rowid=False,
)
"""The texts that events name, and the first event that does; in a temporary database."""

# The temporary database is always SQLite.
_NAME = Statement(insert(named_texts).prefix_with("OR IGNORE"))
_NAMED = Statement(select(named_texts).order_by(named_texts.c.text_id))
_STORED = Statement(
    select(texts.c.text_id, texts.c.salt, texts.c.deflated, texts.c.data_crc32, texts.c.data)
    .where(texts.c.kb_id == bindparam("kb_id"))
    .order_by(texts.c.text_id)
)

_Named = tuple[bytes, bytes, int]
_Stored = tuple[bytes, bytes, int, int, bytes]


class NamedTexts:
    """Collects the texts that events name."""

    def __init__(self, temporary: Connection) -> None:
        self._temporary = temporary
        self._waiting: list[dict[str, Value]] = []

    def take(self, position: int, event: Event) -> None:
        for ref in text_refs(event):
            self._waiting.append(
                {"text_id": ref.text_id.bytes, "sha256": ref.sha256, "position": position}
            )
        if len(self._waiting) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self._temporary.run_many(_NAME, self._waiting)
            self._waiting.clear()


def check_texts(
    connection: Connection, kb_id: UUID, temporary: Connection, failures: Failures
) -> None:
    """Walks the texts and their names side by side, both in the order of their ids.

    No text is ever erased yet, so an absent one is a failure.
    """
    stored = cast(Iterator[_Stored], connection.each(_STORED, {"kb_id": kb_id.bytes}))
    text = next(stored, None)
    text_named = False
    for text_id, digest, position in cast(Iterator[_Named], temporary.each(_NAMED, {})):
        while text is not None and text[0] < text_id:
            if not text_named:
                failures.add("no event names this text", _where(text[0]))
            text, text_named = next(stored, None), False
        if text is None or text[0] != text_id:
            failures.add(f"the text that position {position} names is missing", _where(text_id))
            continue
        text_named = True
        if not _is_whole(text, digest):
            failures.add(f"the text is not the one position {position} names", _where(text_id))
    while text is not None:
        if not text_named:
            failures.add("no event names this text", _where(text[0]))
        text, text_named = next(stored, None), False


def _is_whole(text: _Stored, digest: bytes) -> bool:
    _, salt, deflated, data_crc32, data = text
    if deflated not in (0, 1) or zlib.crc32(data) != data_crc32:
        return False
    try:
        return text_hash(salt, inflate(data, bool(deflated))) == digest
    except zlib.error:
        return False


def _where(text_id: bytes) -> str:
    return f"text {UUID(bytes=text_id)}"
