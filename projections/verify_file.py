"""Checking the file of an SQLite database: whether it is whole, its indexes included."""

import sqlite3

from kbstore.store.connection import Connection
from kbstore.store.sqlite import SqliteConnection
from projections.verify_report import Failures

_CHECK = "PRAGMA integrity_check(2147483647)"
"""The number is that of the messages after which SQLite would stop looking."""
_UNTRUE = "NULL value in "
"""Up to 3.40.1 at least SQLite says this of sound tables WITHOUT ROWID whose columns stand in
another order than their key. `projections.verify_values` looks for NULL itself."""
_WHERE = "file"


def check_file(connection: Connection, failures: Failures) -> None:
    """Lets SQLite read every page of its file, whatever knowledge base it is of.

    No checksum of rows covers an index, and queries go by them. PostgreSQL has tools of its own
    for this.
    """
    if not isinstance(connection, SqliteConnection):
        return
    try:
        for (message,) in connection.raw.execute(_CHECK):
            if message != "ok" and not message.startswith(_UNTRUE):
                failures.add(f"SQLite finds damage: {message}", _WHERE)
    except sqlite3.Error as error:
        failures.add(f"SQLite cannot read it: {error}", _WHERE)
