"""What the questions of a pair are about: drawn once, and asked in both worlds alike.

Hidden things are asked about by their ids and addresses in both worlds, also where there is no
such thing: missing and hidden have to answer the same.
"""

from collections.abc import Mapping
from functools import cached_property
from uuid import UUID

from tests.noninterference.asking import At, Time, Value
from tests.noninterference.house import CLOSED, OPEN
from tests.noninterference.story import Draw, Told, refs_of
from tests.noninterference.world import NoteAt, PageAt

NEVER = UUID("00000000-0000-7000-8000-00000000dead")


class Sight:
    """What a reader may ask about."""

    def __init__(self, told: Told, seed: str) -> None:
        self.draw = Draw(seed)
        self.told = told
        self.reader = told.reader
        self.webhook = ""
        self.foreign_webhook = str(NEVER)
        self._claims = 0

    @cached_property
    def _pages(self) -> list[PageAt]:
        return self.told.live((*OPEN, *CLOSED))

    @cached_property
    def seen(self) -> list[PageAt]:
        """The live pages that the reader sees, and both worlds have."""
        return [page for page in self._pages if self.reader.reads(page.scope)]

    @cached_property
    def below(self) -> list[PageAt]:
        """Those of them that are no scope pages."""
        return [page for page in self.seen if page.parent is not None and page.id.version == 7]

    @cached_property
    def refs(self) -> dict[UUID, str]:
        return refs_of(self._pages)

    def at_role(self, *roles: str) -> list[PageAt]:
        """The pages below scope pages on whose scope the reader has one of these roles."""
        scopes = self.reader.scopes(*roles)
        return [page for page in self.below if page.scope in scopes] or self.below

    @cached_property
    def notes(self) -> list[NoteAt]:
        """Notes that the reader sees."""
        return [
            note
            for note in self.told.notes_on(self.seen)
            if any(self.reader.reads(stamp) for stamp in note.stamps)
        ]

    @cached_property
    def hidden(self) -> list[UUID]:
        return self.told.hidden_pages or [NEVER]

    @cached_property
    def ended(self) -> list[UUID]:
        """Pages that both worlds have had, and no longer have."""
        shared = set(self.told.pages)
        return [page for page in self.told.plain.ended() if page in shared]

    def page_ids(self, seen: int = 2) -> list[str]:
        """Some pages: seen, ended, hidden ones, and one that never was."""
        some = (*self.draw.some(self.famous(), 1), *self.draw.some(self.seen, seen))
        found = [page.id for page in some]
        found += self.draw.some(self.ended, 1)
        found += self.draw.some(self.hidden, 1)
        return [str(page) for page in found]

    def note_ids(self) -> list[str]:
        notes = [note.id for note in self.draw.some(self.notes, 2)]
        notes += self.draw.some(self.told.notes, 1)
        notes += self.draw.some(self.told.hidden_notes, 1)
        return [str(note) for note in notes] or [str(NEVER)]

    def ref_of(self, page: PageAt) -> str:
        return self.refs.get(page.id, str(page.id))

    def any_refs(self, count: int) -> list[str]:
        """Where pages of either world stood at any time."""
        return self.draw.some(sorted(self.told.refs), count)

    @property
    def last(self) -> int:
        """The index of the newest commit that both worlds have."""
        return len(self.told.plain.revisions) - 1

    def when(self) -> Mapping[str, Value]:
        """At the head, mostly; at an earlier revision; or as of a time. A time at which only
        one world has gone on would tell them apart, as the head does: `final` says so."""
        if self.draw.chance(40):
            return {}
        if self.told.moments and self.draw.chance(60):
            return self.then()
        if self.draw.chance(75):
            return {"revision": At(self.draw.number(1, self.last))}
        return {"asOf": Time(self.draw.number(1, self.last - 1))}

    def then(self) -> Mapping[str, Value]:
        """At a revision at which something was in the open that no longer is, if there is one."""
        moments = [index for index in self.told.moments if index <= self.last]
        return {"revision": At(self.draw.pick(moments))} if moments else {}

    def famous(self) -> list[PageAt]:
        """Those of the pages most is about that the reader sees."""
        return [page for page in self.told.famous() if self.reader.reads(page.scope)]

    def claim(self) -> str:
        self._claims += 1
        return f"claim-{self._claims}"
