"""Commits: what one accepted change is recorded as, and the chain of digests over them."""

from hashlib import sha256
from uuid import UUID

import msgspec
from msgspec import Struct

GENESIS_DIGEST = bytes(32)
_encode = msgspec.msgpack.Encoder().encode


class Origin(Struct, frozen=True, kw_only=True):
    """Who asked for a change and what he said of it; `occurred_at` is data only."""

    actor: str
    run: str | None = None
    tool_call: str | None = None
    message: str | None = None
    occurred_at: int | None = None


class Commit(Struct, frozen=True, kw_only=True):
    """One revision of a knowledge base. Times are UTC microseconds; positions count events."""

    kb_id: UUID
    revision: int
    first_position: int
    event_count: int
    committed_at: int
    occurred_at: int | None
    actor: str
    run: str | None
    tool_call: str | None
    message: str | None
    digest: bytes


class Head(Struct, frozen=True, kw_only=True):
    """Where a knowledge base stands. `generation` names its active projection rows,
    `configured_at` the revision of its configuration (0 when it never had one)."""

    kb_id: UUID
    revision: int
    position: int
    committed_at: int
    digest: bytes
    generation: int
    configured_at: int


def event_hash(
    position: int, originator_id: UUID, originator_version: int, topic: str, payload: bytes
) -> bytes:
    """SHA-256 of the MessagePack of one stored event with its place in the log."""
    row = [position, originator_id.bytes, originator_version, topic, payload]
    return sha256(_encode(row)).digest()


def commit_digest(previous: bytes, commit: Commit, event_hashes: bytes) -> bytes:
    """SHA-256(previous digest + MessagePack of the commit's fields + each event's hash).

    `docs/internals/events.md` works one vector through; `commit.digest` itself is not read.
    """
    fields = [
        commit.kb_id.bytes,
        commit.revision,
        commit.first_position,
        commit.event_count,
        commit.committed_at,
        commit.occurred_at,
        commit.actor,
        commit.run,
        commit.tool_call,
        commit.message,
    ]
    return sha256(previous + _encode(fields) + event_hashes).digest()
