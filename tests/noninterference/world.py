"""One of the two worlds: a knowledge base of its own database, and what was done in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from msgspec import Struct

from api.wiring import Services, build_services, open_database
from kbstore.access import Caller
from kbstore.domain.commands import Command
from kbstore.domain.preparing import prepare_body, prepare_note_text
from kbstore.errors import KBStoreError
from kbstore.service import CommandRequest, CommandService, Outcome
from kbstore.store.commits import Origin
from kbstore.store.connection import Connection
from kbstore.texts import PreparedBody, PreparedText, prepare_text
from projections.rows import decode_scopes
from projections.tables import CURRENT
from tests.backends import query
from tests.noninterference.injected import NamedIds, SetClock

Make = Callable[["World"], Command]


class Bench(Struct, frozen=True):
    """A database with its services, their clock and their ids; it lasts for a whole run."""

    services: Services
    clock: SetClock
    ids: NamedIds


@contextmanager
def bench_at(path: Path) -> Iterator[Bench]:
    """A bench over a new SQLite file that does not wait for the disk."""
    clock = SetClock()
    ids = NamedIds(clock)
    services = build_services(open_database(f"sqlite:///{path}"), clock=clock, ids=ids)
    connect = services.database.connect

    def connect_fast() -> Connection:
        connection = connect()
        connection.command("PRAGMA synchronous = OFF")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services.database, "connect", connect_fast)
        try:
            yield Bench(services, clock, ids)
        finally:
            services.close()


class PageAt(Struct, frozen=True):
    """A live page as its current row has it."""

    id: UUID
    scope: str
    parent: UUID | None
    key: str | None
    name: str
    version: int


class NoteAt(Struct, frozen=True):
    """A note that was not removed, with its stamps."""

    id: UUID
    page: UUID
    stamps: tuple[str, ...]


class PinAt(Struct, frozen=True):
    page: UUID
    kind: str
    depth: int
    audience: tuple[str, ...]


class World:
    """One of two, by its `number`. `revisions`, `positions` and `times` are those of what both
    worlds have, in their order; `told` says what was done, line by line."""

    def __init__(self, bench: Bench, number: int, slug: str) -> None:
        self.bench = bench
        self.number = number
        self.revisions: list[int] = []
        self.positions: list[int] = []
        self.times: list[int] = []
        self.told: list[str] = []
        self.slug = slug
        self.begin("birth")
        self.kb_id = self.commands.create_knowledge_base(slug, Origin(actor="user:root"))
        self.take_in()

    @property
    def commands(self) -> CommandService:
        return self.bench.services.commands

    def begin(self, name: str, micros: int | None = None) -> None:
        """Ids follow from this name from now on, and the clock shows this time."""
        self.bench.ids.begin(f"{self.slug} {name}")
        if micros is not None:
            self.bench.clock.micros = micros

    def run(
        self,
        name: str,
        micros: int,
        caller: Caller,
        make: Make,
        origin: Origin | None = None,
    ) -> Outcome | KBStoreError:
        """What a command comes to, with the ids and the time of this step."""
        self.begin(name, micros)
        request = CommandRequest(
            kb_id=self.kb_id,
            caller=caller,
            command=make(self),
            origin=origin or Origin(actor=caller.principal, message=f"Step {name}"),
        )
        try:
            return self.commands.execute(request).result()
        except KBStoreError as refusal:
            assert refusal.http_status < 500, refusal
            return refusal

    def origin_of(self, actor: str, said: str) -> Origin:
        """A message and a run that are not those of the other world."""
        return Origin(actor=actor, message=f"{said} {self.number}", run=f"run {self.number}")

    def take_in(self) -> None:
        """The newest commit, if there is one since, is one that both worlds have."""
        ((revision, first, count, committed_at),) = self.rows(
            "SELECT revision, first_position, event_count, committed_at FROM commits"
            " WHERE kb_id = ? ORDER BY revision DESC LIMIT 1"
        )
        if not self.revisions or _int(revision) > self.revisions[-1]:
            self.revisions.append(_int(revision))
            self.times.append(cast(int, committed_at))
            start = cast(int, first)
            self.positions.extend(range(start, start + cast(int, count)))

    @property
    def head(self) -> int:
        ((revision,),) = self.rows("SELECT revision FROM heads WHERE kb_id = ?")
        return cast(int, revision)

    # --- texts ----------------------------------------------------------------------------------

    def text(self, value: str) -> PreparedText:
        return prepare_text(value, self.bench.ids)

    def body(self, value: str) -> PreparedBody:
        return prepare_body(value, self.bench.ids)

    def note_text(self, value: str) -> PreparedText:
        return prepare_note_text(value, self.bench.ids)

    # --- what stands, whoever may see it --------------------------------------------------------

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Rows of a query whose first parameter is the id of the knowledge base."""
        return query(self.bench.services.database.reader(), sql, self.kb_id.bytes, *values)

    def pages(self) -> list[PageAt]:
        found = self.rows(
            "SELECT page_id, scope, parent_id, key, name, version FROM page_versions"
            " WHERE kb_id = ? AND to_revision = ? ORDER BY page_id",
            CURRENT,
        )
        return [
            PageAt(_id(page), str(scope), _id_or_none(parent), _text(key), str(name), _int(version))
            for page, scope, parent, key, name, version in found
        ]

    def ended(self) -> dict[UUID, str]:
        """Pages that were deleted, with the scope they were deleted in."""
        found = self.rows(
            "SELECT page_id, scope FROM pages"
            " WHERE kb_id = ? AND ended_at IS NOT NULL AND ended_how = 'deleted' ORDER BY page_id"
        )
        return {_id(page): str(scope) for page, scope in found}

    def notes(self) -> list[NoteAt]:
        found = self.rows(
            "SELECT note_id, page_id, stamps FROM notes"
            " WHERE kb_id = ? AND to_revision = ? ORDER BY note_id",
            CURRENT,
        )
        return [NoteAt(_id(note), _id(page), decode_scopes(str(s))) for note, page, s in found]

    def pins(self) -> list[PinAt]:
        found = self.rows(
            "SELECT page_id, kind, depth, audience FROM pins"
            " WHERE kb_id = ? AND to_revision = ? ORDER BY pin_id",
            CURRENT,
        )
        return [PinAt(_id(p), str(k), _int(d), decode_scopes(str(a))) for p, k, d, a in found]


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _id(value: object) -> UUID:
    assert isinstance(value, bytes)
    return UUID(bytes=value)


def _id_or_none(value: object) -> UUID | None:
    return None if value is None else _id(value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
