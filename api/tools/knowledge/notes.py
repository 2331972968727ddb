"""knowledge_note: adding notes to pages, restamping and removing them."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta

from api.reading import State
from api.tools.knowledge.listing import Reference
from api.tools.knowledge.planning import (
    Address,
    at_head,
    needed,
    page_there,
    refuse_others,
    scope_there,
)
from api.tools.tool import Arguments, Result, writes
from api.write import Write
from kbstore.access import Role
from kbstore.domain.commands import AddNote, RemoveNote, RestampNote
from kbstore.errors import AmbiguousReferenceError, NotFoundError, RoleTooWeakError
from kbstore.ids import parse_uuid
from kbstore.limits import NOTE_STAMPS_MAX, NOTE_TOKENS_MAX, TOOL_TEXT_CHARACTERS_MAX
from kbstore.service import Outcome
from projections.read.notes import note
from projections.read.refs import standing
from projections.snapshot import Snapshot
from projections.views import View

_SHOWN_CHARACTERS_MAX = 100

Stamps = Annotated[tuple[Address, ...], Meta(max_length=NOTE_STAMPS_MAX)]


class KnowledgeNoteArguments(Arguments, frozen=True, kw_only=True):
    """What to do, and with which note."""

    op: Annotated[
        Literal["add", "restamp", "remove"],
        Meta(
            description="add puts a note on a page, restamp changes who sees a note, remove "
            "takes it away."
        ),
    ]
    page: Annotated[
        Reference | None,
        Meta(description="Add: the page, as an id, scope address, page path or exact name."),
    ] = None
    note: Annotated[Reference | None, Meta(description="Restamp or remove: the note ID.")] = None
    scope: Annotated[
        Stamps | None,
        Meta(
            description="Add and restamp, required for both: the stamp scopes, as addresses. "
            "Who can read the page and one of them sees the note. Restamp replaces the stamps."
        ),
    ] = None
    text: Annotated[
        str | None,
        Meta(
            description=f"Add: the note, one durable fact of at most {NOTE_TOKENS_MAX} tokens. "
            "Inline Markdown is fine; link other pages with [[Page Name]]."
        ),
    ] = None
    when: Annotated[
        Annotated[str, Meta(max_length=TOOL_TEXT_CHARACTERS_MAX)] | None,
        Meta(
            description="Add: when it was true or observed, as a date (2026-10-29) or an "
            "ISO 8601 date-time with a zone (2026-10-29T14:30:00Z)."
        ),
    ] = None


class WrittenNote(View, frozen=True, kw_only=True):
    """A note; `page` is the ref of its page, `scope` lists the stamps that the run can read."""

    id: UUID
    page: str
    text: str
    scope: tuple[str, ...]
    when: str | None


class KnowledgeNoteResult(Result, frozen=True, kw_only=True):
    """`changed` is false where everything already was as asked; `note` is null once it was
    removed, or is out of the run's reach."""

    changed: bool
    note: WrittenNote | None


def _render(state: State, outcome: Outcome, given: KnowledgeNoteArguments) -> KnowledgeNoteResult:
    (subject,) = outcome.subjects
    return KnowledgeNoteResult(
        revision=outcome.revision,
        changed=outcome.changed,
        note=_written(state.snapshot, subject.id),
    )


def _written(snapshot: Snapshot, note_id: UUID) -> WrittenNote | None:
    try:
        view = note(snapshot, note_id)
    except NotFoundError:
        return None
    return WrittenNote(id=view.id, page=view.ref, text=view.text, scope=view.scope, when=view.when)


@writes(
    "knowledge_note",
    "Write notes",
    "Add a note to a page, change who sees it, or remove it. A note is one durable fact; its "
    "stamp scopes say who can see it: whoever can read the page and at least one of them. A "
    "fact that changed is a new note with its date. Removing a note and adding it again gives "
    "it a new ID.",
    group="write",
    arguments=KnowledgeNoteArguments,
    result=KnowledgeNoteResult,
    render=_render,
    destructive=True,
    errors=(NotFoundError, AmbiguousReferenceError, RoleTooWeakError),
)
async def knowledge_note(
    write: Write, given: KnowledgeNoteArguments
) -> AddNote | RestampNote | RemoveNote:
    match given.op:
        case "add":
            return await _add(write, given)
        case "restamp":
            return await _restamp(write, given)
        case "remove":
            return await _remove(write, given)


async def _add(write: Write, given: KnowledgeNoteArguments) -> AddNote:
    reference = given.page
    if reference is None:
        raise needed("Adding a note needs page and text.", "page")

    def find(snapshot: Snapshot) -> UUID:
        page = page_there(write, snapshot, reference)
        stamps = [scope_there(snapshot, stamp) for stamp in given.scope or ()]
        for scope in (page.scope, *stamps):
            snapshot.access.require(Role.CONTRIBUTOR, scope, "Adding a note")
        return page.page_id

    page_id = await at_head(write, find)
    refuse_others(given, "Adding a note", ("page", "scope", "text", "when"))
    if not given.text:
        raise needed("Adding a note needs page and text.", "text")
    return AddNote(
        page=page_id,
        text=write.note_text(given.text),
        stamps=_stamps(given.scope, "Adding a note"),
        when=given.when,
    )


async def _restamp(write: Write, given: KnowledgeNoteArguments) -> RestampNote:
    note_id = await _known_note(write, given.note, "Restamping a note", given.scope or ())
    refuse_others(given, "Restamping a note", ("note", "scope"))
    return RestampNote(note=note_id, stamps=_stamps(given.scope, "Restamping a note"))


async def _remove(write: Write, given: KnowledgeNoteArguments) -> RemoveNote:
    note_id = await _known_note(write, given.note, "Removing a note")
    refuse_others(given, "Removing a note", ("note",))
    return RemoveNote(note=note_id)


async def _known_note(
    write: Write, given: str | None, action: str, stamps: Sequence[str] = ()
) -> UUID:
    """The note that the run sees, and may change as editor on its page's scope; a new stamp
    needs contributor there."""
    if given is None:
        raise needed(f"{action} needs note: its ID.", "note")
    note_id = parse_uuid(given)
    if note_id is None:
        shown = given[:_SHOWN_CHARACTERS_MAX].encode("utf-8", "backslashreplace").decode()
        raise NotFoundError(f'Knowledge note "{shown}" not found.')

    def find(snapshot: Snapshot) -> None:
        view = note(snapshot, note_id)
        page = standing(snapshot, view.page)
        addresses = [scope_there(snapshot, stamp) for stamp in stamps]
        snapshot.access.require(Role.EDITOR, page.scope, action)
        for address in addresses:
            if address not in view.scope:
                snapshot.access.require(Role.CONTRIBUTOR, address, action)

    await at_head(write, find)
    return note_id


def _stamps(given: tuple[str, ...] | None, action: str) -> tuple[str, ...]:
    if not given:
        raise needed(f"{action} needs scope: the stamp scopes.", "scope")
    return given
