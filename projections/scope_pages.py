"""All pages of a scope at a revision, for imports and exports: whole trees, streamed.

These read as an operator does, without an access filter: no HTTP door may call them.
"""

from collections.abc import Iterator
from typing import cast
from uuid import UUID

import msgspec
from msgspec import Struct
from sqlalchemy import Integer, bindparam, literal_column, select

from kbstore.domain.events import BodyRef
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.store.commits import Head
from kbstore.store.connection import Connection
from kbstore.store.statements import Statement
from projections.tables import page_versions

_body_decoder = msgspec.msgpack.Decoder(BodyRef)
_PAGE = page_versions.c


class ScopePage(Struct, frozen=True, kw_only=True):
    """A live page as a tree walk needs it; `parent_id` is None for the scope page."""

    page_id: UUID
    parent_id: UUID | None
    key: str | None
    name: str
    version: int
    body: BodyRef | None


def _walk() -> Statement:
    columns = (_PAGE.page_id, _PAGE.parent_id, _PAGE.key, _PAGE.name, _PAGE.version, _PAGE.body_ref)
    valid = (
        _PAGE.kb_id == bindparam("kb_id"),
        _PAGE.generation == bindparam("generation"),
        _PAGE.from_revision <= bindparam("revision"),
        _PAGE.to_revision > bindparam("revision"),
    )
    tree = (
        select(*columns, literal_column("0", Integer).label("level"))
        .where(*valid, _PAGE.scope == bindparam("scope"), _PAGE.parent_id.is_(None))
        .cte("tree", recursive=True)
    )
    below = select(*columns, (tree.c.level + 1).label("level")).where(
        *valid, _PAGE.parent_id == tree.c.page_id, tree.c.level <= NESTING_LEVELS_MAX
    )
    tree = tree.union_all(below)
    return Statement(
        select(
            tree.c.page_id,
            tree.c.parent_id,
            tree.c.key,
            tree.c.name,
            tree.c.version,
            tree.c.body_ref,
        ).order_by(tree.c.level, tree.c.page_id)
    )


_WALK = _walk()


def scope_pages(
    connection: Connection, head: Head, scope: str, revision: int | None = None
) -> Iterator[ScopePage]:
    """Every live page of a scope, the scope page first, then level by level."""
    rows = connection.each(
        _WALK,
        {
            "kb_id": head.kb_id.bytes,
            "generation": head.generation,
            "revision": head.revision if revision is None else revision,
            "scope": scope,
        },
    )
    for row in rows:
        page_id, parent_id, key, name, version, body_ref = row
        yield ScopePage(
            page_id=UUID(bytes=cast(bytes, page_id)),
            parent_id=UUID(bytes=cast(bytes, parent_id)) if parent_id is not None else None,
            key=cast("str | None", key),
            name=cast(str, name),
            version=cast(int, version),
            body=_body_decoder.decode(cast(bytes, body_ref)) if body_ref is not None else None,
        )
