"""The text of a configuration, from the event that set it."""

from typing import Literal
from uuid import UUID

from sqlalchemy import bindparam, select

from kbstore.domain.events import KnowledgeBaseConfigured
from kbstore.errors import StoreError
from kbstore.store import tables
from kbstore.store.connection import Queryable
from kbstore.store.mapper import decode_payload
from kbstore.store.statements import Statement
from kbstore.store.texts import TextReader

_EVENT, _COMMIT = tables.events.c, tables.commits.c
SELECT_CONFIGURED = Statement(
    select(_EVENT.originator_version, _EVENT.topic, _EVENT.payload)
    .select_from(tables.events)
    .join(
        tables.commits,
        (_EVENT.kb_id == _COMMIT.kb_id)
        & (_EVENT.position >= _COMMIT.first_position)
        & (_EVENT.position < _COMMIT.first_position + _COMMIT.event_count),
    )
    .where(
        _COMMIT.kb_id == bindparam("kb_id"),
        _COMMIT.revision == bindparam("revision"),
        _EVENT.topic == bindparam("topic"),
    )
    .order_by(_EVENT.position.desc())
)


def configuration_text(
    connection: Queryable, kb_id: UUID, revision: int
) -> tuple[str, Literal["toml", "json"]]:
    """The configuration that the commit of this revision set, and its format."""
    row = connection.one(
        SELECT_CONFIGURED,
        {"kb_id": kb_id.bytes, "revision": revision, "topic": KnowledgeBaseConfigured.topic},
    )
    if row is None:
        raise StoreError(f"Revision {revision} holds no configuration.")
    version, topic, payload = row
    assert isinstance(payload, bytes)
    event = decode_payload(str(topic), payload, kb_id, int(version or 0))
    assert isinstance(event, KnowledgeBaseConfigured)
    text = TextReader(connection, kb_id).text(event.configuration)
    return text, "toml" if event.format == "toml" else "json"
