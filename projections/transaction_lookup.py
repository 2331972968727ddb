"""What deciding asks of the state, answered over the open write transaction."""

from collections.abc import Collection, Iterator
from typing import cast
from uuid import UUID

from sqlalchemy import bindparam, select

from kbstore.domain.events import TextRef
from kbstore.domain.state import NoteState, PageState, PinState
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.store.connection import Connection
from kbstore.store.statements import Row, Statement, Value
from kbstore.store.texts import TextReader
from kbstore.text.normalise import fold_key
from projections.intervals import is_current, of_kb
from projections.newest import LIVE_PAGES, NEWEST_PAGE, NEWEST_ROWS
from projections.rows import (
    NEWEST_NOTE_COLUMNS,
    NEWEST_PIN_COLUMNS,
    NOTE_COLUMNS,
    PAGE_COLUMNS,
    PAGE_OF_VERSION,
    newest_note_state,
    newest_page_state,
    newest_pin_state,
    note_state,
    page_state,
)
from projections.step import Parameters
from projections.tables import deletions, notes, page_versions, pages, pins, scopes
from msgspec.structs import replace

_VERSION = page_versions.c
_UNDER = _VERSION.parent_id == bindparam("parent_id")
_OLDEST_FIRST = (pages.c.created_at, pages.c.page_id)

_SCOPE_PAGE = Statement(
    LIVE_PAGES.where(_VERSION.scope == bindparam("scope"), _VERSION.parent_id.is_(None))
)
_CHILD = Statement(LIVE_PAGES.where(_UNDER, _VERSION.key_fold == bindparam("key_fold")))
_CHILDREN = Statement(LIVE_PAGES.where(_UNDER).order_by(*_OLDEST_FIRST).limit(bindparam("limit")))
