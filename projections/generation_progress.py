"""How far a generation is filled: kept with the rows themselves, so that both are there or
neither is."""

from typing import cast
from uuid import UUID

from msgspec import Struct
from sqlalchemy import bindparam, delete, insert, select, update

from kbstore.errors import DatabaseInUseError
from kbstore.store.connection import Connection, Queryable
from kbstore.store.statements import Statement, Value
from kbstore.store.tables import rebuilds
from projections.program import program

_ROW = rebuilds.c
_OF_KB = _ROW.kb_id == bindparam("kb")
_SELECTED = select(_ROW.generation, _ROW.revision, _ROW.position, _ROW.program).where(_OF_KB)
_SELECT = Statement(_SELECTED)
_LOCK = Statement(_SELECTED.with_for_update())
_INSERT = Statement(insert(rebuilds))
_UPDATE = Statement(
    update(rebuilds)
    .where(_OF_KB)
    .values(revision=bindparam("reached_revision"), position=bindparam("reached_position"))
)
_DELETE = Statement(delete(rebuilds).where(_OF_KB))


class Filled(Struct, frozen=True, kw_only=True):
    """A generation that holds what the events up to `position` come to; `revision` is the last
    commit of which that is all. `program` began it."""

    kb_id: UUID
    generation: int
    revision: int
    position: int
    program: str

    @property
    def is_of_this_program(self) -> bool:
        """Whether this program may go on with it."""
        return self.program == program()


def find_filled(connection: Queryable, kb_id: UUID) -> Filled | None:
    """The generation that was begun and never finished, if there is one."""
    return _read(connection, _SELECT, kb_id)


def begin_filling(connection: Connection, kb_id: UUID, generation: int) -> Filled:
    """Enters a generation without rows, in a transaction of its own."""
    filled = Filled(kb_id=kb_id, generation=generation, revision=0, position=0, program=program())
    values: dict[str, Value] = {
        "kb_id": kb_id.bytes,
        "generation": generation,
        "revision": 0,
        "position": 0,
        "program": filled.program,
    }
    with connection.writing():
        connection.run(_INSERT, values)
    return filled


def lock_filled(connection: Connection, filled: Filled) -> None:
    """Makes sure that nobody else fills the generation, until the transaction ends.

    Raises DatabaseInUseError when somebody did: what kept him out may have been lost together
    with a connection.
    """
    if _read(connection, _LOCK, filled.kb_id) != filled:
        raise DatabaseInUseError("Another process fills the same generation.")


def keep_filled(connection: Connection, filled: Filled) -> None:
    """Moves the mark on, in the transaction of the rows."""
    connection.run(
        _UPDATE,
        {
            "kb": filled.kb_id.bytes,
            "reached_revision": filled.revision,
            "reached_position": filled.position,
        },
    )


def forget_filled(connection: Connection, kb_id: UUID) -> None:
    """Removes the mark, in the open transaction."""
    connection.run(_DELETE, {"kb": kb_id.bytes})


def _read(connection: Queryable, statement: Statement, kb_id: UUID) -> Filled | None:
    row = connection.one(statement, {"kb": kb_id.bytes})
    if row is None:
        return None
    generation, revision, position, began = cast(tuple[int, int, int, str], row)
    return Filled(
        kb_id=kb_id, generation=generation, revision=revision, position=position, program=began
    )
