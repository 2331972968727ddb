"""A knowledge base that takes events as they are, and remembers what they came to.

The write side's rules stay out of it: a test says which events a commit holds. The states kept
in memory are those of `kbstore.domain.state`, the measure of what the tables answer.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from msgspec import UNSET, UnsetType

from kbstore.domain.events import (
    BodyRef,
    Event,
    KnowledgeBaseConfigured,
    KnowledgeBaseCreated,
    Links,
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
from kbstore.ids import pin_id
from kbstore.store import tables as store_tables
from kbstore.store.commits import Origin
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import insert_head, lock_head, read_head, update_head
from kbstore.store.mapper import StructMapper
from kbstore.store.texts import TextReader
from kbstore.store.transaction import OpenCommit, WriteTransaction
from kbstore.texts import LinkTarget, PreparedText, prepare_text
from projections.projector import Projections
from projections.tables import metadata
from projections.transaction_lookup import TransactionLookup

START = 1_772_000_000_000_000
Wanted = tuple[str, str, int]


class SeededIds:
    """Ids and salts that repeat with their seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def new_id(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)

    def new_salt(self) -> bytes:
        return self._random.randbytes(16)


class Ticking:
    """A clock that moves by a second each time it is read."""

    def __init__(self, start: int = START) -> None:
        self.micros = start

    def now(self) -> int:
        self.micros += 1_000_000
        return self.micros


def open_database(folder: Path) -> Database:
    return Database.open(f"sqlite:///{folder}/store.db", [store_tables.metadata, metadata])


class History:
    """Writes events through the store's own transaction, one call to `apply` for each."""

    def __init__(
        self, database: Database, seed: int = 1, connection: Connection | None = None
    ) -> None:
        self.database = database
        self.connection = connection or database.connect()
        # Tests lose no power.
        self.connection.raw.execute("PRAGMA synchronous = OFF")
        self.ids = SeededIds(seed)
        self.clock = Ticking(START + seed)
        self.kb_id = self.ids.new_id()
        self.projections = Projections()
        self.versions: dict[UUID, int] = defaultdict(int)
        self.pages: dict[UUID, PageState] = {}
        self.notes: dict[UUID, NoteState] = {}
        self.pins: dict[UUID, PinState] = {}
        self.page_versions: dict[UUID, dict[int, PageState]] = defaultdict(dict)
        self.revisions: list[dict[UUID, PageState]] = [{}]
        self.texts: dict[UUID, str] = {}
        self._pending: list[PreparedText] = []
        self._open: OpenCommit | None = None
        self.connection.begin_write()
        insert_head(self.connection, self.kb_id)
        self.connection.commit()

    # --- commits ------------------------------------------------------------------------------

    @contextmanager
    def commit(self, actor: str = "user:ana") -> Iterator[int]:
        """Everything in the block is one commit; gives its revision."""
        self.connection.begin_write()
        head = lock_head(self.connection, self.kb_id)
        assert head is not None
        transaction = WriteTransaction(self.connection, head, self.projections, self.clock)
        self._open = transaction.begin_commit(Origin(actor=actor, message="why"))
        try:
            yield head.revision + 1
            if self._open.event_count:
                self._open.seal()
                update_head(self.connection, transaction.head)
                self.revisions.append(dict(self.pages))
        except BaseException:
            self.connection.rollback()
            raise
        finally:
            self._open = None
        self.connection.commit()

    @property
    def revision(self) -> int:
        head = read_head(self.connection, self.kb_id)
        assert head is not None
        return head.revision

    def lookup(self) -> TransactionLookup:
        texts = TextReader(self.connection, self.kb_id)
        return TransactionLookup(self.connection, self.kb_id, 1, texts)

    def emit(self, event: Event) -> None:
        """Writes one event, in the open commit or in one of its own."""
        if self._open is None:
            with self.commit():
                self.emit(event)
            return
        texts, self._pending = self._pending, []
        self._open.append([event], texts, _save)
        self.versions[event.originator_id] = event.originator_version
        self._remember(event)

    def _remember(self, event: Event) -> None:
        page_id = event.originator_id
        match event:
            case NoteAdded() | NoteRestamped() | NoteMoved() | NoteRemoved():
                self.notes[page_id] = evolve_note(self.notes.get(page_id), event, self._text_of)
            case PinSet() | PinRemoved():
                self.pins[page_id] = evolve_pin(self.pins.get(page_id), event)
            case (
                PageCreated()
                | PageEdited()
                | PageMoved()
                | PageMergedAway()
                | PageAbsorbed()
                | PageDeleted()
                | PageRestored()
            ):
                before = self.pages.get(page_id)
                after = evolve_page(before, event, self._text_of)
                self.pages[page_id] = after
                self.page_versions[page_id][after.version] = after
                if before is not None and before.scope != after.scope:
                    self._follow(page_id, after.scope)
                if isinstance(event, PageMergedAway):
                    self._collapse(page_id, event.into)
            case _:
                pass

    def _follow(self, page_id: UUID, scope: str) -> None:
        from msgspec.structs import replace

        for below in self.children(page_id):
            moved = replace(below, scope=scope)
            self.pages[below.page_id] = moved
            self.page_versions[below.page_id][moved.version] = moved
            self._follow(below.page_id, scope)

    def _collapse(self, page_id: UUID, into: UUID) -> None:
        from msgspec.structs import replace

        for other in list(self.pages.values()):
            if other.merged_into == page_id:
                led_on = replace(other, merged_into=into)
                self.pages[other.page_id] = led_on
                self.page_versions[other.page_id][led_on.version] = led_on

    def children(self, page_id: UUID) -> list[PageState]:
        return [page for page in self.pages.values() if page.is_live and page.parent_id == page_id]

    # --- texts --------------------------------------------------------------------------------

    def _text_of(self, ref: TextRef) -> str:
        return self.texts[ref.text_id]

    def text(self, value: str, links: Sequence[Wanted] = ()) -> PreparedText:
        prepared = prepare_text(value, self.ids, tuple(LinkTarget(*link) for link in links))
        self.texts[prepared.ref.text_id] = value
        self._pending.append(prepared)
        return prepared

    def body(
        self, value: str | None, links: Sequence[Wanted], bound: Mapping[int, UUID]
    ) -> tuple[BodyRef | None, Links | None]:
        if value is None:
            return None, None
        text = self.text(value, links)
        body = BodyRef(text.ref, value.count("\n") + 1, len(value) // 4)
        return body, self._links(text, bound)

    @staticmethod
    def _links(text: PreparedText, bound: Mapping[int, UUID]) -> Links | None:
        if text.targets is None:
            return None
        return Links(text.targets.ref, tuple(bound.items()))

    def _next(self, aggregate: UUID) -> tuple[UUID, int]:
        return aggregate, self.versions[aggregate] + 1
