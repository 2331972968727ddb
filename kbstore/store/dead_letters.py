"""Dead letters: the events that a webhook's receiver did not take, until they are sent again.

An event is kept by its position alone. Sending it again reads it again, as far as the webhook
may then see it.
"""

from typing import cast
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import and_, bindparam, delete, func, insert, select, update

from kbstore.store import tables
from kbstore.store.connection import Connection, Queryable
from kbstore.store.statements import Row, Statement, Values


class DeadLetter(Struct, frozen=True, kw_only=True):
    """The event at `position`, with how its last attempt ended (UTC microseconds).

    `requested_at` is when sending it again was asked for, None when it was not.
    """

    position: int
    attempts: int
    failed_at: int
    last_status: int | None
    last_error: str | None
    requested_at: int | None = None


_LETTER = tables.webhook_dead_letters.c
_OF_WEBHOOK = and_(_LETTER.kb_id == bindparam("kb"), _LETTER.webhook_id == bindparam("webhook"))
_THIS = and_(_OF_WEBHOOK, _LETTER.position == bindparam("at"))
_COLUMNS = (
    _LETTER.position,
    _LETTER.attempts,
    _LETTER.failed_at,
    _LETTER.last_status,
    _LETTER.last_error,
    _LETTER.requested_at,
)
INSERT_LETTER = Statement(insert(tables.webhook_dead_letters))
SELECT_LETTER = Statement(select(*_COLUMNS).where(_THIS))
LIST_LETTERS = Statement(
    select(*_COLUMNS)
    .where(_OF_WEBHOOK, _LETTER.position > bindparam("after"))
    .order_by(_LETTER.position)
    .limit(bindparam("limit"))
)
LIST_REQUESTED = Statement(
    select(*_COLUMNS)
    .where(_OF_WEBHOOK, _LETTER.requested_at.is_not(None))
    .order_by(_LETTER.position)
    .limit(bindparam("limit"))
)
COUNT_LETTERS = Statement(
    select(func.count()).select_from(tables.webhook_dead_letters).where(_OF_WEBHOOK)
)
REQUEST_LETTER = Statement(
    update(tables.webhook_dead_letters).where(_THIS).values(requested_at=bindparam("now"))
)
FAIL_LETTER = Statement(
    update(tables.webhook_dead_letters)
    .where(_THIS)
    .values(
        attempts=bindparam("attempts"),
        failed_at=bindparam("failed_at"),
        last_status=bindparam("last_status"),
        last_error=bindparam("last_error"),
        requested_at=bindparam("requested_at"),
    )
)
DELETE_LETTER = Statement(delete(tables.webhook_dead_letters).where(_THIS))


def insert_letter(
    connection: Connection, kb_id: UUID, webhook_id: UUID, letter: DeadLetter
) -> None:
    values = {**asdict(letter), "kb_id": kb_id.bytes, "webhook_id": webhook_id.bytes}
    connection.run(INSERT_LETTER, values)


def list_letters(
    connection: Queryable, kb_id: UUID, webhook_id: UUID, after: int, limit: int
) -> list[DeadLetter]:
    """By position, from the one after `after` on."""
    values = {**_these(kb_id, webhook_id), "after": after, "limit": limit}
    return [_letter(row) for row in connection.all(LIST_LETTERS, values)]


def requested_letters(
    connection: Queryable, kb_id: UUID, webhook_id: UUID, limit: int
) -> list[DeadLetter]:
    """Those that were asked for, by position."""
    values = {**_these(kb_id, webhook_id), "limit": limit}
    return [_letter(row) for row in connection.all(LIST_REQUESTED, values)]


def count_letters(connection: Queryable, kb_id: UUID, webhook_id: UUID) -> int:
    row = connection.one(COUNT_LETTERS, _these(kb_id, webhook_id))
    assert row is not None
    return int(row[0] or 0)


def request_letter(
    connection: Connection, kb_id: UUID, webhook_id: UUID, position: int, now: int
) -> DeadLetter | None:
    """Asks for it to be sent again; None when there is none of that position."""
    values = {**_these(kb_id, webhook_id), "at": position, "now": now}
    if connection.count(REQUEST_LETTER, values) == 0:
        return None
    row = connection.one(SELECT_LETTER, values)
    return None if row is None else _letter(row)


def update_letter(
    connection: Connection, kb_id: UUID, webhook_id: UUID, letter: DeadLetter
) -> None:
    """Keeps how another attempt ended."""
    values = {**asdict(letter), **_these(kb_id, webhook_id), "at": letter.position}
    connection.run(FAIL_LETTER, values)


def delete_letter(connection: Connection, kb_id: UUID, webhook_id: UUID, position: int) -> None:
    connection.run(DELETE_LETTER, {**_these(kb_id, webhook_id), "at": position})


def _these(kb_id: UUID, webhook_id: UUID) -> Values:
    return {"kb": kb_id.bytes, "webhook": webhook_id.bytes}


_LetterRow = tuple[int, int, int, int | None, str | None, int | None]


def _letter(row: Row) -> DeadLetter:
    position, attempts, failed_at, status, error, requested_at = cast(_LetterRow, row)
    return DeadLetter(
        position=position,
        attempts=attempts,
        failed_at=failed_at,
        last_status=status,
        last_error=error,
        requested_at=requested_at,
    )
