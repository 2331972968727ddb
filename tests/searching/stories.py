"""A knowledge base that changes at random, with texts of many scripts and few words.

What is refused does not matter: the next step does something else.
"""

import json
from random import Random
from uuid import UUID

from msgspec import UNSET
from sqlalchemy import bindparam, select

from kbstore.access import Caller
from kbstore.domain.commands import (
    AddNote,
    Command,
    Configure,
    CreatePage,
    DeletePage,
    EditPage,
    MergePage,
    MovePage,
    RemoveNote,
    RestampNote,
    RestorePage,
)
from kbstore.domain.preparing import prepare_body, prepare_note_text
from kbstore.errors import KBStoreError
from kbstore.service import CommandRequest, CommandService
from kbstore.store import tables as store_tables
from kbstore.store.backends import open_database
from kbstore.store.commits import Origin
from kbstore.store.connection import Connection
from kbstore.store.statements import Statement
from kbstore.texts import PreparedBody, prepare_text
from projections import tables
from projections.lexical.checkpoint_tables import caches
from projections.projector import Projections
from tests.unit.projections.history import SeededIds

ORG, TEAM, CHILD, VAULT, CLUB = (
    "org:acme",
    "team:acme:red",
    "team:acme:red/help",
    "vault:acme",
    "club:chess",
)
SCOPES = (ORG, TEAM, CHILD, VAULT, CLUB)
ROOT = Caller(principal="user:root", held=frozenset((ORG, TEAM, VAULT, "root:all")))
READERS = (
    ROOT,
    Caller(principal="user:ana", held=frozenset((ORG,))),
    Caller(principal="user:eve", held=frozenset((TEAM, "guest:acme"))),
    Caller(principal="user:vic", held=frozenset((VAULT,))),
    Caller(principal="user:audit", grants=frozenset(("auditor",))),
    Caller(principal="user:none"),
)
ADMIN = Caller(principal="service:setup", grants=frozenset(("admin",)))

WORDS = (
    *("refund", "Refunds", "policy", "big-house", "C++", "--help", "e.g.", "()", "os.path.join"),
    *("t", "T", "tt", "a", "42", "2026-03-14", "memory:safe", "foo AND", "*", "%", "_"),
    *("Straße", "STRASSE", "Café", "cafe\u0301", "É", "ﬁne", "¨", "½", "İstanbul", "ΣΑΣ", "σας"),
    *(
        "本文是关于教务",
        "教务",
        "一",
        "MySQL数据库",
        "한국어",
        "한",
        "ひらがな",
        "ﷺ",
        "שָׁלוֹם",
        "שלום",
    ),
    *("مُحَمَّد", "محمد", "हिन्दी", "हि", "🙂", "a🙂b", "«Rust»", '"big', 'house"', "don't", "'x'"),
)
_SCOPE_OF = Statement(
    select(tables.pages.c.scope).where(tables.pages.c.page_id == bindparam("page_id"))
)
SEPARATORS = (" ", " ", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "")


class Story:
    """One knowledge base; each step is a commit, or is refused."""

    def __init__(self, url: str, seed: int) -> None:
        self.random = Random(seed)
        self.database = open_database(url, [store_tables.metadata, tables.metadata, caches])
        if self.database.is_file:
            connect = self.database.connect

            def connect_fast() -> Connection:
                connection = connect()
                connection.command("PRAGMA synchronous = OFF")
                return connection

            self.database.connect = connect_fast  # type: ignore[method-assign]
        self.micros = 1_772_000_000_000_000
        self.ids = SeededIds(seed)
        self.service = CommandService(self.database, Projections(), self, self.ids)
        self.kb_id = self.service.create_knowledge_base(f"kb-{seed}", Origin(actor="user:root"))
        self.pages: list[UUID] = []
        self.notes: list[UUID] = []
        self.revision = 1
        self.configure()

    def now(self) -> int:
        """The clock: several commits may come at one time."""
        self.micros += self.random.choice((0, 0, 1_000_000))
        return self.micros

    def run(self, command: Command, caller: Caller = ROOT) -> list[UUID]:
        """The ids it concerns; none where it was refused."""
        origin = Origin(actor=caller.principal)
        request = CommandRequest(kb_id=self.kb_id, caller=caller, command=command, origin=origin)
        try:
            outcome = self.service.execute(request).result()
        except KBStoreError as refusal:
            assert refusal.http_status < 500
            return []
        self.revision = outcome.revision
        return [subject.id for subject in outcome.subjects]

    def configure(self) -> None:
        """Another configuration: the same scopes, but for the club, under other names."""
        owner = [{"principal": "self", "role": "owner"}, {"principal": "root:all", "role": "owner"}]
        viewers = [{"principal": "org:$org", "role": "viewer"}]
        page = {"key": "faq", "name": self._name(), "description": self._name()}
        inner = {"key": "inner", "name": self._name(), "body": self.text(9)}
        scopes: dict[str, object] = {
            "org:$org": {
                "displayLabel": self._name(),
                "description": self._name(),
                "access": [*owner, {"principal": "guest:$org", "role": "viewer"}],
                "pages": [{**page, "pages": [inner]}],
            },
            "team:$org:$team": {
                "belongsTo": "org:$org",
                "displayLabel": f"{self._name()} $team",
                "access": [*owner, *(viewers if self.random.random() < 0.7 else [])],
                "children": {"help": {"description": self._name(), "pages": [inner]}},
            },
            "vault:$org": {"access": owner, "description": self._name()},
            "guest:$org": {},
            "root:all": {},
        }
        if self.random.random() < 0.7:
            scopes["club:chess"] = {"access": [*owner, {"principal": "org:acme", "role": "viewer"}]}
        text = prepare_text(json.dumps({"scopes": scopes}), self.ids)
        before = self.revision
        self.run(Configure(configuration=text), ADMIN)
        assert self.revision == before + 1, "a configuration was refused"

    def step(self) -> None:
        """One change."""
        choice = self.random.randrange(40)
        if choice < 10 or not self.pages:
            self._create()
        elif choice < 18:
            self.run(self._edit())
        elif choice < 23:
            self._move()
        elif choice < 25:
            self.run(MergePage(page=self._page(), into=self._page()))
        elif choice < 28:
            self.run(DeletePage(page=self._page(), subtree=self.random.random() < 0.7))
        elif choice < 31:
            self.run(RestorePage(page=self._page(), version=self.random.choice((None, 1, 2))))
        elif choice < 35 or not self.notes:
            stamps = tuple(self._some(SCOPES[:4]))
            text = prepare_note_text(self.text(4).strip() or "x", self.ids)
            self.notes += self.run(AddNote(page=self._page(), text=text, stamps=stamps))[-1:]
        elif choice < 38:
            self.run(RestampNote(note=self._note(), stamps=tuple(self._some(SCOPES[:4]))))
        elif choice < 39:
            self.run(RemoveNote(note=self._note()))
        else:
            self.configure()

    def text(self, words_max: int) -> str:
        """Some words, with white space between most of them."""
        count = self.random.randint(1, words_max)
        chosen = [self.random.choice(WORDS) for _ in range(count)]
        return "".join(word + self.random.choice(SEPARATORS) for word in chosen).strip() or "x"

    def query(self) -> str:
        """Words, pieces of words, and whole texts; mostly something that is there."""
        kind = self.random.randrange(8)
        if kind < 3:
            words = [self._piece(self.random.choice(WORDS)) for _ in range(kind + 1)]
        elif kind < 5:
            words = [self.random.choice(WORDS) for _ in range(self.random.randint(1, 5))]
        elif kind == 5:
            words = [self.random.choice(WORDS)] * 2
        elif kind == 6:
            words = [self.random.choice(("t", "a", "一", "教", "é", "*", "🙂", "'", '"'))]
        else:
            words = [self.text(3)]
        query = self.random.choice(SEPARATORS[:7]).join(words)
        return query.upper() if self.random.random() < 0.2 else query

    def close(self) -> None:
        self.service.close()
        self.database.close()

    def _piece(self, word: str) -> str:
        start = self.random.randrange(len(word))
        return word[start : start + self.random.randint(1, 4)]

    def _create(self) -> None:
        name = prepare_text(self._name(), self.ids)
        described = self.random.random() < 0.5
        parent = self._page() if self.pages and self.random.random() < 0.4 else None
        scope = self.random.choice(SCOPES)
        if parent is not None:
            scope = self._scope_of(parent) or scope
        command = CreatePage(
            scope=scope,
            parent=parent,
            key=self.random.choice((None, None, "faq", "inner", "b")),
            name=name,
            description=prepare_text(self.text(4), self.ids) if described else None,
            body=self._body(),
        )
        self.pages += [page for page in self.run(command) if page not in self.pages]

    def _scope_of(self, page: UUID) -> str | None:
        row = self.database.reader().one(_SCOPE_OF, {"page_id": page.bytes})
        return None if row is None else str(row[0])

    def _edit(self) -> EditPage:
        parts = self.random.randint(1, 7)
        description = self.random.choice((None, prepare_text(self.text(4), self.ids)))
        return EditPage(
            page=self._page(),
            expected_version="any",
            name=prepare_text(self._name(), self.ids) if parts & 1 else UNSET,
            description=description if parts & 2 else UNSET,
            body=self._body() if parts & 4 else UNSET,
        )

    def _move(self) -> None:
        if self.random.random() < 0.5:
            scope = self.random.choice(SCOPES)
            self.run(MovePage(page=self._page(), scope=scope, parent=None))
        else:
            parent = self._page()
            there = self._scope_of(parent) or UNSET
            self.run(MovePage(page=self._page(), scope=there, parent=parent))

    def _name(self) -> str:
        return " ".join(self.text(3).split()) or "x"

    def _body(self) -> PreparedBody | None:
        return prepare_body(self.text(12), self.ids) if self.random.random() < 0.8 else None

    def _page(self) -> UUID:
        return self.random.choice(self.pages)

    def _note(self) -> UUID:
        return self.random.choice(self.notes)

    def _some(self, items: tuple[str, ...]) -> list[str]:
        return self.random.sample(items, self.random.randint(1, len(items)))
