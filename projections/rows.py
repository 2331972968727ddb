"""Between rows and states: how a page, a note and a pin lie in their tables.

Each `*_COLUMNS` tuple is what a query selects and its function reads; a query may select
further columns after them.
"""

from typing import cast
from uuid import UUID

import msgspec
from msgspec.structs import replace
from sqlalchemy import and_

from kbstore.domain.events import BodyRef, Links, TextRef
from kbstore.domain.state import NoteState, PageState, PinState
from kbstore.store.statements import Row, Value
from kbstore.text.fold import fold
from kbstore.text.normalise import fold_key
from projections.tables import CURRENT, notes, page_versions, pages, pins

encode_ref = msgspec.msgpack.Encoder(uuid_format="bytes").encode
decode_text_ref = msgspec.msgpack.Decoder(TextRef).decode
decode_body_ref = msgspec.msgpack.Decoder(BodyRef).decode
decode_links = msgspec.msgpack.Decoder(Links).decode
_encode_scopes = msgspec.json.Encoder().encode
decode_scopes = msgspec.json.Decoder(tuple[str, ...]).decode

VERSION_COLUMNS = (
    page_versions.c.page_id,
    page_versions.c.version,
    page_versions.c.scope,
    page_versions.c.parent_id,
    page_versions.c.key,
    page_versions.c.name,
    page_versions.c.name_ref,
    page_versions.c.description,
    page_versions.c.description_ref,
    page_versions.c.body_ref,
    page_versions.c.links,
)
PAGE_COLUMNS = (*VERSION_COLUMNS, pages.c.template_path)
"""A page at some revision: `page_versions` joined to `pages` by `PAGE_OF_VERSION`."""

NEWEST_PAGE_COLUMNS = (
    *PAGE_COLUMNS,
    pages.c.ended_how,
    pages.c.ended_version,
    pages.c.merged_into,
)
"""The last row of a page, with what ended the page since."""

PAGE_OF_VERSION = and_(
    pages.c.kb_id == page_versions.c.kb_id,
    pages.c.generation == page_versions.c.generation,
    pages.c.page_id == page_versions.c.page_id,
)

NOTE_COLUMNS = (
    notes.c.note_id,
    notes.c.version,
    notes.c.page_id,
    notes.c.text,
    notes.c.text_ref,
    notes.c.stamps,
    notes.c.when_text,
    notes.c.links,
)
NEWEST_NOTE_COLUMNS = (*NOTE_COLUMNS, notes.c.to_revision)

PIN_COLUMNS = (
    pins.c.pin_id,
    pins.c.version,
    pins.c.page_id,
    pins.c.kind,
    pins.c.audience,
    pins.c.depth,
)
NEWEST_PIN_COLUMNS = (*PIN_COLUMNS, pins.c.to_revision)

_VersionRow = tuple[
    bytes,
    int,
    str,
    bytes | None,
    str | None,
    str,
    bytes,
    str | None,
    bytes | None,
    bytes | None,
    bytes | None,
]
_NoteRow = tuple[bytes, int, bytes, str, bytes, str, str | None, bytes | None]
_PinRow = tuple[bytes, int, bytes, str, str, int]


def page_state(row: Row) -> PageState:
    """The page of a row that starts with PAGE_COLUMNS, as a live one."""
    return version_state(row, cast(str | None, row[11]))


def newest_page_state(row: Row) -> PageState:
    """The page of a row that starts with NEWEST_PAGE_COLUMNS, live or gone."""
    state = page_state(row)
    ended, version, merged_into = cast(tuple[str | None, int, bytes | None], row[12:15])
    if ended is None:
        return state
    return replace(state, version=version, ended=ended, merged_into=id_or_none(merged_into))


def version_state(row: Row, template: str | None = None) -> PageState:
    """The page of a row that starts with VERSION_COLUMNS, as a live one."""
    (
        page_id,
        version,
        scope,
        parent_id,
        key,
        name,
        name_ref,
        description,
        description_ref,
        body_ref,
        links,
    ) = cast(_VersionRow, row[:11])
    return PageState(
        page_id=UUID(bytes=page_id),
        version=version,
        scope=scope,
        parent_id=id_or_none(parent_id),
        key=key,
        name=name,
        name_ref=decode_text_ref(name_ref),
        description=description,
        description_ref=decode_text_ref(description_ref) if description_ref else None,
        body=decode_body_ref(body_ref) if body_ref else None,
        links=decode_links(links) if links else None,
        template=template,
    )


def version_values(state: PageState) -> dict[str, Value]:
    """What a row of `page_versions` takes from the page's state."""
    return {
        "page_id": state.page_id.bytes,
        "version": state.version,
        "scope": state.scope,
        "parent_id": bytes_or_none(state.parent_id),
        "key": state.key,
        "key_fold": None if state.key is None else fold_key(state.key),
        "name": state.name,
        "name_fold": fold(state.name),
        "description": state.description,
        "name_ref": encode_ref(state.name_ref),
        "description_ref": ref_or_none(state.description_ref),
        "body_ref": ref_or_none(state.body),
        "links": ref_or_none(state.links),
    }


def note_state(row: Row) -> NoteState:
    """The note of a row that starts with NOTE_COLUMNS, as one that was not removed."""
    note_id, version, page_id, text, text_ref, stamps, when, links = cast(_NoteRow, row[:8])
    return NoteState(
        note_id=UUID(bytes=note_id),
        version=version,
        page_id=UUID(bytes=page_id),
        text=text,
        text_ref=decode_text_ref(text_ref),
        stamps=decode_scopes(stamps),
        when=when,
        links=decode_links(links) if links else None,
    )


def newest_note_state(row: Row) -> NoteState:
    """The note of the last row it has, which starts with NEWEST_NOTE_COLUMNS.

    A later event opens a row of its own, so a last row that has ended was ended by removal.
    """
    state = note_state(row)
    if row[8] == CURRENT:
        return state
    return replace(state, version=state.version + 1, removed=True)


def note_values(state: NoteState) -> dict[str, Value]:
    """What a row of `notes` takes from the note's state."""
    return {
        "note_id": state.note_id.bytes,
        "version": state.version,
        "page_id": state.page_id.bytes,
        "text": state.text,
        "text_ref": encode_ref(state.text_ref),
        "stamps": encode_scopes(state.stamps),
        "when_text": state.when,
        "links": ref_or_none(state.links),
    }


def pin_state(row: Row) -> PinState:
    """The pin of a row that starts with PIN_COLUMNS, as one that was not removed."""
    pin_id, version, page_id, kind, audience, depth = cast(_PinRow, row[:6])
    return PinState(
        pin_id=UUID(bytes=pin_id),
        version=version,
        page_id=UUID(bytes=page_id),
        kind=kind,
        audience=decode_scopes(audience),
        depth=depth,
    )


def newest_pin_state(row: Row) -> PinState:
    """The pin of the last row it has, which starts with NEWEST_PIN_COLUMNS.

    As with notes, a last row that has ended was ended by removal.
    """
    state = pin_state(row)
    if row[6] == CURRENT:
        return state
    return replace(state, version=state.version + 1, audience=())


def pin_values(state: PinState) -> dict[str, Value]:
    """What a row of `pins` takes from the pin's state."""
    return {
        "pin_id": state.pin_id.bytes,
        "version": state.version,
        "page_id": state.page_id.bytes,
        "kind": state.kind,
        "audience": encode_scopes(state.audience),
        "depth": state.depth,
    }


def encode_scopes(scopes: tuple[str, ...]) -> str:
    """Stamps or an audience as a column holds them: a JSON array in the event's order."""
    return _encode_scopes(scopes).decode()


def id_or_none(value: bytes | None) -> UUID | None:
    return None if value is None else UUID(bytes=value)


def bytes_or_none(value: UUID | None) -> bytes | None:
    return None if value is None else value.bytes


def ref_or_none(ref: TextRef | BodyRef | Links | None) -> bytes | None:
    return None if ref is None else encode_ref(ref)
