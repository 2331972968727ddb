"""The states a history came to, kept in memory: the measure of what the tables answer."""

from collections import defaultdict
from uuid import UUID

from msgspec.structs import replace

from kbstore.domain.events import (
    Event,
    NoteAdded,
    NoteMoved,
    NoteRemoved,
    NoteRestamped,
    PageAbsorbed,
    PageCreated,
    PageDeleted,
    PageEdited,
    PageMergedAway,
    PageMoved,
    PageRestored,
    PinRemoved,
    PinSet,
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


class Remembered:
    """Folds events with `kbstore.domain.state`; `revisions[n]` are the pages as of n."""

    def __init__(self) -> None:
        self.texts: dict[UUID, str] = {}
        self.versions: dict[UUID, int] = defaultdict(int)
        self.pages: dict[UUID, PageState] = {}
        self.notes: dict[UUID, NoteState] = {}
        self.pins: dict[UUID, PinState] = {}
        self.page_versions: dict[UUID, dict[int, PageState]] = defaultdict(dict)
        self.ended_at: dict[UUID, int] = {}
        self.deleted_by: dict[int, list[UUID]] = defaultdict(list)
        self.revisions: list[dict[UUID, PageState]] = [{}]

    def take(self, event: Event, revision: int) -> None:
        subject = event.originator_id
        self.versions[subject] = event.originator_version
        match event:
            case NoteAdded() | NoteRestamped() | NoteMoved() | NoteRemoved():
                self.notes[subject] = evolve_note(self.notes.get(subject), event, self.text_of)
            case PinSet() | PinRemoved():
                self.pins[subject] = evolve_pin(self.pins.get(subject), event)
            case (
                PageCreated()
                | PageEdited()
                | PageMoved()
                | PageMergedAway()
                | PageAbsorbed()
                | PageDeleted()
                | PageRestored()
            ):
                before = self.pages.get(subject)
                after = evolve_page(before, event, self.text_of)
                self._keep(after)
                self._end(after, revision)
                if before is not None and before.is_live and before.scope != after.scope:
                    self._follow(after)
            case _:
                pass

    def text_of(self, ref: TextRef) -> str:
        return self.texts[ref.text_id]

    def live(self) -> list[PageState]:
        return [page for page in self.pages.values() if page.is_live]

    def children(self, page_id: UUID) -> list[PageState]:
        return [page for page in self.live() if page.parent_id == page_id]

    def below(self, page_id: UUID) -> list[PageState]:
        """Breadth first, oldest first: pages stand in the order they were created in."""
        found = self.children(page_id)
        for page in found:
            found.extend(self.children(page.page_id))
        return found

    def notes_on(self, page_id: UUID) -> list[NoteState]:
        return [n for n in self.notes.values() if n.page_id == page_id and not n.removed]

    def _keep(self, page: PageState) -> None:
        self.pages[page.page_id] = page
        self.page_versions[page.page_id][page.version] = page

    def _end(self, page: PageState, revision: int) -> None:
        if page.is_live:
            self.ended_at.pop(page.page_id, None)
            return
        self.ended_at[page.page_id] = revision
        if page.merged_into is None:
            self.deleted_by[revision] = [
                *(other for other in self.deleted_by[revision] if other != page.page_id),
                page.page_id,
            ]
            return
        # Chains of merges collapse.
        for other in list(self.pages.values()):
            if other.merged_into == page.page_id:
                self._keep(replace(other, merged_into=page.merged_into))

    def _follow(self, moved: PageState) -> None:
        for page in self.below(moved.page_id):
            self._keep(replace(page, scope=moved.scope))
