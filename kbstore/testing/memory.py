"""The state of a knowledge base in plain dictionaries, built by `evolve` alone."""

from collections.abc import Collection, Iterable, Iterator
from uuid import UUID

from msgspec.structs import replace

from kbstore.access import Configuration, load_configuration
from kbstore.domain.declared import KeyPath
from kbstore.domain.events import (
    Event,
    KnowledgeBaseConfigured,
    KnowledgeBaseEvent,
    NoteEvent,
    PageCreated,
    PageDeleted,
    PageEvent,
    PageMergedAway,
    PageMoved,
    PinEvent,
    TextRef,
)
from kbstore.domain.state import (
    NoteState,
    PageState,
    PinState,
    evolve_note,
    evolve_page,
    evolve_pin,
)
from kbstore.limits import NESTING_LEVELS_MAX
from kbstore.text import fold_key
from kbstore.texts import PreparedText

_Dated = tuple[int, PageState]


class MemoryStore:
    """Implements `Lookup`. `events` is the whole log, `revision` the number of its commits."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.configured_at = 0
        self.kb_version = 0
        self.revision = 0
        self.events: tuple[Event, ...] = ()
        self._texts: dict[UUID, str] = {}
        self._pages: dict[UUID, PageState] = {}
        self._history: dict[UUID, tuple[_Dated, ...]] = {}
        self._first_scope: dict[UUID, str] = {}
        self._ended_at: dict[UUID, int] = {}
        self._deleted_by: dict[int, tuple[UUID, ...]] = {}
        self._notes: dict[UUID, NoteState] = {}
        self._pins: dict[UUID, PinState] = {}

    def copy(self) -> "MemoryStore":
        """A store that goes its own way from here."""
        twin = MemoryStore(self.configuration)
        for name, value in vars(self).items():
            setattr(twin, name, dict(value) if isinstance(value, dict) else value)
        return twin

    # --- writing ----------------------------------------------------------------------------

    def commit(self, events: Iterable[Event], texts: Iterable[PreparedText] = ()) -> None:
        """A commit of its own."""
        self.revision += 1
        self.apply(events, texts)

    def apply(self, events: Iterable[Event], texts: Iterable[PreparedText] = ()) -> None:
        """More events of the newest commit."""
        self.add_texts(texts)
        for event in events:
            self.events = (*self.events, event)
            if isinstance(event, PageEvent):
                self._apply_page(event)
            elif isinstance(event, NoteEvent):
                note = self._notes.get(event.originator_id)
                self._notes[event.originator_id] = evolve_note(note, event, self.text)
            elif isinstance(event, PinEvent):
                pin = self._pins.get(event.originator_id)
                self._pins[event.originator_id] = evolve_pin(pin, event)
            elif isinstance(event, KnowledgeBaseEvent):
                self._apply_knowledge_base(event)

    def add_texts(self, texts: Iterable[PreparedText]) -> None:
        """Keeps the texts that events name."""
        for prepared in texts:
            self._texts[prepared.ref.text_id] = prepared.value

    def erase(self, ref: TextRef) -> None:
        """Takes away the text behind `ref`, as an erasure does."""
        del self._texts[ref.text_id]

    def _apply_page(self, event: PageEvent) -> None:
        page_id = event.originator_id
        page = evolve_page(self._pages.get(page_id), event, self.text)
        self._put(page)
        if isinstance(event, PageCreated):
            self._first_scope[page_id] = event.scope
        elif isinstance(event, PageMoved):
            for below in self.subtree(page_id, len(self._pages)):
                if below.scope != event.scope:
                    self._follow(replace(below, scope=event.scope))
        elif isinstance(event, PageDeleted):
            deleted = self._deleted_by.get(self.revision, ())
            self._deleted_by[self.revision] = (*deleted, page_id)
        if isinstance(event, PageDeleted | PageMergedAway):
            self._ended_at[page_id] = self.revision

    def _put(self, page: PageState) -> None:
        self._pages[page.page_id] = page
        history = self._history.get(page.page_id, ())
        self._history[page.page_id] = (*history, (self.revision, page))

    def _follow(self, page: PageState) -> None:
        """Puts a page that follows the one above it; what this very commit made of it before
        was never seen."""
        history = self._history[page.page_id]
        if history[-1][0] == self.revision:
            self._history[page.page_id] = history[:-1]
        self._put(page)

    def _apply_knowledge_base(self, event: KnowledgeBaseEvent) -> None:
        self.kb_version = event.originator_version
        if isinstance(event, KnowledgeBaseConfigured):
            self.configuration = load_configuration(self.text(event.configuration), "json")
            self.configured_at = self.revision

    # --- the lookup -------------------------------------------------------------------------

    def page(self, page_id: UUID) -> PageState | None:
        return self._pages.get(page_id)

    def scope_page(self, scope: str) -> PageState | None:
        tops = (page for page in self.live_pages() if page.is_scope_page and page.scope == scope)
        return next(tops, None)

    def child_by_key(self, parent_id: UUID, key: str) -> PageState | None:
        folded = fold_key(key)
        for child in self._children(parent_id):
            if child.key is not None and fold_key(child.key) == folded:
                return child
        return None

    def children(self, parent_id: UUID, limit: int) -> list[PageState]:
        return list(self._children(parent_id))[:limit]

    def ancestors(self, page_id: UUID) -> list[PageState]:
        page = self._pages.get(page_id)
        found: list[PageState] = []
        while page is not None and page.parent_id is not None:
            assert len(found) <= NESTING_LEVELS_MAX, f"{page_id} stands too deep, or in a loop"
            page = self._pages[page.parent_id]
            found.append(page)
        return found

    def subtree(self, page_id: UUID, limit: int) -> list[PageState]:
        page = self._pages.get(page_id)
        found = [page] if page is not None and page.is_live else []
        for above in found:
            if len(found) >= limit:
                break
            found.extend(self._children(above.page_id))
        return found[:limit]

    def subtree_levels(self, page_id: UUID) -> int:
        levels = 0
        layer = [page_id]
        while layer:
            levels += 1
            layer = [child.page_id for above in layer for child in self._children(above)]
        return levels

    def pages_named(self, name: str, scopes: Collection[str], limit: int) -> list[PageState]:
        found = [p for p in self.live_pages() if p.name == name and p.scope in scopes]
        return sorted(found, key=lambda page: page.page_id)[:limit]

    def page_at_version(self, page_id: UUID, version: int) -> PageState | None:
        states = [s for _, s in self._history.get(page_id, ()) if s.version == version]
        return states[-1] if states else None

    def scopes_of_version(self, page_id: UUID, version: int) -> frozenset[str]:
        states = [s for _, s in self._history.get(page_id, ()) if s.is_live]
        return frozenset(s.scope for s in states if s.version == version)

    def page_at_revision(self, page_id: UUID, revision: int) -> PageState | None:
        states = [s for at, s in self._history.get(page_id, ()) if at <= revision]
        return states[-1] if states and states[-1].is_live else None

    def ended_at(self, page_id: UUID) -> int | None:
        page = self._pages.get(page_id)
        return None if page is None or page.is_live else self._ended_at[page_id]

    def deleted_by(self, revision: int, limit: int) -> list[PageState]:
        ids = dict.fromkeys(self._deleted_by.get(revision, ()))
        pages = [self._pages[page_id] for page_id in ids]
        return sorted(pages, key=lambda page: self._levels_within(page, ids))[:limit]

    def declared_pages_gone(self, scope: str, path: KeyPath) -> int:
        template = "/".join(path)
        return sum(
            1
            for page in self._pages.values()
            if page.template == template
            and self._first_scope[page.page_id] == scope
            and not self._stands_at(page, scope, path)
        )

    def note(self, note_id: UUID) -> NoteState | None:
        return self._notes.get(note_id)

    def notes(self, page_id: UUID, limit: int) -> list[NoteState]:
        found = [n for n in self._notes.values() if n.page_id == page_id and not n.removed]
        return found[:limit]

    def pin(self, pin_id: UUID) -> PinState | None:
        return self._pins.get(pin_id)

    def same_text(self, ref: TextRef, value: str) -> bool:
        return self._texts.get(ref.text_id) == value

    def text(self, ref: TextRef) -> str:
        return self._texts.get(ref.text_id, "")

    def scope_addresses(self) -> frozenset[str]:
        return frozenset(page.scope for page in self._pages.values() if page.is_scope_page)

    # --- more to look at --------------------------------------------------------------------

    def live_pages(self) -> Iterator[PageState]:
        """Every live page, oldest first."""
        return (page for page in self._pages.values() if page.is_live)

    def key_path(self, page: PageState) -> KeyPath | None:
        """The keys from the scope page down to a page, None where one is missing."""
        way = [page, *self.ancestors(page.page_id)][:-1]
        keys = [above.key for above in reversed(way) if above.key is not None]
        return tuple(keys) if len(keys) == len(way) else None

    def check_tree(self) -> None:
        """Asserts that the live pages are a tree for each scope, with keys that are unique."""
        places: set[tuple[UUID | str, str]] = set()
        for page in self.live_pages():
            parent = None if page.parent_id is None else self._pages[page.parent_id]
            assert parent is None or parent.is_live, f"{page.page_id} stands under a gone page"
            assert parent is None or parent.scope == page.scope, f"{page.page_id} left its scope"
            assert len(self.ancestors(page.page_id)) <= NESTING_LEVELS_MAX
            if parent is None:
                place: tuple[UUID | str, str] = (page.scope, "")
            elif page.key is not None:
                place = (parent.page_id, fold_key(page.key))
            else:
                continue
            assert place not in places, f"two live pages at {place}"
            places.add(place)

    def _children(self, parent_id: UUID) -> Iterator[PageState]:
        return (page for page in self.live_pages() if page.parent_id == parent_id)

    def _levels_within(self, page: PageState, ids: Collection[UUID]) -> int:
        return sum(above.page_id in ids for above in self.ancestors(page.page_id))

    def _stands_at(self, page: PageState, scope: str, path: KeyPath) -> bool:
        if not page.is_live or page.scope != scope:
            return False
        standing = self.key_path(page) or ()
        return [fold_key(key) for key in standing] == [fold_key(key) for key in path]
