"""How far the copy of a knowledge base is that is being made here, and what a whole one proved."""

from typing import cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import bindparam, delete, insert, select, update

from kbstore.errors import DatabaseInUseError
from kbstore.store.connection import Connection, Queryable
from kbstore.store.statements import Statement
from kbstore.store.tables import copies

_ROW = copies.c
_OF_KB = _ROW.kb_id == bindparam("kb")
_SELECTED = select(_ROW.revision, _ROW.position, _ROW.checksum, _ROW.content_checksum)
_SELECT = Statement(_SELECTED.where(_OF_KB))
_LOCK = Statement(_SELECTED.where(_OF_KB).with_for_update())
_INSERT = Statement(insert(copies))
_UPDATE = Statement(
    update(copies)
    .where(_OF_KB)
    .values(
        revision=bindparam("copied_revision"),
        position=bindparam("copied_position"),
        checksum=bindparam("proved_checksum"),
        content_checksum=bindparam("proved_content_checksum"),
    )
)
_DELETE = Statement(delete(copies).where(_OF_KB))


class CopyMark(Struct, frozen=True, kw_only=True):
    """The events up to `position` stand here, and the commits up to `revision`. The checksums
    are those of a copy that is whole and in the catalogue."""

    kb_id: UUID
    revision: int = 0
    position: int = 0
    checksum: str | None = None
    content_checksum: str | None = None


def find_copy(connection: Queryable, kb_id: UUID) -> CopyMark | None:
    """The mark of a copy that was begun, in a run that never ended."""
    return _read(connection, _SELECT, kb_id)


def begin_copy(connection: Connection, kb_id: UUID) -> CopyMark:
    """Enters a mark, in the open transaction."""
    mark = CopyMark(kb_id=kb_id)
    connection.run(
        _INSERT,
        {
            "kb_id": kb_id.bytes,
            "revision": mark.revision,
            "position": mark.position,
            "checksum": None,
            "content_checksum": None,
        },
    )
    return mark


def lock_copy(connection: Connection, mark: CopyMark) -> None:
    """Makes sure that nobody else makes the same copy, until the transaction ends.

    Raises DatabaseInUseError when somebody did: what kept him out may have been lost together
    with a connection.
    """
    if _read(connection, _LOCK, mark.kb_id) != mark:
        raise DatabaseInUseError("Another process makes the same copy.")


def keep_copy(connection: Connection, mark: CopyMark) -> None:
    """Moves the mark on, in the transaction of the rows."""
    connection.run(
        _UPDATE,
        {
            "kb": mark.kb_id.bytes,
            "copied_revision": mark.revision,
            "copied_position": mark.position,
            "proved_checksum": mark.checksum,
            "proved_content_checksum": mark.content_checksum,
        },
    )


def forget_copy(connection: Connection, kb_id: UUID) -> None:
    """Removes a mark, in the open transaction."""
    connection.run(_DELETE, {"kb": kb_id.bytes})


def _read(connection: Queryable, statement: Statement, kb_id: UUID) -> CopyMark | None:
    row = connection.one(statement, {"kb": kb_id.bytes})
    if row is None:
        return None
    revision, position, checksum, content = cast(tuple[int, int, str | None, str | None], row)
    return CopyMark(
        kb_id=kb_id,
        revision=revision,
        position=position,
        checksum=checksum,
        content_checksum=content,
    )
