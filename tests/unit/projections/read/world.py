"""A small knowledge base, written through the store's own command service."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from msgspec import UNSET, UnsetType

from kbstore.access import Caller
from kbstore.domain.commands import (
    AddNote,
    Batch,
    Command,
    Configure,
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    PageOperation,
    RestorePage,
    SetPin,
)
from kbstore.domain.preparing import prepare_body, prepare_note_text
from kbstore.ids import SystemIds
from kbstore.service import CommandRequest, CommandService, Outcome
from kbstore.store import tables as store_tables
from kbstore.store.backends import open_database
from kbstore.store.commits import Origin
from kbstore.texts import prepare_text
from projections import tables
from projections.lexical.checkpoint_tables import caches
from projections.projector import Projections
from projections.snapshot import Snapshot, open_snapshot

CONFIGURATION: dict[str, object] = {
    "scopes": {
        "org:$org": {
            "displayLabel": "Handbook of $org",
            "description": "All of it",
            "access": [{"principal": "self", "role": "owner"}],
            "pages": [
                {
                    "key": "policies",
                    "name": "Policies",
                    "pages": [
                        {"key": "refund", "name": "Refunds", "body": "---\nowner: ana\n---\nPay."}
                    ],
                }
            ],
        },
        "team:$org:$team": {
            "belongsTo": "org:$org",
            "access": [
                {"principal": "self", "role": "owner"},
                {"principal": "org:$org", "role": "viewer"},
            ],
            "children": {"support": {"description": "Who helps"}},
        },
        "vault:$org": {"access": [{"principal": "self", "role": "owner"}]},
        "club:chess": {"access": [{"principal": "org:$org", "role": "viewer"}]},
    }
}

ORG, RED, VAULT = "org:acme", "team:acme:red", "vault:acme"
ROOT = Caller(principal="user:root", held=frozenset({ORG, RED, VAULT}), grants=frozenset())
ANA = Caller(principal="user:ana", held=frozenset({ORG}))
EVE = Caller(principal="user:eve", held=frozenset({RED}))
AUDITOR = Caller(principal="user:audit", grants=frozenset({"auditor"}))


class Steps:
    """A clock that moves on by a second each time it is read."""

    def __init__(self) -> None:
        self.micros = 1_772_000_000_000_000

    def now(self) -> int:
        self.micros += 1_000_000
        return self.micros


class World:
    """Writes as ROOT unless a caller is given; every write is one commit."""

    def __init__(self, url: str) -> None:
        self.database = open_database(url, [store_tables.metadata, tables.metadata, caches])
        self.ids = SystemIds()
        self.service = CommandService(self.database, Projections(), Steps(), self.ids)
        self.kb_id = self.service.create_knowledge_base("handbook", Origin(actor="user:root"))
        self.configure(CONFIGURATION)

    def run(self, command: Command, caller: Caller = ROOT, message: str | None = None) -> Outcome:
        origin = Origin(actor=caller.principal, message=message, run="run-1")
        request = CommandRequest(kb_id=self.kb_id, caller=caller, command=command, origin=origin)
        return self.service.execute(request).result()

    def configure(self, configuration: dict[str, object]) -> None:
        text = prepare_text(json.dumps(configuration), self.ids)
        admin = Caller(principal="service:setup", grants=frozenset({"admin"}))
        self.run(Configure(configuration=text), admin)

    def creation(
        self,
        name: str,
        scope: str = ORG,
        parent: UUID | str | None = None,
        key: str | None = None,
        body: str | None = None,
    ) -> CreatePage:
        return CreatePage(
            scope=scope,
            parent=parent,
            key=key,
            name=prepare_text(name, self.ids),
            body=None if body is None else prepare_body(body, self.ids),
        )

    def create(
        self,
        name: str,
        scope: str = ORG,
        parent: UUID | None = None,
        key: str | None = None,
        body: str | None = None,
        caller: Caller = ROOT,
    ) -> UUID:
        return self.run(self.creation(name, scope, parent, key, body), caller).subjects[0].id

    def edit(
        self,
        page: UUID,
        body: str | UnsetType = UNSET,
        name: str | UnsetType = UNSET,
        caller: Caller = ROOT,
        expected: int | None = None,
    ) -> Outcome:
        command = EditPage(
            page=page,
            expected_version=expected,
            name=UNSET if name is UNSET else prepare_text(name, self.ids),
            body=UNSET if body is UNSET else prepare_body(body, self.ids),
        )
        return self.run(command, caller)

    def move(self, page: UUID, scope: str | UnsetType = UNSET, parent: UUID | None = None) -> None:
        self.run(MovePage(page=page, scope=scope, parent=parent if parent else UNSET))

    def rekey(self, page: UUID, key: str | None) -> None:
        self.run(MovePage(page=page, key=key))

    def merge(self, page: UUID, into: UUID) -> None:
        self.run(MergePage(page=page, into=into))

    def delete(self, page: UUID, subtree: bool = False, caller: Caller = ROOT) -> int:
        return self.run(DeletePage(page=page, subtree=subtree), caller).revision

    def restore(self, page: UUID) -> None:
        self.run(RestorePage(page=page))

    def note(self, page: UUID, text: str, *stamps: str, caller: Caller = ROOT) -> UUID:
        command = AddNote(page=page, text=prepare_note_text(text, self.ids), stamps=stamps)
        return self.run(command, caller).subjects[0].id

    def pin(self, page: UUID, *audience: str, kind: str = "page", caller: Caller = ROOT) -> None:
        self.run(SetPin(page=page, kind=kind, audience=audience), caller)

    def batch(self, *operations: PageOperation, message: str | None = None) -> Outcome:
        return self.run(Batch(operations=operations), message=message)

    @property
    def revision(self) -> int:
        with self.reading(ROOT) as snapshot:
            return snapshot.revision

    @contextmanager
    def reading(self, caller: Caller = ANA, revision: int | None = None) -> Iterator[Snapshot]:
        reader = self.database.reader()
        with reader.reading():
            yield open_snapshot(reader, self.kb_id, caller, revision)

    def close(self) -> None:
        self.service.close()
        self.database.close()
