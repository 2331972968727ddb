"""What writes answer: what they were about, read at the revision they made."""

from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import quote
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from api.answers import NO_CACHE, Answer, encode, entity_tag, json_answer
from api.calls import Call
from api.planned import planned_events
from api.reading import State
from api.representations import (
    CommitWritten,
    ConfigurationRead,
    ConfigurationWritten,
    NoteWritten,
    OperationResult,
    PageRead,
    PageWritten,
    PinWritten,
    RenamedKey,
    Written,
)
from kbstore.access import dump_configuration
from kbstore.domain.decision import Subject
from kbstore.errors import NotFoundError
from kbstore.ids import pin_id
from kbstore.service import Outcome
from projections.read.notes import note
from projections.read.pages import page, version_of
from projections.read.pins import pins_of_page
from projections.read.refs import standing
from projections.read.rows import readable_row
from projections.read.standing import place_of
from projections.snapshot import Snapshot
from projections.views import Json, PinView

T = TypeVar("T")
Header = tuple[bytes, bytes]


def page_written(call: Call, state: State, outcome: Outcome) -> Answer:
    """`{revision, changed, page}`; 201 with its address for a new page."""
    (subject,) = outcome.subjects
    view = _if_readable(lambda: page(state.snapshot, subject.id))
    written = PageWritten(
        revision=outcome.revision,
        changed=outcome.changed,
        page=view,
        renamed=_renamed(state.snapshot, subject),
    )
    headers: list[Header] = []
    if view is not None:
        # The tag that a read of the page at this revision has.
        read = encode(PageRead(revision=outcome.revision, page=view))
        headers.append((b"etag", entity_tag(read, view.version).encode()))
    if subject.created:
        headers.append(_location(call, f"pages/{subject.id}"))
    return _answer(outcome, written, subject.created, headers)


def note_written(call: Call, state: State, outcome: Outcome) -> Answer:
    """`{revision, changed, note}`; 201 with its address for a new note."""
    (subject,) = outcome.subjects
    view = _if_readable(lambda: note(state.snapshot, subject.id))
    written = NoteWritten(revision=outcome.revision, changed=outcome.changed, note=view)
    headers = [_location(call, f"notes/{subject.id}")] if subject.created else []
    return _answer(outcome, written, subject.created, headers)


def pin_written(call: Call, state: State, outcome: Outcome) -> Answer:
    """`{revision, changed, pin}`; 201 for a new pin, which is what the address names."""
    (subject,) = outcome.subjects
    page_id, kind = UUID(call.path["pageId"]), call.path["kind"]
    assert subject.id == pin_id(page_id, kind), "a pin is written at its own address"
    written = PinWritten(
        revision=outcome.revision,
        changed=outcome.changed,
        pin=_if_readable(lambda: _pin(state.snapshot, page_id, kind)),
    )
    return _answer(outcome, written, subject.created)


def configuration_written(call: Call, state: State, outcome: Outcome) -> Answer:
    """`{revision, changed, version, configuration}`, with the tag of a read."""
    read = configuration_read(state)
    written = ConfigurationWritten(
        revision=outcome.revision,
        changed=outcome.changed,
        version=read.version,
        configuration=read.configuration,
    )
    tag = entity_tag(encode(read), read.version)
    return _answer(outcome, written, False, [(b"etag", tag.encode())])


def commit_written(call: Call, state: State, outcome: Outcome) -> Answer:
    """`{revision, changed, results, events}`; 201 with the address of the commit."""
    written = CommitWritten(
        revision=outcome.revision,
        changed=outcome.changed,
        results=tuple(_result(state.snapshot, subject) for subject in outcome.subjects),
        events=planned_events(state.snapshot, outcome.events),
    )
    is_created = outcome.changed and not outcome.events
    headers = [_location(call, f"commits/{outcome.revision}")] if is_created else []
    return _answer(outcome, written, is_created, headers)


def configuration_read(state: State) -> ConfigurationRead:
    """The configuration in force at the revision, as canonical JSON."""
    snapshot = state.snapshot
    text = dump_configuration(snapshot.configuration)
    return ConfigurationRead(
        revision=state.revision,
        final=state.final,
        version=snapshot.configured_at,
        configuration=msgspec.json.decode(text, type=dict[str, Json]),
    )


def _answer(
    outcome: Outcome, written: Written, is_created: bool, headers: Iterable[Header] = ()
) -> Answer:
    replayed = ((b"idempotency-replayed", b"true"),) if outcome.replayed else ()
    revision = (b"kb-revision", b"%d" % outcome.revision)
    return json_answer(
        201 if is_created else 200, written, (revision, NO_CACHE, *headers, *replayed)
    )


def _location(call: Call, resource: str) -> Header:
    return (b"location", quote(f"{call.kb_path}/{resource}").encode())


def _if_readable(find: Callable[[], T]) -> T | None:
    """What `find` gives; None for what ended, or lies where the caller cannot read today."""
    try:
        return find()
    except NotFoundError:
        return None


def _pin(snapshot: Snapshot, page_id: UUID, kind: str) -> PinView | None:
    return next((pin for pin in pins_of_page(snapshot, page_id) if pin.kind == kind), None)


def _renamed(snapshot: Snapshot, subject: Subject) -> tuple[RenamedKey, ...] | UnsetType:
    """The children that got another key, those the caller may read today, where they stand and
    where they stood; absent for none."""
    if not subject.renamed:
        return UNSET
    before = snapshot.at(snapshot.revision - 1)
    readable = tuple(
        RenamedKey(page=id, before=old, after=new)
        for id, old, new in subject.renamed
        if readable_row(snapshot, id) is not None and readable_row(before, id) is not None
    )
    return readable or UNSET


def _result(snapshot: Snapshot, subject: Subject) -> OperationResult:
    row = None
    if subject.kind == "page":
        row = _if_readable(lambda: standing(snapshot, subject.id))
    return OperationResult(
        kind=subject.kind,
        id=subject.id,
        created=subject.created,
        ref=None if row is None else place_of(snapshot, row).ref,
        version=None if row is None else version_of(row),
    )
