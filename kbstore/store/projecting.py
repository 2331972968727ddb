"""What the write side asks of the projections that are kept in its own transaction."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from kbstore.domain.events import Event
from kbstore.domain.lookup import Lookup
from kbstore.store.commits import Commit
from kbstore.store.connection import Connection
from kbstore.store.texts import TextReader


class InlineProjections(Protocol):
    """Implemented by `projections`, wired once by `api`."""

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

        `commit.digest` and `commit.event_count` are not final yet: a commit may arrive in
        several calls, each with the events one operation decided.
        """
        ...

    def lookup(
        self, connection: Connection, kb_id: UUID, generation: int, texts: TextReader
    ) -> Lookup:
        """Answers the questions of deciding over the open transaction."""
        ...
