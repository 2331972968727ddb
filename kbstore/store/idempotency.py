"""Idempotency: a retried request finds what its first try came to.

A claim is stored in the transaction of the write it belongs to, so that either both are
there after a crash or neither is.
"""

from uuid import UUID

import msgspec
from msgspec import Struct
from sqlalchemy import bindparam, delete, insert, select, tuple_

from kbstore.domain.decision import Subject
from kbstore.errors import IdempotencyKeyReusedError
from kbstore.limits import IDEMPOTENCY_KEPT_HOURS_MIN
from kbstore.store import tables
from kbstore.store.connection import Connection, Queryable
from kbstore.store.statements import Statement

_CLAIM = tables.idempotency.c
_KEPT_MICROS = IDEMPOTENCY_KEPT_HOURS_MIN * 3_600 * 1_000_000
_FORGET_EVERY_REVISIONS = 64
_FORGET_ROWS_MAX = 256

SELECT_CLAIM = Statement(
    select(_CLAIM.request_sha256, _CLAIM.revision, _CLAIM.subjects).where(
        _CLAIM.kb_id == bindparam("kb_id"),
        _CLAIM.principal == bindparam("principal"),
        _CLAIM.key == bindparam("key"),
    )
)
INSERT_CLAIM = Statement(insert(tables.idempotency))
DELETE_OLD_CLAIMS = Statement(
    delete(tables.idempotency).where(
        tuple_(_CLAIM.kb_id, _CLAIM.principal, _CLAIM.key).in_(
            select(_CLAIM.kb_id, _CLAIM.principal, _CLAIM.key)
            .where(
                _CLAIM.kb_id == bindparam("kb_id"),
                _CLAIM.kept == bindparam("kept"),
                _CLAIM.created_at < bindparam("before"),
            )
            .order_by(_CLAIM.created_at)
            .limit(bindparam("limit"))
        )
    )
)


class Claim(Struct, frozen=True, kw_only=True):
    """An `Idempotency-Key` and the request it stands for. `kept` claims are never forgotten,
    others after 24 hours at the earliest."""

    principal: str
    key: str
    request_sha256: bytes
    kept: bool = False


class StoredClaim(Struct, frozen=True):
    """What the first try came to; `revision` is None when it changed nothing."""

    revision: int | None
    subjects: tuple[Subject, ...]


def claims_webhook(subjects: bytes) -> bool:
    """Whether a stored claim is of a request that created a webhook."""
    decoded = msgspec.msgpack.decode(subjects, type=tuple[Subject, ...])
    return any(subject.kind == "webhook" for subject in decoded)


def find_claim(connection: Queryable, kb_id: UUID, claim: Claim) -> StoredClaim | None:
    """What is stored under the claim's key.

    Raises IdempotencyKeyReusedError when the key came with another request before.
    """
    row = connection.one(
        SELECT_CLAIM,
        {"kb_id": kb_id.bytes, "principal": claim.principal, "key": claim.key},
    )
    if row is None:
        return None
    request_sha256, revision, subjects = row
    if request_sha256 != claim.request_sha256:
        raise IdempotencyKeyReusedError(
            "This Idempotency-Key was used with another request; take a new key.",
            field="Idempotency-Key",
        )
    assert isinstance(subjects, bytes)
    return StoredClaim(
        None if revision is None else int(revision),
        msgspec.msgpack.decode(subjects, type=tuple[Subject, ...]),
    )


def store_claim(
    connection: Connection, kb_id: UUID, claim: Claim, stored: StoredClaim, now: int
) -> None:
    """Keeps what a request came to, in the transaction of its write."""
    connection.run(
        INSERT_CLAIM,
        {
            "kb_id": kb_id.bytes,
            "principal": claim.principal,
            "key": claim.key,
            "request_sha256": claim.request_sha256,
            "revision": stored.revision,
            "subjects": msgspec.msgpack.encode(stored.subjects),
            "created_at": now,
            "kept": claim.kept,
        },
    )
    if stored.revision is not None and stored.revision % _FORGET_EVERY_REVISIONS == 0:
        connection.run(
            DELETE_OLD_CLAIMS,
            {
                "kb_id": kb_id.bytes,
                "kept": False,
                "before": now - _KEPT_MICROS,
                "limit": _FORGET_ROWS_MAX,
            },
        )
