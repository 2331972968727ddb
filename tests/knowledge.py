"""A fresh knowledge base for one test, its log read straight from the file, and ways to ask.

Several live in one database: each test gets one of its own, so that one server and one file
serve a whole run. `KnowledgeBase.nothing_written()` holds every table that a write touches
against what it was before.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from uuid import UUID

import pytest
from msgspec import Struct

from api.wiring import Services, open_services
from kbstore.access import Caller, dump_configuration, load_configuration
from kbstore.domain.commands import Command, Configure
from kbstore.domain.preparing import prepare_body
from kbstore.service import CommandRequest, Outcome
from kbstore.store.commits import Origin
from kbstore.store.connection import Connection
from kbstore.store.idempotency import Claim
from kbstore.store.transaction import WriteTransaction
from kbstore.texts import PreparedBody, PreparedText, prepare_text
from projections.tables import CURRENT
from tests.backends import query

SCOPE = "org:acme"
TEAM = "team:acme:support"
VAULT = "vault:acme"
CONFIGURATION = """
[scopes."org:$org"]
access = [
  { principal = "self", role = "owner" },
  { principal = "editor:$org", role = "editor" },
  { principal = "viewer:$org", role = "viewer" },
]

[scopes."team:$org:$team"]
access = [{ principal = "self", role = "editor" }, { principal = "org:$org", role = "owner" }]

[scopes."vault:$org"]
access = [{ principal = "self", role = "owner" }]

[scopes."editor:$org"]
[scopes."viewer:$org"]
"""
"""Holding `org:acme` owns `org:acme` and its teams, and sees nothing of `vault:acme`."""

_WRITTEN_TABLES = ("heads", "commits", "events", "texts", "idempotency", "pages", "page_versions")
HELD_SECONDS_MAX = 60
_slugs = count(1)


@contextmanager
def fast_services(url: str) -> Iterator[Services]:
    """Services over a new database that do not wait for the disk: tests lose no power."""
    with open_services(url) as services, pytest.MonkeyPatch.context() as patch:
        connect = services.database.connect

        def connect_fast() -> Connection:
            connection = connect()
            if services.database.is_file:
                connection.command("PRAGMA synchronous = OFF")
            return connection

        patch.setattr(services.database, "connect", connect_fast)
        yield services


class StoredEvent(Struct, frozen=True):
    """A row of the log."""

    position: int
    page: str
    version: int
    topic: str


class Place(Struct, frozen=True):
    """Where a live page stands, as the tables have it."""

    parent: str | None
    key_fold: str | None


class KnowledgeBase:
    """One knowledge base under CONFIGURATION."""

    def __init__(self, services: Services, configuration: str = CONFIGURATION) -> None:
        self.services = services
        self.slug = f"kb-{next(_slugs)}"
        commands = services.commands
        self.id = commands.create_knowledge_base(self.slug, Origin(actor="user:root"))
        self.configure(configuration)

    def configure(self, configuration: str) -> None:
        """Another configuration, written as TOML."""
        text = dump_configuration(load_configuration(configuration, "toml"))
        self.run(
            Configure(configuration=self.text(text)),
            Caller(principal="user:root", grants=frozenset({"admin"})),
        )

    @classmethod
    def opened(cls, services: Services, known: "KnowledgeBase") -> "KnowledgeBase":
        """A knowledge base that there is already, through other services on the same file."""
        opened = cls.__new__(cls)
        opened.services, opened.slug, opened.id = services, known.slug, known.id
        return opened

    def token(
        self,
        principal: str = "user:ana",
        held: tuple[str, ...] = (SCOPE,),
        grants: tuple[str, ...] = (),
    ) -> str:
        """A new API key for a principal that holds these scopes."""
        catalogue = self.services.commands.catalogue
        return catalogue.create_key(self.id, principal, frozenset(held), frozenset(grants))[1]

    # --- past HTTP: the command service ---------------------------------------------------------

    def run(
        self, command: Command, caller: Caller | str = "user:ana", claim: Claim | None = None
    ) -> Outcome:
        """What a command comes to; `caller` as a name holds org:acme."""
        if isinstance(caller, str):
            caller = Caller(principal=caller, held=frozenset({SCOPE}))
        request = CommandRequest(
            kb_id=self.id,
            caller=caller,
            command=command,
            origin=Origin(actor=caller.principal),
            claim=claim,
        )
        return self.services.commands.execute(request).result()

    def text(self, value: str) -> PreparedText:
        return prepare_text(value, self.services.commands.ids)

    def body(self, value: str) -> PreparedBody:
        return prepare_body(value, self.services.commands.ids)

    @contextmanager
    def writer_held(self) -> Iterator[WriteTransaction]:
        """The writer's thread stands still in an open transaction for the length of the block."""
        entered, leave = threading.Event(), threading.Event()
        held: list[WriteTransaction] = []

        def hold(transaction: WriteTransaction) -> None:
            held.append(transaction)
            entered.set()
            assert leave.wait(HELD_SECONDS_MAX)

        future = self.services.commands.writer.submit(self.id, hold)
        assert entered.wait(HELD_SECONDS_MAX)
        try:
            yield held[0]
        finally:
            leave.set()
            future.result()

    # --- the file -------------------------------------------------------------------------------

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Rows of a query whose first parameter is the id of this knowledge base."""
        return query(self.services.database.reader(), sql, self.id.bytes, *values)

    def log(self) -> list[StoredEvent]:
        """Every event there is, in order."""
        rows = self.rows(
            "SELECT position, originator_id, originator_version, topic FROM events"
            " WHERE kb_id = ? ORDER BY position"
        )
        return [_stored_event(row) for row in rows]

    def events_of(self, page: str | UUID) -> list[StoredEvent]:
        return [event for event in self.log() if event.page == str(page)]

    @property
    def revision(self) -> int:
        ((revision,),) = self.rows("SELECT revision FROM heads WHERE kb_id = ?")
        assert isinstance(revision, int)
        return revision

    def actor_of(self, revision: int) -> str:
        """Who made a commit."""
        ((actor,),) = self.rows(
            "SELECT actor FROM commits WHERE kb_id = ? AND revision = ?", revision
        )
        return str(actor)

    def tree(self) -> dict[str, Place]:
        """Every live page with its place, from the rows that are valid now."""
        rows = self.rows(
            "SELECT page_id, parent_id, key_fold FROM page_versions"
            " WHERE kb_id = ? AND to_revision = ?",
            CURRENT,
        )
        return {_id(page): Place(_id_or_none(parent), _text(key)) for page, parent, key in rows}

    def check_tree(self) -> None:
        """Every live page is reachable from a scope page, and no two siblings share a key."""
        tree = self.tree()
        reached = {page for page, place in tree.items() if place.parent is None}
        assert reached or not tree
        while found := {
            page for page, place in tree.items() if page not in reached and place.parent in reached
        }:
            reached |= found
        assert reached == set(tree), "a live page cannot be reached"
        keys = [place for place in tree.values() if place.key_fold is not None]
        assert len(set(keys)) == len(keys), "two live siblings share a key"

    @contextmanager
    def nothing_written(self) -> Iterator[None]:
        """The block leaves every table that a write touches as it was."""
        before = self._contents()
        yield
        assert self._contents() == before, "a refusal left something behind"

    def _contents(self) -> dict[str, list[tuple[object, ...]]]:
        # Rows are only ever added, ended or, for heads, updated.
        contents = {
            table: self.rows(f"SELECT count(*) FROM {table} WHERE kb_id = ?")
            for table in _WRITTEN_TABLES
        }
        contents["head"] = self.rows("SELECT * FROM heads WHERE kb_id = ?")
        contents["ended"] = self.rows(
            "SELECT count(*) FROM page_versions WHERE kb_id = ? AND to_revision = ?", CURRENT
        )
        return contents


def _stored_event(row: tuple[object, ...]) -> StoredEvent:
    position, originator, version, topic = row
    assert isinstance(position, int)
    assert isinstance(version, int)
    return StoredEvent(position, _id(originator), version, str(topic))


def _id(value: object) -> str:
    assert isinstance(value, bytes)
    return str(UUID(bytes=value))


def _id_or_none(value: object) -> str | None:
    return None if value is None else _id(value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
