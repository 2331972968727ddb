"""The projections that are written in the transaction of their events."""

from collections.abc import Sequence
from uuid import UUID

from kbstore.domain.events import (
    Event,
    KnowledgeBaseConfigured,
    KnowledgeBaseCreated,
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
)
from kbstore.domain.lookup import Lookup
from kbstore.store.commits import Commit
from kbstore.store.connection import Connection
from kbstore.store.statements import Value
from kbstore.store.texts import TextReader
from projections.apply_activity import record
from projections.apply_configuration import apply_configured
from projections.apply_notes import apply_note_event
from projections.apply_pages import apply_page_event
from projections.apply_pins import apply_pin_event
from projections.step import Step
from projections.transaction_lookup import TransactionLookup


class Projections:
    """Keeps the tables of `projections.tables`; an `InlineProjections` of the write side.

    Nothing is kept between calls: whatever the events, texts and earlier rows of a knowledge
    base are, replaying them gives the rows that writing them gave.
    """

    def apply(
        self,
        connection: Connection,
        generation: int,
        commit: Commit,
        first_position: int,
        events: Sequence[Event],
        texts: TextReader,
    ) -> None:
        """Projects events of a commit, the first of them at `first_position`.

        How a commit's events are spread over calls makes no difference. Raises AssertionError
        for an event that does not continue its aggregate.
        """
        key: dict[str, Value] = {
            "kb_id": commit.kb_id.bytes,
            "generation": generation,
            "revision": commit.revision,
        }
        for position, event in enumerate(events, start=first_position):
            step = Step(
                connection, texts, key, commit.revision, commit.committed_at, commit.actor, position
            )
            _apply(step, event)

    def lookup(
        self, connection: Connection, kb_id: UUID, generation: int, texts: TextReader
    ) -> Lookup:
        """Answers the questions of deciding over the open transaction."""
        return TransactionLookup(connection, kb_id, generation, texts)


def _apply(step: Step, event: Event) -> None:
    match event:
        case (
            PageEdited()
            | PageCreated()
            | PageMoved()
            | PageMergedAway()
            | PageAbsorbed()
            | PageDeleted()
            | PageRestored()
        ):
            apply_page_event(step, event)
        case NoteAdded() | NoteRestamped() | NoteMoved() | NoteRemoved():
            apply_note_event(step, event)
        case PinSet() | PinRemoved():
            apply_pin_event(step, event)
        case KnowledgeBaseConfigured():
            apply_configured(step, event)
            record(step, event)
        case KnowledgeBaseCreated():
            record(step, event)
        case _:
            raise AssertionError(f"nothing projects {event.topic}")
