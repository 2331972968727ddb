"""Notes: adding, restamping and removing them."""

import re
from datetime import date
from uuid import UUID

from kbstore.access import Role, parse_address
from kbstore.clock import parse_time
from kbstore.domain.commands import AddNote, RemoveNote, RestampNote
from kbstore.domain.decision import Context, Decision, Subject
from kbstore.domain.drafting import Draft, unchanged
from kbstore.domain.events import NoteAdded, NoteRemoved, NoteRestamped
from kbstore.domain.linking import bind, folder_of
from kbstore.domain.state import NoteState, PageState
from kbstore.domain.targets import is_known_scope, page_target
from kbstore.errors import NotFoundError, ValidationError
from kbstore.limits import NOTE_STAMPS_MAX

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def add_note(command: AddNote, context: Context) -> Decision:
    """One fact on a page. Needs contributor on the page's scope and on each stamp."""
    target = page_target(context, command.page)
    context.access.require(Role.CONTRIBUTOR, target.page.scope, "Adding a note")
    stamps = _checked_stamps(context, command.stamps, "Adding a note")
    for stamp in stamps:
        context.access.require(Role.CONTRIBUTOR, stamp, "Adding a note")
    if command.when is not None:
        check_when(command.when)
    draft = Draft(context)
    page = draft.write(target)
    event = NoteAdded(
        originator_id=context.ids.new_id(),
        originator_version=1,
        page_id=page.page_id,
        text=command.text.ref,
        stamps=stamps,
        when=command.when,
        links=bind(
            command.text,
            context.access,
            context.lookup,
            lambda: folder_of(context.lookup, target),
        ),
    )
    draft.add(event, command.text)
    return draft.decision(Subject("note", event.originator_id, created=True))


def restamp_note(command: RestampNote, context: Context) -> Decision:
    """Other stamps. Needs editor on the page's scope and contributor on each new stamp.

    The stamps given replace those the caller can read. Others stay: he cannot take a note
    from readers he does not know of, and the answer does not show that there are any. So they
    do not count for NOTE_STAMPS_MAX either.
    """
    note, page = _visible_note(context, command.note)
    context.access.require(Role.EDITOR, page.scope, "Restamping a note")
    given = _checked_stamps(context, command.stamps, "Restamping a note")
    for stamp in given:
        if stamp not in note.stamps:
            context.access.require(Role.CONTRIBUTOR, stamp, "Restamping a note")
    hidden = tuple(stamp for stamp in note.stamps if not context.access.can_read(stamp))
    stamps = (*given, *hidden)
    subject = Subject("note", note.note_id)
    if set(stamps) == set(note.stamps):
        return unchanged(subject)
    draft = Draft(context)
    draft.add(
        NoteRestamped(
            originator_id=note.note_id, originator_version=note.version + 1, stamps=stamps
        )
    )
    return draft.decision(subject)


def remove_note(command: RemoveNote, context: Context) -> Decision:
    """The note leaves every read. Needs editor on the page's scope."""
    note, page = _visible_note(context, command.note)
    context.access.require(Role.EDITOR, page.scope, "Removing a note")
    draft = Draft(context)
    draft.add(NoteRemoved(originator_id=note.note_id, originator_version=note.version + 1))
    return draft.decision(Subject("note", note.note_id))


def check_when(value: str) -> None:
    """Passes an ISO 8601 date (2026-10-29) or date-time with a zone (2026-10-29T14:30:00Z).

    Raises ValidationError for the field `when`, with the reasons of `parse_time`.
    """
    try:
        if _DATE.fullmatch(value) is None:
            parse_time(value, "when")
        else:
            date.fromisoformat(value)
    except ValidationError as error:
        raise _no_when(value, str(error.details["reason"])) from None
    except ValueError:
        raise _no_when(value, "notATime") from None


def _no_when(value: str, reason: str) -> ValidationError:
    return ValidationError(
        "when must be a date, such as 2026-10-29, or a time with a zone, such as "
        "2026-10-29T14:30:00Z.",
        field="when",
        reason=reason,
        given=value[:64],
    )


def _visible_note(context: Context, note_id: UUID) -> tuple[NoteState, PageState]:
    """The note and its page, where the caller can read the page and one of the stamps."""
    note = context.lookup.note(note_id)
    page = None if note is None or note.removed else context.lookup.page(note.page_id)
    if note is not None and page is not None and page.is_live:
        can_read = context.access.can_read
        if can_read(page.scope) and any(can_read(stamp) for stamp in note.stamps):
            return note, page
    raise NotFoundError(f'Knowledge note "{note_id}" not found.')


def _checked_stamps(context: Context, given: tuple[str, ...], action: str) -> tuple[str, ...]:
    """The stamps in NFC; one that is undeclared or unreadable looks absent."""
    if not given:
        raise ValidationError(
            f"{action} needs scope: the stamp scopes.", field="scope", reason="missing"
        )
    stamps = tuple(parse_address(stamp, "scope") for stamp in given)
    _check_count(stamps)
    if len(set(stamps)) < len(stamps):
        raise ValidationError("A stamp stands twice.", field="scope", reason="duplicate")
    for stamp in stamps:
        if not is_known_scope(context, stamp):
            raise NotFoundError(f'Knowledge page "{stamp}" not found.')
    return stamps


def _check_count(stamps: tuple[str, ...]) -> None:
    if len(stamps) > NOTE_STAMPS_MAX:
        raise ValidationError(
            f"A note has at most {NOTE_STAMPS_MAX} stamps.",
            field="scope",
            reason="tooMany",
            limit=NOTE_STAMPS_MAX,
        )
