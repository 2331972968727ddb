"""A knowledge base that takes events as they are: a test says which events a commit holds.

They are written through the store's own transaction, with one call to `apply` for each.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict
from uuid import UUID
from weakref import finalize

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
from kbstore.domain.state import PageState
from kbstore.ids import pin_id
from kbstore.store import backends
from kbstore.store import tables as store_tables
from kbstore.store.commits import Origin
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import insert_head, lock_head, read_head, update_head
from kbstore.store.mapper import StructMapper
from kbstore.store.texts import TextReader
from kbstore.store.transaction import OpenCommit, WriteTransaction
from kbstore.texts import LinkTarget, PreparedText, decode_targets, prepare_text
from projections.lexical.checkpoint_tables import caches
from projections.projector import Projections
from projections.tables import metadata
from projections.transaction_lookup import TransactionLookup
from tests.unit.projections.remembered import Remembered

START = 1_772_000_000_000_000
Wanted = tuple[str, str, int]
_to_stored = StructMapper().to_stored_event


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

    def __init__(self, micros: int) -> None:
        self._micros = micros

    def now(self) -> int:
        self._micros += 1_000_000
        return self._micros


def open_database(url: str) -> Database:
    return backends.open_database(url, [store_tables.metadata, metadata, caches])


class History:
    """Writes events and remembers what they came to in `states`."""

    def __init__(
        self, database: Database, seed: int = 1, connection: Connection | None = None
    ) -> None:
        self.database = database
        self.connection = connection or database.connect()
        if connection is None:
            # Whoever made the history may forget it; Python 3.13 warns of open connections.
            finalize(self, self.connection.close).atexit = False
        if database.is_file:
            # Tests lose no power.
            self.connection.command("PRAGMA synchronous = OFF")
        self.ids = SeededIds(seed)
        self.clock = Ticking(START + seed)
        self.kb_id = self.ids.new_id()
        self.projections = Projections()
        self.states = Remembered()
        self._pending: list[PreparedText] = []
        self._open: OpenCommit | None = None
        self.connection.begin_write()
        insert_head(self.connection, self.kb_id)
        self.connection.commit()

    @contextmanager
    def commit(self, actor: str = "user:ana") -> Iterator[int]:
        """Everything in the block is one commit; gives its revision."""
        self.connection.begin_write()
        head = lock_head(self.connection, self.kb_id)
        assert head is not None
        transaction = WriteTransaction(self.connection, head, self.projections, self.clock)
        origin = Origin(
            actor=actor, run="run-1", tool_call="call-1", message="why", occurred_at=START
        )
        self._open = transaction.begin_commit(origin)
        try:
            yield head.revision + 1
            if self._open.event_count:
                self._open.seal()
                update_head(self.connection, transaction.head)
                self.states.revisions.append(dict(self.states.pages))
        except BaseException:
            self.connection.rollback()
            raise
        finally:
            self._open = None
        self.connection.commit()

    def emit(self, event: Event) -> UUID:
        """Writes an event, in the open commit or in one of its own; gives its aggregate."""
        if self._open is None:
            with self.commit():
                return self.emit(event)
        texts, self._pending = self._pending, []
        self._open.append([event], texts, _save)
        self.states.take(event, self._open.commit.revision)
        return event.originator_id

    @property
    def revision(self) -> int:
        head = read_head(self.connection, self.kb_id)
        assert head is not None
        return head.revision

    def lookup(self) -> TransactionLookup:
        texts = TextReader(self.connection, self.kb_id)
        return TransactionLookup(self.connection, self.kb_id, 1, texts)

    # --- knowledge base -----------------------------------------------------------------------

    def found(self, slug: str = "handbook") -> None:
        self.emit(KnowledgeBaseCreated(**self._next(self.kb_id), slug=slug))

    def configure(self, text: str = "{}", format: str = "json") -> None:
        ref = self.text(text).ref
        self.emit(
            KnowledgeBaseConfigured(**self._next(self.kb_id), configuration=ref, format=format)
        )

    # --- pages --------------------------------------------------------------------------------

    def create(
        self,
        scope: str = "org:acme",
        parent: UUID | None = None,
        key: str | None = None,
        name: str = "Page",
        description: str | None = None,
        body: str | None = None,
        links: Sequence[Wanted] = (),
        bound: Mapping[int, UUID] | None = None,
        template: str | None = None,
        author: str | None = None,
    ) -> UUID:
        body_ref, link_refs = self._body(body, links, bound)
        return self.emit(
            PageCreated(
                originator_id=self.ids.new_id(),
                originator_version=1,
                scope=scope,
                parent_id=parent,
                key=key,
                name=self.text(name).ref,
                description=self._text_or_none(description),
                body=body_ref,
                links=link_refs,
                template=template,
                author=author,
            )
        )

    def edit(
        self,
        page: UUID,
        name: str | UnsetType = UNSET,
        description: str | None | UnsetType = UNSET,
        body: str | None | UnsetType = UNSET,
        links: Sequence[Wanted] = (),
        bound: Mapping[int, UUID] | None = None,
    ) -> None:
        body_ref, link_refs = (UNSET, None) if body is UNSET else self._body(body, links, bound)
        self.emit(
            PageEdited(
                **self._next(page),
                name=UNSET if name is UNSET else self.text(name).ref,
                description=UNSET if description is UNSET else self._text_or_none(description),
                body=body_ref,
                links=link_refs,
            )
        )

    def rewind(self, page: UUID, version: int) -> None:
        """Brings the body of an earlier version back, by its old texts."""
        source = self.states.page_versions[page][version]
        self.emit(
            PageEdited(
                **self._next(page),
                body=source.body,
                links=source.links,
                restored_version=version,
            )
        )

    def move(self, page: UUID, parent: UUID, key: str | None = None) -> None:
        state, above = self.states.pages[page], self.states.pages[parent]
        assert state.parent_id is not None
        self.emit(
            PageMoved(
                **self._next(page),
                scope=above.scope,
                parent_id=parent,
                key=key,
                from_scope=state.scope,
                from_parent_id=state.parent_id,
                from_key=state.key,
            )
        )

    def merge_away(self, page: UUID, into: UUID) -> None:
        self.emit(PageMergedAway(**self._next(page), into=into))

    def absorb(self, page: UUID, other: UUID, description: str | None = None) -> None:
        ref = self._text_or_none(description)
        self.emit(PageAbsorbed(**self._next(page), page_id=other, description=ref))

    def delete(self, page: UUID) -> None:
        self.emit(PageDeleted(**self._next(page)))

    def restore(self, page: UUID, parent: UUID, key: str | None = None) -> None:
        state, above = self.states.pages[page], self.states.pages[parent]
        assert state.name_ref is not None
        self.emit(
            PageRestored(
                **self._next(page),
                scope=above.scope,
                parent_id=parent,
                key=key,
                name=state.name_ref,
                description=state.description_ref,
                body=state.body,
                links=state.links,
                restored_version=state.version - 1,
            )
        )

    # --- notes and pins -----------------------------------------------------------------------

    def note(
        self,
        page: UUID,
        text: str = "A fact.",
        stamps: Sequence[str] = ("org:acme",),
        links: Sequence[Wanted] = (),
        bound: Mapping[int, UUID] | None = None,
    ) -> UUID:
        prepared = self.text(text, links)
        return self.emit(
            NoteAdded(
                originator_id=self.ids.new_id(),
                originator_version=1,
                page_id=page,
                text=prepared.ref,
                stamps=tuple(stamps),
                when="2026-03-01",
                links=_links(prepared, bound),
            )
        )

    def restamp(self, note: UUID, *stamps: str) -> None:
        self.emit(NoteRestamped(**self._next(note), stamps=stamps))

    def move_note(self, note: UUID, page: UUID) -> None:
        self.emit(NoteMoved(**self._next(note), page_id=page))

    def remove_note(self, note: UUID) -> None:
        self.emit(NoteRemoved(**self._next(note)))

    def pin(self, page: UUID, *audience: str, kind: str = "page", depth: int = 1) -> UUID:
        pin = pin_id(page, kind)
        return self.emit(
            PinSet(**self._next(pin), page_id=page, kind=kind, audience=audience, depth=depth)
        )

    def unpin(self, pin: UUID) -> None:
        self.emit(PinRemoved(**self._next(pin)))

    # --- texts --------------------------------------------------------------------------------

    def text(self, value: str, links: Sequence[Wanted] = ()) -> PreparedText:
        prepared = prepare_text(value, self.ids, tuple(LinkTarget(*link) for link in links))
        self.states.texts[prepared.ref.text_id] = value
        self._pending.append(prepared)
        if prepared.targets is not None:
            self._pending.append(prepared.targets)
        return prepared

    def targets_of(self, links: Links | None) -> list[str]:
        """What the links of a text name, as they stand in it."""
        if links is None:
            return []
        reader = TextReader(self.connection, self.kb_id)
        return [target.target for target in decode_targets(reader.text(links.targets))]

    def page(self, page: UUID) -> PageState:
        return self.states.pages[page]

    def _text_or_none(self, value: str | None) -> TextRef | None:
        return None if value is None else self.text(value).ref

    def _body(
        self, value: str | None, links: Sequence[Wanted], bound: Mapping[int, UUID] | None
    ) -> tuple[BodyRef | None, Links | None]:
        if value is None:
            return None, None
        text = self.text(value, links)
        lines = value.count("\n") + 1
        return BodyRef(text.ref, lines, len(value) // 4), _links(text, bound)

    def _next(self, aggregate: UUID) -> "_Originator":
        return {
            "originator_id": aggregate,
            "originator_version": self.states.versions[aggregate] + 1,
        }


class _Originator(TypedDict):
    originator_id: UUID
    originator_version: int


def _links(text: PreparedText, bound: Mapping[int, UUID] | None) -> Links | None:
    if text.targets is None:
        return None
    return Links(text.targets.ref, tuple((bound or {}).items()))


def _save(events: Sequence[Event], commit: OpenCommit) -> None:
    commit.insert([_to_stored(event) for event in events])
