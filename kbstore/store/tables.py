"""The tables of the write side.

Every key starts with the knowledge base, except in the catalogue (`knowledge_bases`,
`api_keys`), so that knowledge bases can be spread over a distributed SQL engine by that
column. Ids are 16 bytes, times UTC microseconds; both back ends share these shapes.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
)
from sqlalchemy import Text as CollatedText
from sqlalchemy.dialects import postgresql

metadata = MetaData()
# SQLite compares texts by code point; PostgreSQL as its database was told to, but for this.
Text = CollatedText().with_variant(postgresql.TEXT(collation="C"), "postgresql")

knowledge_bases = Table(
    "knowledge_bases",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("slug", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("cursor_key", LargeBinary(32), nullable=False),
    PrimaryKeyConstraint("kb_id"),
    UniqueConstraint("slug"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", Text, nullable=False),
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("secret_sha256", LargeBinary(32), nullable=False),
    Column("principal", Text, nullable=False),
    Column("held", Text, nullable=False),
    Column("grants", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    PrimaryKeyConstraint("key_id"),
    Index("api_keys_by_kb", "kb_id", "created_at"),
)

heads = Table(
    "heads",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("committed_at", BigInteger, nullable=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("configured_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("kb_id"),
)

commits = Table(
    "commits",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("first_position", BigInteger, nullable=False),
    Column("event_count", BigInteger, nullable=False),
    Column("committed_at", BigInteger, nullable=False),
    Column("occurred_at", BigInteger),
    Column("actor", Text, nullable=False),
    Column("run", Text),
    Column("tool_call", Text),
    Column("message", Text),
    Column("digest", LargeBinary(32), nullable=False),
    # No index by time: it never falls from one revision to the next, so bisecting finds one.
    PrimaryKeyConstraint("kb_id", "revision"),
    sqlite_with_rowid=False,
)

events = Table(
    "events",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("originator_id", LargeBinary(16), nullable=False),
    Column("originator_version", BigInteger, nullable=False),
    Column("topic", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    PrimaryKeyConstraint("kb_id", "position"),
    UniqueConstraint("kb_id", "originator_id", "originator_version"),
    sqlite_with_rowid=False,
)

texts = Table(
    "texts",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("text_id", LargeBinary(16), nullable=False),
    Column("salt", LargeBinary(16), nullable=False),
    Column("deflated", Boolean, nullable=False),
    # Of the stored bytes: some bits of deflated ones can turn without changing the text.
    Column("data_crc32", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("kb_id", "text_id"),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("principal", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("request_sha256", LargeBinary(32), nullable=False),
    # NULL when the request changed nothing.
    Column("revision", BigInteger),
    Column("subjects", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("kept", Boolean, nullable=False),
    PrimaryKeyConstraint("kb_id", "principal", "key"),
    Index("idempotency_by_age", "kb_id", "kept", "created_at"),
)

rebuilds = Table(
    "rebuilds",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    # The generation that is being filled; once the head names it, the others are being deleted.
    Column("generation", BigInteger, nullable=False),
    # The last commit and the last event that were projected, each as a whole.
    Column("revision", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    # Another program might project the events before these otherwise.
    Column("program", Text, nullable=False),
    PrimaryKeyConstraint("kb_id"),
)

copies = Table(
    "copies",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    # The last commit and the last event that stand here.
    Column("revision", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    # Of a copy that is whole, while others of the same run are not.
    Column("checksum", Text),
    Column("content_checksum", Text),
    PrimaryKeyConstraint("kb_id"),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("webhook_id", LargeBinary(16), nullable=False),
    Column("key_id", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("types", Text, nullable=False),
    Column("secret", LargeBinary(32), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # Every event up to here was delivered, became a dead letter, or was not for this webhook.
    Column("position", BigInteger, nullable=False),
    # The event whose delivery failed so many times, NULL after a success.
    Column("trying", BigInteger),
    Column("attempts", BigInteger, nullable=False),
    Column("next_attempt_at", BigInteger, nullable=False),
    Column("failing_since", BigInteger),
    Column("attempted_at", BigInteger),
    Column("last_status", BigInteger),
    Column("last_error", Text),
    Column("disabled_at", BigInteger),
    Column("disabled_reason", Text),
    # The process that delivers now, and until when it may.
    Column("lease_owner", Text),
    Column("lease_until", BigInteger, nullable=False),
    PrimaryKeyConstraint("kb_id", "webhook_id"),
)

webhook_dead_letters = Table(
    "webhook_dead_letters",
    metadata,
    Column("kb_id", LargeBinary(16), nullable=False),
    Column("webhook_id", LargeBinary(16), nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("attempts", BigInteger, nullable=False),
    Column("failed_at", BigInteger, nullable=False),
    Column("last_status", BigInteger),
    Column("last_error", Text),
    # When sending it once more was asked for, NULL when it was not.
    Column("requested_at", BigInteger),
    PrimaryKeyConstraint("kb_id", "webhook_id", "position"),
    Index("webhook_dead_letters_requested", "kb_id", "webhook_id", "requested_at"),
)
