"""A knowledge base with a model of it that is built from its log alone.

`World.run` sends a command through the command service. What was accepted is read back from
the log and applied to states in memory by the rules of the events; what was refused has to
leave every table as it was.
"""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from uuid import UUID

from msgspec import Struct

from api.wiring import Services
from kbstore.access import Access, Caller, load_configuration
from kbstore.domain.commands import Command
from kbstore.domain.events import (
    BodyRef,
    Event,
    KnowledgeBaseConfigured,
    Links,
    TextRef,
)
from kbstore.domain.preparing import prepare_body, prepare_note_text
from kbstore.errors import KBStoreError
from kbstore.service import CommandRequest, Outcome
from kbstore.store.commits import Commit, Origin
from kbstore.store.connection import Connection
from kbstore.store.idempotency import Claim
from kbstore.store.texts import TextReader
from kbstore.testing import MemoryStore
from kbstore.texts import PreparedBody, PreparedText, prepare_text
from projections.checksum import table_checksums
from projections.log import read_commits, read_events
from projections.snapshot import Snapshot, open_snapshot
from tests.knowledge import KnowledgeBase
from tests.properties.house import FIRST_WORD, SCOPES, STARTING_CONFIGURATION, configuration
from tests.properties.sightings import Sightings

_LOG_TABLES = ("commits", "events", "texts", "idempotency")


class Mark(Struct, frozen=True):
    """Everything a write touches, boiled down."""

    head: tuple[object, ...]
    counts: tuple[int, ...]
    projections: str


class World:
    """One story's knowledge base, and what is known of it without asking its projections."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.kb = KnowledgeBase(services, configuration(STARTING_CONFIGURATION))
        self.kb_id = self.kb.id
        self.model = MemoryStore(load_configuration("", "toml"))
        self.sightings = Sightings(self.model, self.kb_id)
        self.event_counts: Counter[UUID] = Counter()
        self.revision = 0
        self._words = FIRST_WORD
        self._claims = 0
        self.follow()
        self.mark = self.look()

    # --- writing --------------------------------------------------------------------------------

    def run(
        self,
        caller: Caller,
        command: Command,
        *,
        claim: Claim | None = None,
        dry_run: bool = False,
    ) -> Outcome | KBStoreError:
        """What a command comes to. Whatever it is, the model and the tables agree afterwards."""
        message, run = f"said {self.word()}", f"run {self.word()}"
        request = CommandRequest(
            kb_id=self.kb_id,
            caller=caller,
            command=command,
            origin=Origin(actor=caller.principal, message=message, run=run),
            claim=claim,
            dry_run=dry_run,
        )
        try:
            outcome = self.services.commands.execute(request).result()
        except KBStoreError as refusal:
            assert refusal.http_status < 500, refusal
            assert self.look() == self.mark, f"{refusal.code} left something behind"
            return refusal
        if dry_run or outcome.replayed:
            assert self.look() == self.mark, "a dry run or a repeat wrote something"
        elif outcome.changed:
            (commit,) = self.follow()
            assert commit.revision == outcome.revision
            assert (commit.actor, commit.message, commit.run) == (caller.principal, message, run)
            self.mark = self.look()
        else:
            assert outcome.revision == self.revision
            before, self.mark = self.mark, self.look()
            assert self.mark.head == before.head
            assert self.mark.projections == before.projections
            kept = 0 if claim is None else 1
            assert self.mark.counts == (*before.counts[:-1], before.counts[-1] + kept)
        return outcome

    def claim(self, caller: Caller) -> Claim:
        """A new Idempotency-Key."""
        self._claims += 1
        key = f"key {self._claims}"
        return Claim(
            principal=caller.principal, key=key, request_sha256=sha256(key.encode()).digest()
        )

    def follow(self) -> list[Commit]:
        """Applies the commits that are new to the model; gives them."""
        connection = self.reader()
        texts = TextReader(connection, self.kb_id)
        commits = list(read_commits(connection, self.kb_id, self.revision + 1, 1 << 40))
        for commit in commits:
            assert commit.revision == self.revision + 1, "a revision is missing"
            self.revision = self.model.revision = commit.revision
            end = commit.first_position + commit.event_count - 1
            for stored in read_events(connection, self.kb_id, commit.first_position, end):
                event = stored.decode()
                self.event_counts[event.originator_id] += 1
                assert event.originator_version == self.event_counts[event.originator_id]
                self.model.apply([event], _texts_of(event, texts))
                if isinstance(event, KnowledgeBaseConfigured):
                    self.sightings.see_configuration()
                self.sightings.see(event, commit)
            self.model.check_tree()
        return commits

    # --- texts ----------------------------------------------------------------------------------

    def word(self) -> str:
        """A word that was never used before."""
        self._words += 1
        return f"zq{self._words - 1}z"

    def text(self, value: str) -> PreparedText:
        return prepare_text(value, self.services.commands.ids)

    def note_text(self, value: str) -> PreparedText:
        return prepare_note_text(value, self.services.commands.ids)

    def body(self, value: str) -> PreparedBody:
        return prepare_body(value, self.services.commands.ids)

    # --- reading --------------------------------------------------------------------------------

    def reader(self) -> Connection:
        return self.services.database.reader()

    def snapshot(self, caller: Caller, revision: int | None = None) -> Snapshot:
        """To be used inside `reader().reading()`."""
        return open_snapshot(self.reader(), self.kb_id, caller, revision)

    def access(self, caller: Caller) -> Access:
        """The caller's access under the model's configuration."""
        known = self.model.scope_addresses() | set(SCOPES) | caller.held
        return Access(self.model.configuration, caller, frozenset(known))

    def look(self) -> Mark:
        """The tables as they are."""
        (head,) = self.kb.rows("SELECT * FROM heads WHERE kb_id = ?")
        counts = [
            self.kb.rows(f"SELECT count(*) FROM {table} WHERE kb_id = ?")[0][0]
            for table in _LOG_TABLES
        ]
        sums = table_checksums(self.reader(), self.kb_id, 1)
        return Mark(head, tuple(int(str(count)) for count in counts), sums.checksum)


def _texts_of(event: Event, texts: TextReader) -> list[PreparedText]:
    """The texts behind the references in an event, as the model takes them."""
    return [
        PreparedText(texts.text(ref), ref, b"", b"", False)
        for name in event.__struct_fields__
        for ref in _refs(getattr(event, name))
    ]


def _refs(value: object) -> Iterator[TextRef]:
    if isinstance(value, TextRef):
        yield value
    elif isinstance(value, BodyRef):
        yield value.text
    elif isinstance(value, Links):
        yield value.targets
