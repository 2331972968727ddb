"""Where each word, id and address was ever to be seen, and so who may know of it.

Filled event by event from the model. A reader may know a word when some page carried it in a
scope he can read today, and he can read where that page is now; of a note, one of its stamps
then and now as well, and where its own page is now. What ended is for owners of its last scope
and auditors.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from uuid import UUID

from msgspec import Struct

from kbstore.access import Access, Configuration, declaration_of
from kbstore.domain.events import (
    Event,
    KnowledgeBaseEvent,
    NoteEvent,
    PageEvent,
    PinSet,
)
from kbstore.domain.state import NoteState, PageState
from kbstore.ids import declared_page_id
from kbstore.store.commits import Commit
from kbstore.testing import MemoryStore
from tests.properties.house import SCOPES, TEMPLATE_PATHS

_OCCURRENCES_MAX = 8
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ADDRESSES = "|".join(sorted(map(re.escape, SCOPES), key=len, reverse=True))
_TRACE = re.compile(rf"zq[0-9]+z|{_UUID}|{_ADDRESSES}")


class Place(Struct, frozen=True):
    """A page in a scope, perhaps a note on it with its stamps."""

    page_id: UUID
    scope: str
    note_id: UUID | None = None
    stamps: frozenset[str] = frozenset()


def traces(text: str) -> set[str]:
    """The words, ids and addresses in a text."""
    return set(_TRACE.findall(text))


class Sightings:
    """What was to be seen where."""

    def __init__(self, model: MemoryStore, kb_id: UUID) -> None:
        self._model = model
        self._kb_id = kb_id
        self._places: defaultdict[str, set[Place]] = defaultdict(set)
        self._configured: defaultdict[str, set[str]] = defaultdict(set)
        # None stands for an event that only auditors and admins see.
        self._commits: defaultdict[str, list[Place | None]] = defaultdict(list)

    # --- filling --------------------------------------------------------------------------------

    def see_configuration(self) -> None:
        """Takes in what the model's configuration says of each scope."""
        for scope in SCOPES:
            for text in _declared_texts(self._model.configuration, scope):
                for trace in traces(text):
                    self._configured[trace].add(scope)
            for path in TEMPLATE_PATHS:
                for occurrence in range(_OCCURRENCES_MAX):
                    page_id = declared_page_id(self._kb_id, scope, path, occurrence)
                    self._configured[str(page_id)].add(scope)

    def see(self, event: Event, commit: Commit) -> None:
        """Takes in the state after an event, and what its commit says of itself."""
        for page in self._model.live_pages():
            place = Place(page.page_id, page.scope)
            self._put(place, _page_texts(self._model, page))
            for note in self._model.notes(page.page_id, 1_000):
                on_note = Place(page.page_id, page.scope, note.note_id, frozenset(note.stamps))
                self._put(on_note, (note.text, str(note.note_id), *note.stamps))
        self._put_commit(event, commit)

    def _put(self, place: Place, texts: Iterable[str]) -> None:
        for text in texts:
            for trace in traces(text):
                self._places[trace].add(place)

    def _put_commit(self, event: Event, commit: Commit) -> None:
        place = self._place_of(event)
        for text in (commit.message, commit.run):
            for trace in traces(text or ""):
                self._commits[trace].append(place)

    def _place_of(self, event: Event) -> Place | None:
        if isinstance(event, KnowledgeBaseEvent):
            return None
        if isinstance(event, PageEvent):
            page = self._page(event.originator_id)
            return Place(page.page_id, page.scope)
        if isinstance(event, NoteEvent):
            note = self._note(event.originator_id)
            page = self._page(note.page_id)
            return Place(page.page_id, page.scope, note.note_id, frozenset(note.stamps))
        pin = self._model.pin(event.originator_id)
        assert pin is not None
        page = self._page(event.page_id if isinstance(event, PinSet) else pin.page_id)
        return Place(page.page_id, page.scope)

    # --- asking ---------------------------------------------------------------------------------

    def may_know(self, trace: str, access: Access) -> bool:
        """Whether a reader may be shown a word, an id or an address."""
        if access.is_auditor:
            return self.is_known(trace)
        if trace in access.caller.held or (trace in SCOPES and access.can_read(trace)):
            return True
        return (
            any(access.can_read(scope) for scope in self._configured.get(trace, ()))
            or any(self._shows(place, access) for place in self._places.get(trace, ()))
            or self._commit_shows(trace, access)
        )

    def is_known(self, trace: str) -> bool:
        """Whether the trace comes from something that was accepted at all."""
        known = (self._configured, self._places, self._commits)
        return trace in SCOPES or any(trace in where for where in known)

    def was_ever_readable(self, page_id: UUID, access: Access) -> bool:
        """Whether the page ever stood in a scope that the reader can read today."""
        places = self._places.get(str(page_id), ())
        return any(access.can_read(place.scope) for place in places) or any(
            access.can_read(scope) for scope in self._configured.get(str(page_id), ())
        )

    def _commit_shows(self, trace: str, access: Access) -> bool:
        if trace not in self._commits:
            return False
        sees_kb = access.is_auditor or access.caller.is_admin
        return all(
            sees_kb if place is None else self._shows(place, access)
            for place in self._commits[trace]
        )

    def _shows(self, place: Place, access: Access) -> bool:
        page = self._page(place.page_id)
        now = access.can_read if page.is_live else access.can_read_deleted
        if not (access.can_read(place.scope) and now(page.scope)):
            return False
        if place.note_id is None:
            return True
        note = self._note(place.note_id)
        if not any(access.can_read(stamp) for stamp in place.stamps):
            return False
        if not any(access.can_read(stamp) for stamp in note.stamps):
            return False
        page = self._page(note.page_id)
        ended = note.removed or not page.is_live
        return (access.can_read_deleted if ended else access.can_read)(page.scope)

    def _page(self, page_id: UUID) -> PageState:
        page = self._model.page(page_id)
        assert page is not None, "only written pages are seen"
        return page

    def _note(self, note_id: UUID) -> NoteState:
        note = self._model.note(note_id)
        assert note is not None, "only notes that were added are seen"
        return note


def _page_texts(model: MemoryStore, page: PageState) -> Iterator[str]:
    yield str(page.page_id)
    yield page.scope
    yield page.name
    yield page.key or ""
    yield page.description or ""
    yield model.text(page.body.text) if page.body else ""


@lru_cache(maxsize=512)
def _declared_texts(configuration: Configuration, scope: str) -> tuple[str, ...]:
    declared = declaration_of(configuration, scope)
    if declared is None:
        return ()
    texts = [declared.name, declared.description, *declared.children]
    for page in declared.templates.pages:
        texts.extend((page.name, page.description, page.body or "", *page.path))
    return tuple(texts)
