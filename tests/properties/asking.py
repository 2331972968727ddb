"""Every question the read side answers, with its answer as bytes.

A refusal is an answer too: its code, its details and its message, in which the asker's own
words are left out.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from uuid import UUID

import msgspec
from msgspec import Struct

from kbstore.errors import KBStoreError
from projections.read.activity import commit, events, list_commits
from projections.read.backlinks import backlinks
from projections.read.children import children
from projections.read.conflict import conflict_details
from projections.read.declared import listed_addresses
from projections.read.deletions import list_deletions
from projections.read.diff import diff_revisions, diff_versions
from projections.read.history import history
from projections.read.names import pages_named, resolve_name
from projections.read.notes import note, notes_of_page
from projections.read.pages import page, page_at_version, page_by_ref, page_view
from projections.read.pins import configured_pins, pins_for, pins_of_page
from projections.read.scopes import child_scopes, list_scopes, scope
from projections.snapshot import Snapshot
from tests.properties.house import SCOPES

ALL = 200
"""More than any list of a story has."""

Ask = Callable[[Snapshot], object]


class Question(Struct, frozen=True):
    """`words` are the asker's own: what a refusal may repeat."""

    name: str
    ask: Ask
    words: tuple[str, ...] = ()


def answer(snapshot: Snapshot, question: Question) -> bytes:
    """What this reader is told at this revision."""
    try:
        return msgspec.json.encode(question.ask(snapshot))
    except KBStoreError as refusal:
        assert refusal.http_status < 500
        message = refusal.message
        for word in question.words:
            message = message.replace(word, "...")
        told = {"code": refusal.code, "message": message, "details": refusal.details}
        return msgspec.json.encode(told)


def of_page(page_id: UUID, other: int = 1) -> Iterator[Question]:
    """All that can be asked with a page's id; `other` is one more version or revision."""
    asks: dict[str, Ask] = {
        "page": lambda s: page(s, page_id),
        "by id as ref": lambda s: page_by_ref(s, str(page_id)),
        "version": lambda s: page_at_version(s, page_id, other),
        "children": lambda s: children(s, page_id, None, ALL),
        "notes": lambda s: notes_of_page(s, page_id, None, ALL),
        "pins": lambda s: pins_of_page(s, page_id),
        "backlinks": lambda s: backlinks(s, page_id, None, ALL),
        "history": lambda s: history(s, page_id, None, ALL),
        "newest history": lambda s: history(s, page_id, None, ALL, newest_first=True),
        "diff": lambda s: diff_versions(s, page_id, 1, other),
        "revisions": lambda s: diff_revisions(s, page_id, min(other, s.revision), s.revision),
        "events": lambda s: events(s, 0, ALL, page_id=page_id),
    }
    for name, ask in asks.items():
        yield Question(f"{name} of {page_id}", ask, (str(page_id),))


def about_conflicts(page_id: UUID, version: int) -> Iterator[Question]:
    """What a refused edit is told; only ever asked of the head."""

    def ask(snapshot: Snapshot) -> object:
        return conflict_details(snapshot, page_id, version, "# Mine\n")

    yield Question(f"conflict on {page_id}", ask, (str(page_id),))


def of_note(note_id: UUID) -> Question:
    return Question(f"note {note_id}", lambda s: note(s, note_id), (str(note_id),))


def of_ref(ref: str) -> Question:
    return Question(f"ref {ref}", lambda s: page_by_ref(s, ref), (ref,))


def of_name(name: str) -> Iterator[Question]:
    def one(snapshot: Snapshot) -> object:
        return page_view(snapshot, resolve_name(snapshot, name))

    def all_of_them(snapshot: Snapshot) -> object:
        return [page_view(snapshot, found) for found in pages_named(snapshot, name, ALL)]

    yield Question(f"name {name}", one, (name,))
    yield Question(f"names {name}", all_of_them, (name,))


def of_everything(revisions: Sequence[int]) -> Iterator[Question]:
    """Lists of the whole knowledge base, and what is to be asked by scope."""
    yield Question("scopes", lambda s: list_scopes(s, None, ALL))
    yield Question("addresses", listed_addresses)
    yield Question("deletions", lambda s: list_deletions(s, None, ALL))
    yield Question("all events", lambda s: events(s, 0, 10_000))
    yield Question("all commits", lambda s: list_commits(s, 0, 10_000))
    yield Question("pins for all", _pins)
    for revision in revisions:
        yield Question(f"commit {revision}", partial(_commit, revision), (str(revision),))
    for address in SCOPES:
        for name, ask in (
            ("scope", partial(_scope, address)),
            ("child scopes", partial(_child_scopes, address)),
            ("pinned", partial(_pinned, address)),
        ):
            yield Question(f"{name} {address}", ask, (address,))


def _commit(revision: int, snapshot: Snapshot) -> object:
    return commit(snapshot, revision)


def _scope(address: str, snapshot: Snapshot) -> object:
    return scope(snapshot, address)


def _child_scopes(address: str, snapshot: Snapshot) -> object:
    return child_scopes(snapshot, address)


def _pinned(address: str, snapshot: Snapshot) -> object:
    found = configured_pins(snapshot, address)
    return [(pin, page_view(snapshot, standing)) for pin, standing in found]


def _pins(snapshot: Snapshot) -> object:
    found = pins_for(snapshot, frozenset(SCOPES), None, ALL)
    return [(pin, page_view(snapshot, row)) for pin, row in found.items]
