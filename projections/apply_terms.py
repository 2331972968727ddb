"""What search looks through: a row for each version of a page and for each event of a note."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from msgspec import Struct
from sqlalchemy import insert

from kbstore.domain.events import BodyRef, TextRef
from kbstore.domain.state import NoteState, PageState
from kbstore.store.statements import Statement, Value
from kbstore.text.terms import Terms, phrase_of, terms_of
from projections.lexical.changes import (
    BODY_UNIT,
    DESCRIPTION_UNIT,
    NAME_UNIT,
    changes_between,
    encode_changes,
)
from projections.rows import encode_scopes
from projections.step import Step
from projections.tables import search_documents

_ADD = Statement(insert(search_documents))


class Follower(Struct, frozen=True):
    """A page that an event of a page above took along into another scope."""

    page_id: UUID
    name: str
    updated_at: int


def add_page_terms(step: Step, before: PageState | None, after: PageState) -> None:
    """The row of a page that an event created, changed, ended or brought back.

    `before` is its last state, live or gone, and None for a new page. An ended page keeps its
    terms: that it is gone is all its row says.
    """
    phrase = None if after.is_scope_page else phrase_of(after.name)
    changes = None
    if after.is_live:
        changes = encode_changes(changes_between(_fields(step, before, after)))
    step.run(
        _ADD,
        {
            **_page_values(after.page_id, after.scope, phrase),
            "position": step.position,
            "has_ended": int(not after.is_live),
            "ranked_at": step.committed_at,
            "changes": changes,
        },
    )


def add_followers(step: Step, scope: str, pages: Sequence[Follower]) -> None:
    """The rows of pages that are in another scope now, and otherwise as they were."""
    step.run_many(
        _ADD,
        [
            {
                **_page_values(page.page_id, scope, phrase_of(page.name)),
                "position": step.position,
                "has_ended": 0,
                "ranked_at": page.updated_at,
                "changes": None,
            }
            for page in pages
        ],
    )


def add_note_terms(step: Step, note: NoteState, created_at: Value, *, is_new: bool = False) -> None:
    """The row of a note as an event left it. Its text never changes."""
    changes = changes_between([(BODY_UNIT, {}, _terms(step, note.text_ref))]) if is_new else {}
    step.run(
        _ADD,
        {
            "position": step.position,
            "subject_id": note.note_id.bytes,
            "has_ended": int(note.removed),
            "scope": None,
            "phrase": None,
            "page_id": note.page_id.bytes,
            "stamps": encode_scopes(note.stamps),
            "ranked_at": created_at,
            "changes": encode_changes(changes),
        },
    )


def _fields(
    step: Step, before: PageState | None, after: PageState
) -> Iterator[tuple[int, Terms, Terms]]:
    """Each field that changed, with its unit and its terms before and after."""
    if not after.is_scope_page:
        old = (before.name, before.description) if before else (None, None)
        new = (after.name, after.description)
        for unit, was, now in zip((NAME_UNIT, DESCRIPTION_UNIT), old, new, strict=True):
            if was != now:
                yield unit, terms_of(was or ""), terms_of(now or "")
    body = before.body if before else None
    if body != after.body:
        yield BODY_UNIT, _terms_of_body(step, body), _terms_of_body(step, after.body)


def _terms_of_body(step: Step, body: BodyRef | None) -> Terms:
    return {} if body is None else _terms(step, body.text)


def _terms(step: Step, ref: TextRef) -> Terms:
    """The terms of a text; mostly they were counted before the transaction began."""
    prepared = step.texts.fresh.get(ref.text_id)
    if prepared is not None and prepared.terms is not None:
        return prepared.terms
    return terms_of(step.texts.text(ref))


def _page_values(page_id: UUID, scope: str, phrase: str | None) -> dict[str, Value]:
    return {
        "subject_id": page_id.bytes,
        "scope": scope,
        "phrase": phrase,
        "page_id": None,
        "stamps": None,
    }
