"""The catalogue: which knowledge bases there are, and the keys that open them."""

import hmac
import os
import secrets
from hashlib import sha256
from typing import cast
from uuid import UUID

import msgspec
from msgspec import Struct
from sqlalchemy import bindparam, insert, select, update

from kbstore.access import GRANTS
from kbstore.clock import Clock
from kbstore.errors import NotFoundError, SlugTakenError, ValidationError
from kbstore.ids import is_slug, parse_kb_address
from kbstore.limits import HELD_SCOPES_MAX, SLUG_CODE_POINTS_MAX
from kbstore.store import tables
from kbstore.store.connection import Connection, Queryable
from kbstore.store.database import Database
from kbstore.store.heads import insert_head
from kbstore.store.statements import Row, Statement

KEY_PREFIX = "kbs_"
_KB = tables.knowledge_bases.c
_KEY = tables.api_keys.c
_KB_COLUMNS = (_KB.kb_id, _KB.slug, _KB.created_at, _KB.cursor_key)
_KEY_COLUMNS = (
    _KEY.key_id,
    _KEY.kb_id,
    _KEY.secret_sha256,
    _KEY.principal,
    _KEY.held,
    _KEY.grants,
    _KEY.created_at,
    _KEY.revoked_at,
)
INSERT_KB = Statement(insert(tables.knowledge_bases))
SELECT_KB = Statement(select(*_KB_COLUMNS).where(_KB.kb_id == bindparam("kb_id")))
SELECT_KB_BY_SLUG = Statement(select(*_KB_COLUMNS).where(_KB.slug == bindparam("slug")))
SELECT_KBS = Statement(select(*_KB_COLUMNS).order_by(_KB.slug))
INSERT_KEY = Statement(insert(tables.api_keys))
SELECT_KEY = Statement(select(*_KEY_COLUMNS).where(_KEY.key_id == bindparam("key_id")))
SELECT_KEYS = Statement(
    select(*_KEY_COLUMNS)
    .where(_KEY.kb_id == bindparam("kb_id"))
    .order_by(_KEY.created_at, _KEY.key_id)
)
REVOKE_KEY = Statement(
    update(tables.api_keys)
    .where(_KEY.key_id == bindparam("key"), _KEY.revoked_at.is_(None))
    .values(revoked_at=bindparam("revoked_at"))
)


SELECT_MARK = Statement(
    select(*_KEY_COLUMNS, tables.heads.c.revision, tables.heads.c.generation, tables.heads.c.digest)
    .join_from(tables.api_keys, tables.heads, tables.heads.c.kb_id == _KEY.kb_id)
    .where(_KEY.key_id == bindparam("key_id"))
)


class Standpoint(Struct, frozen=True):
    """Where a knowledge base stands; the digest names the history that led there."""

    revision: int
    digest: bytes


class KeyMark(Struct, frozen=True):
    """A key's whole row, and where its knowledge base stands: what anything that is answered to
    the bearer of the key follows from."""

    key: Row
    head: Standpoint
    generation: int


class KnowledgeBase(Struct, frozen=True):
    kb_id: UUID
    slug: str
    created_at: int
    cursor_key: bytes


class ApiKey(Struct, frozen=True):
    """A key as it is kept: its secret only as a hash. `revoked_at` is None while it works."""

    key_id: str
    kb_id: UUID
    secret_sha256: bytes
    principal: str
    held: frozenset[str]
    grants: frozenset[str]
    created_at: int
    revoked_at: int | None


def find_knowledge_base(connection: Queryable, address: str) -> KnowledgeBase | None:
    """A knowledge base by `knowledge-base-<uuid>`, bare UUID or slug."""
    kb_id = parse_kb_address(address)
    if kb_id is not None:
        row = connection.one(SELECT_KB, {"kb_id": kb_id.bytes})
    elif is_slug(address):
        row = connection.one(SELECT_KB_BY_SLUG, {"slug": address})
    else:
        return None
    return _knowledge_base(row) if row else None


def list_knowledge_bases(connection: Queryable) -> list[KnowledgeBase]:
    return [_knowledge_base(row) for row in connection.all(SELECT_KBS, {})]


def find_api_key(connection: Queryable, token: str) -> ApiKey | None:
    """The working key behind `kbs_<id>_<secret>`; None when wrong or revoked."""
    key_id, secret = _split_token(token)
    row = connection.one(SELECT_KEY, {"key_id": key_id}) if key_id else None
    if row is None:
        return None
    key = _api_key(row)
    if not hmac.compare_digest(key.secret_sha256, sha256(secret.encode()).digest()):
        return None
    return key if key.revoked_at is None else None


def find_working_key(connection: Queryable, key_id: str) -> ApiKey | None:
    """A key by its id, for what acts in its name; None once it is revoked."""
    row = connection.one(SELECT_KEY, {"key_id": key_id})
    key = None if row is None else _api_key(row)
    return key if key is not None and key.revoked_at is None else None


def key_mark(connection: Queryable, token: str) -> KeyMark | None:
    """The mark of the key that a token names, whatever its secret; None where there is none."""
    key_id, _ = _split_token(token)
    row = connection.one(SELECT_MARK, {"key_id": key_id}) if key_id else None
    if row is None:
        return None
    *key, revision, generation, digest = row
    head = Standpoint(int(revision or 0), cast(bytes, digest))
    return KeyMark(tuple(key), head, int(generation or 0))


class Catalogue:
    """Changes to the catalogue, each in a transaction of its own."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def register(self, kb_id: UUID, slug: str) -> None:
        """Enters a knowledge base with an empty head; its first commit comes after.

        Raises ValidationError for a name that is no slug, SlugTakenError for one in use.
        """
        if not is_slug(slug):
            raise ValidationError(
                "The name of a knowledge base has lower case letters, digits and hyphens, at "
                f"most {SLUG_CODE_POINTS_MAX}.",
                field="slug",
                reason="notASlug",
            )
        connection = self._database.connect()
        try:
            connection.begin_write()
            if connection.one(SELECT_KB_BY_SLUG, {"slug": slug}) is not None:
                raise SlugTakenError(f"There is a knowledge base {slug} already.", slug=slug)
            connection.run(
                INSERT_KB,
                {
                    "kb_id": kb_id.bytes,
                    "slug": slug,
                    "created_at": self._clock.now(),
                    "cursor_key": os.urandom(32),
                },
            )
            insert_head(connection, kb_id)
            connection.commit()
        finally:
            connection.rollback()
            connection.close()

    def create_key(
        self, kb_id: UUID, principal: str, held: frozenset[str], grants: frozenset[str]
    ) -> tuple[ApiKey, str]:
        """A new key and its token, which is shown this once and never again."""
        if len(held) > HELD_SCOPES_MAX:
            raise ValidationError(
                f"A key holds at most {HELD_SCOPES_MAX} scopes.", field="held", reason="tooMany"
            )
        assert grants <= GRANTS
        secret = secrets.token_urlsafe(32).replace("_", "-")
        key = ApiKey(
            key_id=secrets.token_hex(8),
            kb_id=kb_id,
            secret_sha256=sha256(secret.encode()).digest(),
            principal=principal,
            held=held,
            grants=grants,
            created_at=self._clock.now(),
            revoked_at=None,
        )
        self._write(
            INSERT_KEY,
            {
                "key_id": key.key_id,
                "kb_id": kb_id.bytes,
                "secret_sha256": key.secret_sha256,
                "principal": principal,
                "held": msgspec.json.encode(sorted(held)).decode(),
                "grants": msgspec.json.encode(sorted(grants)).decode(),
                "created_at": key.created_at,
                "revoked_at": None,
            },
        )
        return key, f"{KEY_PREFIX}{key.key_id}_{secret}"

    def list_keys(self, kb_id: UUID) -> list[ApiKey]:
        rows = self._database.reader().all(SELECT_KEYS, {"kb_id": kb_id.bytes})
        return [_api_key(row) for row in rows]

    def revoke_key(self, key_id: str) -> None:
        """The key stops working at once. Raises NotFoundError when there is none to revoke."""
        if self._write(REVOKE_KEY, {"key": key_id, "revoked_at": self._clock.now()}) == 0:
            raise NotFoundError(f"There is no working key {key_id}.")

    def _write(self, statement: Statement, values: dict[str, str | bytes | int | None]) -> int:
        connection: Connection = self._database.connect()
        try:
            connection.begin_write()
            changed = connection.count(statement, values)
            connection.commit()
            return changed
        finally:
            connection.rollback()
            connection.close()


def _split_token(token: str) -> tuple[str, str]:
    if not token.startswith(KEY_PREFIX):
        return "", ""
    key_id, _, secret = token.removeprefix(KEY_PREFIX).partition("_")
    return (key_id, secret) if key_id and secret else ("", "")


def _knowledge_base(row: Row) -> KnowledgeBase:
    kb_id, slug, created_at, cursor_key = row
    assert isinstance(kb_id, bytes)
    assert isinstance(cursor_key, bytes)
    return KnowledgeBase(UUID(bytes=kb_id), str(slug), int(created_at or 0), cursor_key)


def _api_key(row: Row) -> ApiKey:
    key_id, kb_id, secret, principal, held, grants, created_at, revoked_at = row
    assert isinstance(kb_id, bytes)
    assert isinstance(secret, bytes)
    return ApiKey(
        key_id=str(key_id),
        kb_id=UUID(bytes=kb_id),
        secret_sha256=secret,
        principal=str(principal),
        held=msgspec.json.decode(str(held), type=frozenset[str]),
        grants=msgspec.json.decode(str(grants), type=frozenset[str]),
        created_at=int(created_at or 0),
        revoked_at=None if revoked_at is None else int(revoked_at),
    )
