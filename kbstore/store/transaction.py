"""One write transaction of a knowledge base, and the commits that are written in it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from eventsourcing.persistence import StoredEvent
from msgspec.structs import replace
from sqlalchemy import insert

from kbstore.clock import Clock
from kbstore.domain.events import Event, KnowledgeBaseConfigured
from kbstore.store import tables
from kbstore.store.commits import Commit, Head, Origin, commit_digest, event_hash
from kbstore.store.connection import Connection
from kbstore.store.mapper import decode_payload
from kbstore.store.projecting import InlineProjections
from kbstore.store.statements import Statement, Value
from kbstore.store.texts import TextReader, write_texts
from kbstore.texts import PreparedText

INSERT_COMMIT = Statement(insert(tables.commits))
INSERT_EVENT = Statement(insert(tables.events))

SaveEvents = Callable[[Sequence[Event], "OpenCommit"], None]
"""Hands events to the application of a knowledge base, which stores them into the commit."""


class WriteTransaction:
    """The locked head and all that is written behind it; used by the writer's thread alone."""

    def __init__(
        self,
        connection: Connection,
        head: Head,
        projections: InlineProjections | None,
        clock: Clock,
    ) -> None:
        self.connection = connection
        self.head = head
        self.projections = projections
        self.clock = clock
        self.texts = TextReader(connection, head.kb_id)
        self.surroundings: object | None = None
        self.has_writes = False

    @property
    def kb_id(self) -> UUID:
        return self.head.kb_id

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undoes all that the block wrote when it raises, the head it moved included."""
        head, has_writes = self.head, self.has_writes
        try:
            with self.connection.savepoint():
                yield
        except BaseException:
            self.head, self.has_writes = head, has_writes
            raise
        finally:
            self.texts.fresh.clear()

    def begin_commit(self, origin: Origin) -> "OpenCommit":
        """The next revision, to be sealed once all its events are in it."""
        return OpenCommit(self, origin)


class OpenCommit:
    """A commit being written: events go in one operation after the other, then it is sealed.

    Nothing outside the transaction changes until `seal`, so that a refusal half-way only has
    to roll back to the savepoint around it.
    """

    def __init__(self, transaction: WriteTransaction, origin: Origin) -> None:
        head = transaction.head
        self._transaction = transaction
        self._hashes: list[bytes] = []
        self._configured = False
        self.commit = Commit(
            kb_id=head.kb_id,
            revision=head.revision + 1,
            first_position=head.position + 1,
            event_count=0,
            committed_at=max(transaction.clock.now(), head.committed_at),
            occurred_at=origin.occurred_at,
            actor=origin.actor,
            run=origin.run,
            tool_call=origin.tool_call,
            message=origin.message,
            digest=b"",
        )

    @property
    def event_count(self) -> int:
        return len(self._hashes)

    def append(
        self, events: Sequence[Event], texts: Sequence[PreparedText], save: SaveEvents
    ) -> None:
        """Writes the texts, stores the events and projects them."""
        transaction = self._transaction
        first_position = self.commit.first_position + self.event_count
        write_texts(transaction.connection, transaction.kb_id, texts)
        for text in texts:
            transaction.texts.fresh[text.ref.text_id] = text
        save(events, self)
        if transaction.projections is not None:
            transaction.projections.apply(
                transaction.connection,
                transaction.head.generation,
                self.commit,
                first_position,
                events,
                transaction.texts,
            )
        self._note_configuration(events)

    def append_stored(self, stored_events: Sequence[StoredEvent]) -> list[int]:
        """Stores and projects events that come in stored form; their texts exist already."""
        transaction = self._transaction
        positions = self.insert(stored_events)
        if transaction.projections is not None:
            events = [
                decode_payload(
                    stored.topic,
                    stored.state,
                    UUID(str(stored.originator_id)),
                    stored.originator_version,
                )
                for stored in stored_events
            ]
            transaction.projections.apply(
                transaction.connection,
                transaction.head.generation,
                self.commit,
                positions[0],
                events,
                transaction.texts,
            )
            self._note_configuration(events)
        return positions

    def _note_configuration(self, events: Sequence[Event]) -> None:
        """The head names the revision of the newest configuration: sealing moves it."""
        if any(isinstance(event, KnowledgeBaseConfigured) for event in events):
            self._configured = True

    def insert(self, stored_events: Sequence[StoredEvent]) -> list[int]:
        """Inserts stored events at the next positions; gives those positions."""
        first = self.commit.first_position + self.event_count
        rows: list[dict[str, Value]] = []
        for position, stored in enumerate(stored_events, start=first):
            originator_id = stored.originator_id
            assert isinstance(originator_id, UUID)
            rows.append(
                {
                    "kb_id": self.commit.kb_id.bytes,
                    "position": position,
                    "originator_id": originator_id.bytes,
                    "originator_version": stored.originator_version,
                    "topic": stored.topic,
                    "payload": stored.state,
                }
            )
            self._hashes.append(
                event_hash(
                    position,
                    originator_id,
                    stored.originator_version,
                    stored.topic,
                    stored.state,
                )
            )
        self._transaction.connection.run_many(INSERT_EVENT, rows)
        return list(range(first, first + len(rows)))

    def seal(self) -> Commit:
        """Writes the commit row and moves the transaction's head; gives the finished commit."""
        assert self._hashes, "a commit holds at least one event"
        head = self._transaction.head
        self._transaction.has_writes = True
        commit = replace(self.commit, event_count=self.event_count)
        commit = replace(commit, digest=commit_digest(head.digest, commit, b"".join(self._hashes)))
        self._transaction.connection.run(
            INSERT_COMMIT,
            {
                "kb_id": commit.kb_id.bytes,
                "revision": commit.revision,
                "first_position": commit.first_position,
                "event_count": commit.event_count,
                "committed_at": commit.committed_at,
                "occurred_at": commit.occurred_at,
                "actor": commit.actor,
                "run": commit.run,
                "tool_call": commit.tool_call,
                "message": commit.message,
                "digest": commit.digest,
            },
        )
        self._transaction.head = replace(
            head,
            revision=commit.revision,
            position=head.position + commit.event_count,
            committed_at=commit.committed_at,
            digest=commit.digest,
            configured_at=commit.revision if self._configured else head.configured_at,
        )
        return commit
