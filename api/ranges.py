"""Edits of a range: the whole new body is made here, from the version the caller read."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, UnsetType

from api.bodies import Body
from api.calls import Call
from api.write import Write
from kbstore.domain.commands import Expected
from kbstore.domain.events import ReplacedRange
from kbstore.domain.pages import unwritten_range
from kbstore.domain.preparing import prepare_body
from kbstore.errors import NotFoundError, ValidationError, VersionConflictError
from kbstore.limits import BODY_BYTES_MAX
from kbstore.text import LineRange, Position, clean_body, clean_text, replace_range
from kbstore.texts import PreparedBody
from projections.read.conflict import conflict_details
from projections.read.pages import page_at_version, version_of
from projections.read.refs import standing
from projections.snapshot import open_snapshot

Line = Annotated[int, Meta(ge=1, le=BODY_BYTES_MAX + 1)]
Column = Annotated[int, Meta(ge=0, le=BODY_BYTES_MAX)]


class PositionBody(Body, frozen=True, kw_only=True):
    """A line, counted from 1, and in it a column, counted from 0 in code points."""

    line: Line
    col: Column | None = None


class RangeBody(Body, frozen=True, kw_only=True):
    """The lines from `start` to `end`, both included; `end.col` is the first one outside."""

    start: PositionBody
    end: PositionBody


def edit_by_range(
    write: Write,
    page_id: UUID,
    expected: Expected,
    given: RangeBody,
    replacement: str | None | UnsetType,
) -> tuple[PreparedBody, ReplacedRange]:
    """The whole new body, and the range as the event records it. Takes a while for a long one.

    Raises ValidationError without a body, for "any" version, for a page that nothing was written
    to yet and for a range outside the body, VersionConflictError for a version the page never had.
    """
    if not isinstance(replacement, str):
        raise ValidationError("A range needs the body.", field="body", reason="missing")
    if not isinstance(expected, int):
        raise ValidationError(
            "A range was read from one version: say which.", field="range", reason="anyVersion"
        )
    lines = LineRange(
        Position(given.start.line, given.start.col), Position(given.end.line, given.end.col)
    )
    before = _body_at(write.call, page_id, expected)
    after = replace_range(before, lines, clean_text(replacement, "body"))
    body = prepare_body(clean_body(after), write.ids)
    return body, ReplacedRange(given.start.line, given.end.line, given.start.col, given.end.col)


def _body_at(call: Call, page_id: UUID, version: int) -> str:
    """The body of a version, "" for a page that has none."""
    connection = call.server.services.database.reader()
    with connection.reading():
        snapshot = open_snapshot(connection, call.kb.kb_id, call.caller)
        if version_of(standing(snapshot, page_id)) == 0:
            raise unwritten_range()
        try:
            return page_at_version(snapshot, page_id, version).body or ""
        except NotFoundError:
            raise VersionConflictError(
                f"Knowledge record version conflict: {page_id}",
                **conflict_details(snapshot, page_id, version),
            ) from None
