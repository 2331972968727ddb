"""Stores to measure on: one generated for each size, built once and kept.

A store has a section for each hundred pages and ten versions of every page, each its own
commit. It is written through the command service like any other, hundreds of commands in
flight, so that a commit to the disk takes as many as it can.
"""

import itertools
import shutil
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import msgspec
from msgspec import Struct

from api.wiring import Services, locate_database, open_services
from benchmarks.writing import Writer
from kbstore.access import Caller, Configuration, Pattern, declare_scope, dump_configuration
from kbstore.domain.commands import Command, Configure, CreatePage, EditPage
from kbstore.domain.preparing import prepare_body
from kbstore.service import CommandRequest, Outcome
from kbstore.store.commits import Origin
from kbstore.text import estimate_tokens
from kbstore.texts import PreparedBody, prepare_text

CACHE = Path(__file__).parent / ".cache"
SCOPE = "org:acme"
CALLER = Caller(principal="user:bench", held=frozenset({SCOPE}))
SECTION_PAGES = 100
VERSIONS = 10
_FORMAT = 5
"""Counts up when a store of an earlier program can no longer be used."""
_BODIES = 1_000
_IN_FLIGHT_MAX = 512


class Store(Struct, frozen=True, kw_only=True):
    """A generated store: `database` is the path of a SQLite file or the URL of a server.
    `revisions` has for each version the first revision at which every page has it."""

    database: str
    kb_id: UUID
    key: str
    sections: list[UUID]
    pages: list[UUID]
    revisions: list[int]

    @property
    def url(self) -> str:
        return self.database if "://" in self.database else f"sqlite:///{self.database}"


def store_of(pages: int) -> Store:
    """The store of this size; built, which takes minutes for a large one, when there is none."""
    folder = CACHE / f"{pages}-{_FORMAT}"
    described = folder / "store.json"
    if not described.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        print(f"building a store of {pages} pages in {folder}", file=sys.stderr)
        store = build_store(str(folder / "kbstore.db"), pages)
        described.write_bytes(msgspec.json.encode(store))
    store = msgspec.json.decode(described.read_bytes(), type=Store)
    # It may have been built before the newest tables were there.
    locate_database(store.url).migrate()
    return store


@contextmanager
def copy_of(store: Store) -> Iterator[Store]:
    """A copy to write to, beside the original, gone after the block."""
    with TemporaryDirectory(dir=CACHE) as folder:
        database = f"{folder}/kbstore.db"
        shutil.copyfile(store.database, database)
        yield msgspec.structs.replace(store, database=database)


class Bodies:
    """Prepared bodies without end, no two alike: a stock of texts, analysed once, each with
    another last line whenever it is taken."""

    def __init__(self, services: Services, seed: int, names: Sequence[str]) -> None:
        self._ids = services.commands.ids
        self._numbers = itertools.count()
        writer = Writer(seed)
        bodies = (writer.body(names) for _ in range(_BODIES))
        self._stock = itertools.cycle([prepare_body(body, self._ids) for body in bodies])

    def take(self) -> PreparedBody:
        stocked = next(self._stock)
        value = f"{stocked.text.value}{next(self._numbers)}\n"
        text = prepare_text(value, self._ids, stocked.text.links)
        return PreparedBody(text, stocked.lines + 1, estimate_tokens(value))


def page_name(number: int) -> str:
    return f"Page {number}"


def request(kb_id: UUID, command: Command) -> CommandRequest:
    return CommandRequest(
        kb_id=kb_id, caller=CALLER, command=command, origin=Origin(actor=CALLER.principal)
    )


def build_store(database: str, pages: int, slug: str = "bench") -> Store:
    """A new store in a database that is migrated, or a new file."""
    url = database if "://" in database else f"sqlite:///{database}"
    with open_services(url) as services:
        kb_id = _knowledge_base(services, slug)
        held = frozenset({SCOPE})
        _, key = services.commands.catalogue.create_key(
            kb_id, CALLER.principal, held, frozenset({"auditor"})
        )
        bodies = Bodies(services, pages, [page_name(number) for number in range(pages)])
        sections = _written(services, kb_id, _sections(services, pages))
        ids, revisions = _pages(services, kb_id, sections, pages, bodies)
    return Store(
        database=database,
        kb_id=kb_id,
        key=key,
        sections=sections,
        pages=ids,
        revisions=revisions,
    )


def _knowledge_base(services: Services, slug: str) -> UUID:
    origin = Origin(actor=CALLER.principal)
    kb_id = services.commands.create_knowledge_base(slug, origin)
    configuration = declare_scope(Configuration.empty(), Pattern.parse(SCOPE))
    text = prepare_text(dump_configuration(configuration), services.commands.ids)
    admin = Caller(principal=CALLER.principal, grants=frozenset({"admin"}))
    services.commands.execute(
        CommandRequest(
            kb_id=kb_id, caller=admin, command=Configure(configuration=text), origin=origin
        )
    ).result()
    return kb_id


def _sections(services: Services, pages: int) -> Iterator[CreatePage]:
    for number in range(-(-pages // SECTION_PAGES)):
        name = prepare_text(f"Section {number}", services.commands.ids)
        yield CreatePage(scope=SCOPE, key=f"section-{number}", name=name)


def _pages(
    services: Services, kb_id: UUID, sections: list[UUID], pages: int, bodies: Bodies
) -> tuple[list[UUID], list[int]]:
    ids = services.commands.ids
    creating = (
        CreatePage(
            scope=SCOPE,
            parent=sections[number // SECTION_PAGES],
            key=f"page-{number}",
            name=prepare_text(page_name(number), ids),
            body=bodies.take(),
        )
        for number in range(pages)
    )
    outcomes = list(write(services, kb_id, creating))
    written = [outcome.subjects[0].id for outcome in outcomes]
    revisions = [outcomes[-1].revision]
    for version in range(1, VERSIONS):
        editing = (
            EditPage(page=page, expected_version=version, body=bodies.take()) for page in written
        )
        for outcome in write(services, kb_id, editing):
            last = outcome.revision
        revisions.append(last)
    return written, revisions


def _written(services: Services, kb_id: UUID, commands: Iterable[Command]) -> list[UUID]:
    return [outcome.subjects[0].id for outcome in write(services, kb_id, commands)]


def write(services: Services, kb_id: UUID, commands: Iterable[Command]) -> Iterator[Outcome]:
    """Executes commands in order, many in flight."""
    waiting: deque[Future[Outcome]] = deque()
    for command in commands:
        waiting.append(services.commands.execute(request(kb_id, command)))
        if len(waiting) == _IN_FLIGHT_MAX:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
