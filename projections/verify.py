"""Verifying a knowledge base: its log proves itself, and its rows are what the log gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from eventsourcing.persistence import IntegrityError

from kbstore.errors import NotFoundError
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import read_head
from kbstore.store.projecting import InlineProjections
from kbstore.store.sqlite import SqliteConnection, SqliteDatabase
from projections import verify_texts
from projections.checksum import table_checksums
from projections.content_checksum import content_checksum
from projections.progress import Progress, no_progress
from projections.replay import replay
from projections.tables import metadata
from projections.verify_log import LogCheck
from projections.verify_report import Failure, Failures, Report
from projections.verify_rows import check_rows
from projections.verify_texts import NamedTexts, check_texts

__all__ = ["Failure", "Report", "verify"]

_GENERATION = 1


def verify(
    database: Database,
    kb_id: UUID,
    projections: InlineProjections,
    progress: Progress = no_progress,
) -> Report:
    """Checks everything that is stored of a knowledge base, as of one moment.

    The chain of digests, gapless revisions and positions, the head, each text against its
    hash, and each projection row against a replay into a temporary file; where the log itself
    does not hold, nothing is replayed. Writes nothing to the database. `progress` hears of
    revisions, first of those walked and then of those replayed. Raises NotFoundError without
    such a knowledge base.
    """
    failures = Failures()
    connection = database.reader()
    with _tolerant(connection), connection.reading(), _temporary() as temporary:
        head = read_head(connection, kb_id)
        if head is None:
            raise NotFoundError("Knowledge base not found.")
        log = LogCheck(connection, head, failures, progress)
        named = NamedTexts(temporary)
        temporary.begin_write()
        for position, event in log.walk():
            named.take(position, event)
        named.flush()
        temporary.commit()
        check_texts(connection, kb_id, temporary, failures)
        if not failures.count:
            try:
                replay(
                    connection,
                    kb_id,
                    temporary,
                    _GENERATION,
                    projections,
                    1,
                    head.revision,
                    progress,
                )
            except (AssertionError, IntegrityError) as error:
                failures.add(f"the log cannot be replayed: {error}", "replay")
            else:
                check_rows(connection, head.generation, temporary, _GENERATION, kb_id, failures)
        return Report(
            revision=head.revision,
            events=log.events,
            checksum=table_checksums(connection, kb_id, head.generation).checksum,
            content_checksum=None
            if failures.count
            else content_checksum(connection, kb_id, head.generation),
            failed=failures.count,
            failures=tuple(failures.kept),
        )


@contextmanager
def _tolerant(connection: Connection) -> Iterator[None]:
    """Lets the connection read texts that are no UTF-8: they are reported, not raised.
    PostgreSQL holds no such texts."""
    if not isinstance(connection, SqliteConnection):
        yield
        return
    raw = connection.raw
    strict = raw.text_factory
    raw.text_factory = lambda value: value.decode(errors="backslashreplace")
    try:
        yield
    finally:
        raw.text_factory = strict


@contextmanager
def _temporary() -> Iterator[Connection]:
    """A connection to an empty database that is gone afterwards, and need not be durable."""
    with TemporaryDirectory(prefix="kbstore-verify-") as folder:
        database = SqliteDatabase(Path(folder) / "replay.db", [metadata, verify_texts.metadata])
        database.migrate()
        connection = database.connect()
        connection.command("PRAGMA synchronous = OFF")
        try:
            yield connection
        finally:
            connection.close()
            database.close()
