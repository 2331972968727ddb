"""Verifying a knowledge base: its log proves itself, and its rows are what the log gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from eventsourcing.persistence import IntegrityError

from kbstore.errors import NotFoundError
from kbstore.store.commits import Head
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
from projections.verify_file import check_file
from projections.verify_log import LogCheck
from projections.verify_report import Failure, Failures, Report
from projections.verify_rows import check_rows
from projections.verify_texts import NamedTexts, check_texts
from projections.verify_values import check_head_values, check_values

__all__ = ["Failure", "Report", "verify"]

_GENERATION = 1


def verify(
    database: Database,
    kb_id: UUID,
    projections: InlineProjections,
    progress: Progress = no_progress,
) -> Report:
    """Checks everything that is stored of a knowledge base, as of one moment.

    The file of an SQLite database, whether each value is of its column's kind, the chain of
    digests, gapless revisions and positions, the head, each text against its hash, and each
    projection row against a replay into a temporary file; where the log itself does not hold,
    nothing is replayed. Whatever is damaged is a failure and raises nothing. Writes nothing to
    the database. `progress` hears of revisions, first of those walked and then of those
    replayed. Raises NotFoundError without such a knowledge base.
    """
    failures = Failures()
    connection = database.reader()
    with _tolerant(connection), connection.reading(), _temporary() as temporary:
        check_file(connection, failures)
        head = _head(connection, kb_id, failures)
        if head is None:
            return _report(failures)
        log = LogCheck(connection, head, failures, progress)
        before = failures.count
        with _all_told(failures):
            check_values(connection, kb_id.bytes, head.generation, failures)
        # What follows relies on the values. A damaged file may still hold a sound log.
        if failures.count == before:
            with _all_told(failures):
                _check(connection, head, log, temporary, projections, failures, progress)
        checksum = None
        with _all_told(failures):
            checksum = table_checksums(connection, kb_id, head.generation).checksum
        content = None
        if not failures.count:
            content = content_checksum(connection, kb_id, head.generation)
        return _report(failures, head.revision, log.events, checksum, content)


def _check(
    connection: Connection,
    head: Head,
    log: LogCheck,
    temporary: Connection,
    projections: InlineProjections,
    failures: Failures,
    progress: Progress,
) -> None:
    before = failures.count
    kb_id = head.kb_id
    named = NamedTexts(temporary)
    temporary.begin_write()
    for position, event in log.walk():
        named.take(position, event)
    named.flush()
    temporary.commit()
    check_texts(connection, kb_id, temporary, failures)
    if failures.count > before:
        return
    try:
        replay(connection, kb_id, temporary, _GENERATION, projections, 1, head.revision, progress)
    except (AssertionError, IntegrityError) as error:
        failures.add(f"the log cannot be replayed: {error}", "replay")
    else:
        check_rows(connection, head.generation, temporary, _GENERATION, kb_id, failures)


def _head(connection: Connection, kb_id: UUID, failures: Failures) -> Head | None:
    """The head; None where it cannot be read, which is a failure."""
    before, head = failures.count, None
    with _all_told(failures):
        check_head_values(connection, kb_id.bytes, failures)
        if failures.count == before:
            head = read_head(connection, kb_id)
            if head is None:
                raise NotFoundError("Knowledge base not found.")
    return head


@contextmanager
def _all_told(failures: Failures) -> Iterator[None]:
    """Whatever stops the block is one failure more: damage can look like anything."""
    try:
        yield
    except NotFoundError:
        raise
    except Exception as error:
        failures.add(f"verifying cannot go on: {type(error).__name__}: {error}", "database")


def _report(
    failures: Failures,
    revision: int = 0,
    events: int = 0,
    checksum: str | None = None,
    content: str | None = None,
) -> Report:
    return Report(
        revision=revision,
        events=events,
        checksum=checksum,
        content_checksum=content,
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
