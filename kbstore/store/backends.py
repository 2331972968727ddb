"""Which database a URL names."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy import MetaData

from kbstore.errors import StoreError
from kbstore.store.database import Database
from kbstore.store.sqlite import SqliteDatabase

_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql://", "postgres://")


def locate_database(url: str, schema: Sequence[MetaData]) -> Database:
    """The database behind `sqlite:///PATH` or `postgresql://...`, whatever schema it has, and
    before there is one: for `migrate`.

    Raises StoreError for other URLs, and where the library for PostgreSQL is not installed.
    """
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        return SqliteDatabase.locate(Path(unquote(url.removeprefix(_SQLITE))), schema)
    if url.startswith(_POSTGRESQL):
        try:
            from kbstore.store.postgresql import PostgresDatabase
        except ImportError as error:
            raise StoreError(
                "PostgreSQL needs the extra `postgres`: pip install 'kbstore[postgres]'."
            ) from error
        return PostgresDatabase(url, schema)
    # The rest of it may hold a password.
    scheme = url.partition("://")[0] if "://" in url else ""
    raise StoreError(
        "A database is named as sqlite:///PATH or postgresql://USER@HOST/NAME"
        + (f", not as {scheme}://." if scheme else ".")
    )


def open_database(url: str, schema: Sequence[MetaData]) -> Database:
    """The same, ready for use; a new SQLite file is created and migrated.

    Raises DatabaseNotMigratedError where `migrate` has to come first.
    """
    database = locate_database(url, schema)
    if database.is_new():
        database.migrate()
    database.check_migrated()
    return database
