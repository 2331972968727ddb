"""A story told in two worlds: what both have, and between it what each has for itself.

What one of them has for itself is nothing to the reader once the story is over (`Hidden`);
what both have may be open to him or not (`Shared`). Pages, notes and pins that one world has
for itself may live in the open for a while, as long as their end takes them out of sight.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar
from uuid import UUID

from kbstore.errors import KBStoreError
from kbstore.service import Outcome
from tests.noninterference.house import OPEN, Reader
from tests.noninterference.world import NoteAt, PageAt, World

T = TypeVar("T")

NAMES = ("Refunds", "Handbook", "Travel", "Release notes", "Straße")
KEYS = ("faq", "handbook", "travel", "a", "b", "notes", "é", "straße", "policies", "refund")
INTERLUDE = "Interlude"
"""A name that pages may have of which nobody who cannot see them all writes a link."""
COMPASS = "Compass"
"""The name of one page in the open, and of one in each hidden scope that both worlds have: to
those who see all of them a link by it leads nowhere, to the reader it leads there."""
WORDS = ("amber", "basalt", "cobalt", "dolomite", "ebony", "flint")


class Draw:
    """Choices that follow from a seed."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def pick(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def some(self, items: Sequence[T], most: int) -> list[T]:
        """Up to `most` of the items, in their order."""
        count = min(most, len(items))
        chosen = sorted(self.random.sample(range(len(items)), count))
        return [items[index] for index in chosen]

    def part(self, items: Sequence[T]) -> tuple[T, ...]:
        """At least one of the items, in their order."""
        return tuple(self.some(items, self.number(1, len(items))))


class Told:
    """What the story is about so far: the things that both worlds have."""

    def __init__(self, seed: str, plain: World, busy: World, reader: Reader) -> None:
        self.worlds = (plain, busy)
        self.reader = reader
        self.draw = Draw(seed)
        self.pages: list[UUID] = []
        self.notes: list[UUID] = []
        self.hidden_pages: list[UUID] = []
        self.hidden_notes: list[UUID] = []
        self.refs: set[str] = set()
        self.moments: list[int] = []
        """Commits, by their index, at which something was in the open that no longer is."""
        self.turn = 0

    @property
    def plain(self) -> World:
        return self.worlds[0]

    def live(self, scopes: Sequence[str] = OPEN) -> list[PageAt]:
        """The live pages of these scopes that both worlds have, scope pages among them."""
        known = set(self.pages)
        return [page for page in self.plain.pages() if page.id in known and page.scope in scopes]

    def famous(self) -> list[PageAt]:
        """The pages that most links lead to, and below which most things stand."""
        live = [page for page in self.live() if page.parent is not None and page.id.version == 7]
        return live[:3] or self.live()

    def notes_on(self, pages: Sequence[PageAt]) -> list[NoteAt]:
        """The notes on these pages that both worlds have, as the plain one stamps them."""
        shared, on = set(self.notes), {page.id for page in pages}
        return [note for note in self.plain.notes() if note.id in shared and note.page in on]

    def take_in(self, outcome: Outcome | KBStoreError, *, hidden: bool) -> None:
        """Remembers what a command was about."""
        if not isinstance(outcome, Outcome):
            return
        pages = self.hidden_pages if hidden else self.pages
        notes = self.hidden_notes if hidden else self.notes
        for subject in outcome.subjects:
            known = {"page": pages, "note": notes}.get(subject.kind)
            if known is not None and subject.created and subject.id not in known:
                known.append(subject.id)

    def take_in_scope_pages(self) -> None:
        """Scope and template pages are written along with the first page below them."""
        known = {*self.pages, *self.hidden_pages}
        for page in self.plain.pages():
            if page.id not in known and page.id.version == 5:
                self.pages.append(page.id)

    def remember_refs(self) -> None:
        """Where pages stand now; they may move away later."""
        for world in self.worlds:
            self.refs |= set(refs_of(world.pages()).values())


def refs_of(pages: Sequence[PageAt]) -> dict[UUID, str]:
    """The refs of pages all of whose levels have a key."""
    by_id = {page.id: page for page in pages}
    refs: dict[UUID, str] = {}
    for page in pages:
        keys: list[str] = []
        here: PageAt | None = page
        while here is not None and here.parent is not None and here.key is not None:
            keys.append(here.key)
            here = by_id.get(here.parent)
        if here is not None and here.parent is None:
            refs[page.id] = f"{page.scope}#{'/'.join(reversed(keys))}" if keys else page.scope
    return refs


def words(draw: Draw) -> str:
    """A text without links. What a name in a link means to its writer may depend on pages that
    others do not see, so what Ana writes in the open has none."""
    return f"# {draw.pick(NAMES)}\n\n{' '.join(draw.part(WORDS))} {draw.number(1, 99)}\n"


def markdown(draw: Draw, pages: Sequence[PageAt]) -> str:
    """A few lines of the words that all pages share, with links that may lead nowhere, and may
    lead to some of these pages."""
    links = [
        f"[[{draw.pick(NAMES)}]]",
        f"[up](../{draw.pick(KEYS)}.md) and [down]({draw.pick(KEYS)})",
        f"[[{draw.pick(OPEN)}#{draw.pick(KEYS)}]]",
    ]
    if pages:
        links.append(f"[[{draw.pick(pages).id}]]")
    chosen = " ".join(draw.part(links)) if draw.chance(70) else ""
    return f"{words(draw)}\n{chosen}\n"


def name_of(page: PageAt | None) -> str:
    return "the scope page" if page is None else f"{page.id} ({page.name}, {page.scope})"
