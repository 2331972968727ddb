"""Webhooks: what was registered, and how far the deliveries of each have come.

One process at a time delivers for a webhook. It holds a lease on the row, which runs out by
itself when the process dies, and records under that lease alone. Times are UTC microseconds.
"""

from typing import cast
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, fields
from sqlalchemy import Select, and_, bindparam, delete, func, insert, select, update

from kbstore.store import tables
from kbstore.store.connection import Connection, Queryable
from kbstore.store.statements import Row, Statement, Values


class Progress(Struct, frozen=True, kw_only=True):
    """How far the deliveries have come.

    Every event up to `position` was delivered, became a dead letter, or was not for this
    webhook. `trying` is the event whose delivery failed `attempts` times so far. `last_status`
    is the HTTP status of the last answer, None without one; `last_error` one word, None after a
    success.
    """

    position: int
    trying: int | None = None
    attempts: int = 0
    next_attempt_at: int = 0
    failing_since: int | None = None
    attempted_at: int | None = None
    last_status: int | None = None
    last_error: str | None = None
    disabled_at: int | None = None
    disabled_reason: str | None = None


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook of a key, of which it sees what `scopes` hold; no types stand for all."""

    kb_id: UUID
    webhook_id: UUID
    key_id: str
    scopes: frozenset[str]
    url: str
    types: tuple[str, ...]
    secret: bytes
    created_at: int
    progress: Progress
    lease_owner: str | None = None
    lease_until: int = 0


class Registered(Struct, frozen=True):
    """A webhook with what its key and its dead letters say of it."""

    webhook: Webhook
    principal: str
    is_revoked: bool
    dead_letters: int


class Standing(Struct, frozen=True):
    """What a delivery is made under; while it is the same, so is what the webhook may see."""

    revision: int
    generation: int


_HOOK = tables.webhooks.c
_KEY = tables.api_keys.c
_LETTER = tables.webhook_dead_letters.c
_PROGRESS = tuple(field.name for field in fields(Progress))
_THIS = and_(_HOOK.kb_id == bindparam("kb"), _HOOK.webhook_id == bindparam("webhook"))
_HEAD_AND_KEY = tables.webhooks.join(tables.heads, tables.heads.c.kb_id == _HOOK.kb_id).join(
    tables.api_keys, _KEY.key_id == _HOOK.key_id
)
_COLUMNS = (
    _HOOK.kb_id,
    _HOOK.webhook_id,
    _HOOK.key_id,
    _HOOK.scopes,
    _HOOK.url,
    _HOOK.types,
    _HOOK.secret,
    _HOOK.created_at,
    *(_HOOK[name] for name in _PROGRESS),
    _HOOK.lease_owner,
    _HOOK.lease_until,
)
_LETTERS = (
    select(func.count())
    .select_from(tables.webhook_dead_letters)
    .where(_LETTER.kb_id == _HOOK.kb_id, _LETTER.webhook_id == _HOOK.webhook_id)
    .correlate(tables.webhooks)
    .scalar_subquery()
)


def _registered() -> Select[tuple[object, ...]]:
    return (
        select(*_COLUMNS, _KEY.principal, _KEY.revoked_at, _LETTERS)
        .join_from(tables.webhooks, tables.api_keys, _KEY.key_id == _HOOK.key_id)
        .where(_HOOK.kb_id == bindparam("kb"))
    )


def _part(registered: Select[tuple[object, ...]]) -> Statement:
    return Statement(
        registered.where(_HOOK.webhook_id > bindparam("after"))
        .order_by(_HOOK.webhook_id)
        .limit(bindparam("limit"))
    )


_OF_KEY = _HOOK.key_id == bindparam("key_id")
LIST_ALL = _part(_registered())
LIST_OF_KEY = _part(_registered().where(_OF_KEY))
SELECT_REGISTERED = Statement(_registered().where(_HOOK.webhook_id == bindparam("webhook")))
SELECT_WEBHOOK = Statement(select(*_COLUMNS).where(_THIS))
COUNT_WEBHOOKS = Statement(
    select(func.count()).select_from(tables.webhooks).where(_HOOK.kb_id == bindparam("kb"))
)
# Only PostgreSQL needs it: SQLite lets one writer in at a time.
LOCK_KB = Statement(
    select(tables.knowledge_bases.c.kb_id)
    .where(tables.knowledge_bases.c.kb_id == bindparam("kb"))
    .with_for_update()
)
INSERT_WEBHOOK = Statement(insert(tables.webhooks))
DELETE_WEBHOOK = Statement(delete(tables.webhooks).where(_THIS))
DELETE_LETTERS = Statement(
    delete(tables.webhook_dead_letters).where(
        _LETTER.kb_id == bindparam("kb"), _LETTER.webhook_id == bindparam("webhook")
    )
)
SELECT_WORKING = Statement(
    select(_HOOK.kb_id, _HOOK.webhook_id)
    .select_from(_HEAD_AND_KEY)
    .where(_HOOK.disabled_at.is_(None), _KEY.revoked_at.is_(None))
)
SELECT_STANDING = Statement(
    select(tables.heads.c.revision, tables.heads.c.generation)
    .select_from(_HEAD_AND_KEY)
    .where(_THIS, _HOOK.disabled_at.is_(None), _KEY.revoked_at.is_(None))
)
CLAIM = Statement(
    update(tables.webhooks)
    .where(
        _THIS,
        _HOOK.disabled_at.is_(None),
        # Whoever had the lease meanwhile has moved on from what was read.
        _HOOK.position == bindparam("at"),
        _HOOK.lease_until <= bindparam("now"),
    )
    .values(lease_owner=bindparam("owner"), lease_until=bindparam("until"))
)
RECORD = Statement(
    update(tables.webhooks)
    .where(_THIS, _HOOK.lease_owner == bindparam("owner"))
    .values(
        {
            **{name: bindparam(name) for name in _PROGRESS},
            "lease_owner": bindparam("next_owner"),
            "lease_until": bindparam("until"),
        }
    )
)
# What is left of a process that was killed: nobody else serves a file.
RELEASE_ALL = Statement(
    update(tables.webhooks)
    .where(_HOOK.lease_until > bindparam("never"))
    .values(lease_owner=bindparam("nobody"), lease_until=bindparam("never"))
)


def lock_webhooks(connection: Connection, kb_id: UUID) -> None:
    """Lets nobody else add a webhook to the knowledge base until the transaction ends."""
    connection.one(LOCK_KB, {"kb": kb_id.bytes})


def count_webhooks(connection: Queryable, kb_id: UUID) -> int:
    row = connection.one(COUNT_WEBHOOKS, {"kb": kb_id.bytes})
    assert row is not None
    return int(row[0] or 0)


def insert_webhook(connection: Connection, webhook: Webhook) -> None:
    connection.run(
        INSERT_WEBHOOK,
        {
            **asdict(webhook.progress),
            "kb_id": webhook.kb_id.bytes,
            "webhook_id": webhook.webhook_id.bytes,
            "key_id": webhook.key_id,
            "scopes": msgspec.json.encode(sorted(webhook.scopes)).decode(),
            "url": webhook.url,
            "types": msgspec.json.encode(webhook.types).decode(),
            "secret": webhook.secret,
            "created_at": webhook.created_at,
            "lease_owner": webhook.lease_owner,
            "lease_until": webhook.lease_until,
        },
    )


def delete_webhook(connection: Connection, kb_id: UUID, webhook_id: UUID) -> bool:
    """Removes it with its dead letters; False when there is none."""
    values = _these(kb_id, webhook_id)
    connection.run(DELETE_LETTERS, values)
    return connection.count(DELETE_WEBHOOK, values) == 1


def list_webhooks(
    connection: Queryable, kb_id: UUID, key_id: str | None, after: UUID | None, limit: int
) -> list[Registered]:
    """The webhooks of a key, or of all keys, in the order in which they were made."""
    values = {
        "kb": kb_id.bytes,
        "key_id": key_id,
        "after": b"" if after is None else after.bytes,
        "limit": limit,
    }
    rows = connection.all(LIST_ALL if key_id is None else LIST_OF_KEY, values)
    return [_registered_row(row) for row in rows]


def find_registered(connection: Queryable, kb_id: UUID, webhook_id: UUID) -> Registered | None:
    row = connection.one(SELECT_REGISTERED, _these(kb_id, webhook_id))
    return None if row is None else _registered_row(row)


def find_webhook(connection: Queryable, kb_id: UUID, webhook_id: UUID) -> Webhook | None:
    row = connection.one(SELECT_WEBHOOK, _these(kb_id, webhook_id))
    return None if row is None else _webhook(row)


def working_webhooks(connection: Queryable) -> list[tuple[UUID, UUID]]:
    """The knowledge base and the id of each webhook to which something can be delivered."""
    rows = connection.all(SELECT_WORKING, {})
    return [(UUID(bytes=cast(bytes, kb)), UUID(bytes=cast(bytes, hook))) for kb, hook in rows]


def standing_of(connection: Queryable, kb_id: UUID, webhook_id: UUID) -> Standing | None:
    """None when nothing may be delivered any more: it is gone, disabled or its key revoked."""
    row = connection.one(SELECT_STANDING, _these(kb_id, webhook_id))
    return None if row is None else Standing(*cast(tuple[int, int], row))


def claim(connection: Connection, webhook: Webhook, owner: str, now: int, until: int) -> bool:
    """Takes the lease on a webhook that is still where it was read; False when another has it."""
    values = {
        **_these(webhook.kb_id, webhook.webhook_id),
        "at": webhook.progress.position,
        "now": now,
        "owner": owner,
        "until": until,
    }
    return connection.count(CLAIM, values) == 1


def record(
    connection: Connection, webhook: Webhook, progress: Progress, owner: str, until: int | None
) -> bool:
    """Keeps the progress, and the lease until then; without `until` gives it back.

    False when the lease is no longer the owner's: then nothing was kept.
    """
    values = {
        **asdict(progress),
        **_these(webhook.kb_id, webhook.webhook_id),
        "owner": owner,
        "next_owner": None if until is None else owner,
        "until": until or 0,
    }
    return connection.count(RECORD, values) == 1


def release_all(connection: Connection) -> None:
    """Ends every lease. For who alone serves the database."""
    connection.run(RELEASE_ALL, {"never": 0, "nobody": None})


def _these(kb_id: UUID, webhook_id: UUID) -> Values:
    return {"kb": kb_id.bytes, "webhook": webhook_id.bytes}


_WebhookRow = tuple[bytes, bytes, str, str, str, str, bytes, int]


def _webhook(row: Row) -> Webhook:
    kb_id, webhook_id, key_id, scopes, url, types, secret, created_at = cast(_WebhookRow, row[:8])
    progress = dict(zip(_PROGRESS, row[8:], strict=False))
    lease_owner, lease_until = cast(tuple[str | None, int], row[8 + len(_PROGRESS) :][:2])
    return Webhook(
        kb_id=UUID(bytes=kb_id),
        webhook_id=UUID(bytes=webhook_id),
        key_id=key_id,
        scopes=msgspec.json.decode(scopes, type=frozenset[str]),
        url=url,
        types=msgspec.json.decode(types, type=tuple[str, ...]),
        secret=secret,
        created_at=created_at,
        progress=msgspec.convert(progress, Progress),
        lease_owner=lease_owner,
        lease_until=lease_until,
    )


def _registered_row(row: Row) -> Registered:
    *columns, principal, revoked_at, letters = row
    return Registered(
        _webhook(tuple(columns)), str(principal), revoked_at is not None, int(letters or 0)
    )
