"""One event on its way into the tables, and what every statement about it starts from."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from kbstore.store.connection import Connection
from kbstore.store.statements import Row, Statement, Value
from kbstore.store.texts import TextReader

Parameters = Mapping[str, Value | Collection[Value]]


class Step(Struct, frozen=True):
    """An event's place in the log. Rows may be derived from it, the event, the texts and
    rows of earlier events alone, so that replaying gives the rows that writing gave.

    `key` holds the parameters `kb_id`, `generation` and `revision`.
    """

    connection: Connection
    texts: TextReader
    key: dict[str, Value]
    revision: int
    committed_at: int
    actor: str
    position: int

    def run(self, statement: Statement, values: Parameters) -> None:
        """Changes rows of this generation."""
        self.connection.run(statement, {**self.key, **values})

    def run_many(self, statement: Statement, values: Sequence[Mapping[str, Value]]) -> None:
        """Changes rows of this generation, a set of values each; nothing when there are none."""
        if values:
            self.connection.run_many(statement, [{**self.key, **each} for each in values])

    def all(self, statement: Statement, values: Parameters) -> list[Row]:
        """The rows of a query, or those a change returns."""
        return self.connection.all(statement, {**self.key, **values})
