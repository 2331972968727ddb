"""Notes: adding them to a page, reading, restamping and removing them."""

from api.answers import Answer
from api.bodies import Body, NoBody
from api.calls import Call
from api.operations import reads, writes
from api.parameters import AtRevision, Parameters
from api.reading import Found, State, id_of, read
from api.representations import NoteRead, NoteWritten
from api.write import Write
from api.writing import WriteRules, needs
from api.written import note_written
from kbstore.access import Role
from kbstore.domain.commands import AddNote, RemoveNote, RestampNote
from kbstore.errors import RoleTooWeakError
from projections.read.notes import note


class NoteBody(Body, frozen=True, kw_only=True):
    """`scope` lists the stamps: the scopes whose readers see the note."""

    text: str
    scope: tuple[str, ...]
    when: str | None = None


class RestampBody(Body, frozen=True, kw_only=True):
    scope: tuple[str, ...]


@writes(
    "addNote",
    "POST",
    "/pages/{pageId}/notes",
    "Add a note to a page",
    parameters=Parameters,
    body=NoteBody,
    answer=NoteWritten,
    creates=True,
    rules=WriteRules(check=needs(Role.CONTRIBUTOR, "Adding a note"), render=note_written),
    errors=(RoleTooWeakError,),
)
async def add_note(write: Write, given: Parameters, body: NoteBody) -> AddNote:
    return AddNote(
        page=write.page_id,
        text=write.note_text(body.text),
        stamps=body.scope,
        when=body.when,
    )


@reads(
    "readNote",
    "/notes/{noteId}",
    "Read a note",
    parameters=AtRevision,
    answer=NoteRead,
)
async def read_note(call: Call, given: AtRevision) -> Answer:
    note_id = id_of(call, "noteId", "note")

    def query(state: State) -> Found:
        view = note(state.snapshot, note_id)
        read = NoteRead(revision=state.revision, final=state.final, note=view)
        return Found(read, view.version)

    return await read(call, given, query)


@writes(
    "restampNote",
    "PATCH",
    "/notes/{noteId}",
    "Give a note other stamps",
    parameters=Parameters,
    body=RestampBody,
    answer=NoteWritten,
    rules=WriteRules(check=needs(Role.EDITOR, "Restamping a note", "note"), render=note_written),
    errors=(RoleTooWeakError,),
)
async def restamp_note(write: Write, given: Parameters, body: RestampBody) -> RestampNote:
    return RestampNote(note=write.note_id, stamps=body.scope)


@writes(
    "removeNote",
    "DELETE",
    "/notes/{noteId}",
    "Remove a note",
    parameters=Parameters,
    body=NoBody,
    answer=NoteWritten,
    rules=WriteRules(
        check=needs(Role.EDITOR, "Removing a note", "note"),
        is_body_optional=True,
        render=note_written,
    ),
    errors=(RoleTooWeakError,),
)
async def remove_note(write: Write, given: Parameters, body: NoBody) -> RemoveNote:
    return RemoveNote(note=write.note_id)


OPERATIONS = (add_note, read_note, restamp_note, remove_note)
