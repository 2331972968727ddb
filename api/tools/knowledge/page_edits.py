"""Edits by knowledge_page: which bodies and ranges can be what a read gave (reference 2).

What a model writes back has to be what it was shown. So a body longer than one read is edited
by range, and a range is no wider than one read from its first line.
"""

from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from api.ranges import RangeBody, edit_by_range
from api.tools.knowledge.caps import read_cap
from api.tools.knowledge.page_arguments import KnowledgePageArguments
from api.tools.knowledge.planning import at_head, expected, needed, page_there, refuse_others
from api.write import Write
from kbstore.access import Role
from kbstore.domain.commands import EditPage
from kbstore.errors import NotFoundError, ValidationError
from kbstore.text import LineRange, Position, check_range, clean_text, split_lines
from kbstore.text.windows import fits, is_numbered, is_one_read
from projections.read.bodies import body_text
from projections.read.pages import standing_at_version
from projections.read.rows import PageRow
from projections.read.standing import Standing
from projections.snapshot import Snapshot

_EDITING = "Editing a page"
_PART_BY_PART = (
    "Edit the body part by part: write each part back with the range its own read returned."
)


async def plan_edit(write: Write, given: KnowledgePageArguments) -> EditPage:
    """The edit of the page that `page` names.

    Raises NotFoundError and AmbiguousReferenceError for the reference, RoleTooWeakError below
    editor, PreconditionRequiredError, and ValidationError for arguments that do not go together
    and for a body or a range that no read can have given.
    """
    edit = await at_head(write, lambda snapshot: _without_body(write, snapshot, given))
    page_id, part, text = edit.page, given.range, given.body
    if part is not None:
        assert isinstance(page_id, UUID), "a reference leads to an id"
        body, replaced = await write.call.server.pool.run(
            lambda: edit_by_range(write, page_id, edit.expected_version, part, text)
        )
        return replace(edit, body=body, range=replaced)
    return edit if text is None else replace(edit, body=await write.body(text))


def refuse_numbered(body: str | None) -> None:
    """Raises ValidationError for a body each of whose lines that are not empty begins with a
    number and "│": as a read shows them, and as nobody writes them."""
    if body is not None and is_numbered(clean_text(body, "body")):
        raise ValidationError(
            "This body still has the line numbers a knowledge_read put in front of each line "
            '("12│"). Write the text without them.',
            field="body",
            reason="numbered",
        )


def _without_body(write: Write, snapshot: Snapshot, given: KnowledgePageArguments) -> EditPage:
    assert given.page is not None, "an edit is of a page"
    page = page_there(write, snapshot, given.page)
    snapshot.access.require(Role.EDITOR, page.scope, _EDITING)
    _check_arguments(given)
    edit = EditPage(
        page=page.page_id,
        expected_version=expected(snapshot, given.expected_version, _EDITING),
        name=UNSET if given.name is None else write.name(given.name),
        description=(UNSET if given.description is None else write.description(given.description)),
    )
    if given.range is not None:
        _check_part(snapshot, page, given.range, given.expected_version)
    elif given.body is not None:
        _check_whole(snapshot, page, given.body, given.expected_version)
    return edit


def _check_arguments(given: KnowledgePageArguments) -> None:
    """What the arguments say by themselves, whatever the page is."""
    for field, value in (("scope", given.scope), ("parent", given.parent), ("key", given.key)):
        if value is not None:
            raise ValidationError(
                f'{_EDITING} takes no scope, parent or key; use op "move" to relocate it.',
                field=field,
                reason="outOfPlace",
            )
    refuse_others(
        given, _EDITING, ("page", "name", "description", "body", "range", "expectedVersion")
    )
    if given.range is not None and given.body is None:
        raise needed("A range needs body: the text to put in place of those lines.", "body")
    if given.name is None and given.description is None and given.body is None:
        raise needed(f"{_EDITING} needs at least one of name, description or body.", "body")
    if given.range is not None and given.expected_version is None:
        raise needed(
            "A range needs expectedVersion: the version it was read from.", "expectedVersion"
        )
    refuse_numbered(given.body)


def _check_whole(snapshot: Snapshot, page: Standing, body: str, version: int | None) -> None:
    """Raises ValidationError for another body in place of one that no read showed whole.

    A rule on the state, so what changes nothing and what is stale goes on to the writer, which
    answers those first. A declared page that was never written has no range to be edited by.
    """
    if not isinstance(page, PageRow) or version not in (None, page.version):
        return
    before = body_text(snapshot, page.body_ref)
    if before is None or fits(before, read_cap(snapshot)) or before == clean_text(body, "body"):
        return
    raise ValidationError(
        "The stored body is longer than one knowledge_read returns, so it can't be replaced as a "
        f"whole. {_PART_BY_PART}",
        field="body",
        reason="longerThanOneRead",
    )


def _check_part(snapshot: Snapshot, page: Standing, part: RangeBody, version: int | None) -> None:
    """Raises ValidationError for a range outside of the version that it was read from, and for
    one wider than a read of it shows. A version that is not there is left to the edit."""
    assert version is not None, "a range has an expected version"
    if not isinstance(page, PageRow):
        return
    try:
        read = standing_at_version(snapshot, page.page_id, version)
    except NotFoundError:
        return
    assert isinstance(read, PageRow), "an earlier version of a written page is written"
    body = body_text(snapshot, read.body_ref) or ""
    lines = split_lines(body)
    start, end = part.start, part.end
    range = LineRange(Position(start.line, start.col), Position(end.line, end.col))
    try:
        check_range(lines, range)
    except ValidationError as refusal:
        raise ValidationError(
            f"{refusal.message[0].upper()}{refusal.message[1:]}. Pass a range that a "
            "knowledge_read of this version gave you, or a smaller one inside it.",
            field="range",
            reason=str(refusal.details["reason"]),
            lineCount=len(lines),
        ) from None
    if not is_one_read(body, lines, range, read_cap(snapshot)):
        raise ValidationError(
            f"{_named(range)} run past what one knowledge_read from {_spot(range.start)} shows, "
            f"so this can't be a range a read gave you. {_PART_BY_PART}",
            field="range",
            reason="longerThanOneRead",
        )


def _named(range: LineRange) -> str:
    start, end = range.start, range.end
    if start.line == end.line and (start.col is not None or end.col is not None):
        return f"Columns {start.col or 0}–{'' if end.col is None else end.col} of line {start.line}"
    return f"Lines {start.line}–{end.line}"


def _spot(start: Position) -> str:
    return f"line {start.line}" + (f", column {start.col}" if start.col else "")
