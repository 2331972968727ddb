"""The writer: batches, neighbours, broken transactions and durability settings."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import IntegrityError, OperationalError, StoredEvent

from kbstore.clock import SystemClock
from kbstore.errors import DatabaseUnavailableError, NotFoundError, OverloadedError, ValidationError
from kbstore.limits import (
    WRITER_ATTEMPTS_MAX,
    WRITER_BATCH_COMMANDS_MAX,
    WRITER_QUEUE_COMMANDS_MAX,
)
from kbstore.store.commits import Commit, Origin
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import read_head
from kbstore.store.transaction import WriteTransaction
from kbstore.store.writer import Writer
from tests.backends import connection_class, query


def stored(originator_id: UUID | None = None, version: int = 1) -> StoredEvent:
    return StoredEvent(originator_id or uuid4(), version, "test.happened", b"\x80")


def write_one(transaction: WriteTransaction, event: StoredEvent | None = None) -> Commit:
    with transaction.savepoint():
        commit = transaction.begin_commit(Origin(actor="user:a"))
        commit.insert([event or stored()])
        return commit.seal()


def revision(database: Database, kb_id: UUID) -> int:
    head = read_head(database.reader(), kb_id)
    assert head is not None
    return head.revision


class Gate:
    """Holds the writer's thread inside a command, so that others gather behind it."""

    def __init__(self, writer: Writer, kb_id: UUID) -> None:
        self._entered, self._open = threading.Event(), threading.Event()
        self.future: Future[None] = writer.submit(kb_id, self._hold)
        assert self._entered.wait(5)

    def _hold(self, transaction: WriteTransaction) -> None:
        self._entered.set()
        assert self._open.wait(5)

    def release(self) -> None:
        self._open.set()
        self.future.result(5)


def test_commands_that_wait_together_share_a_transaction_each_with_its_revision(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    seen: list[int] = []

    def command(transaction: WriteTransaction) -> int:
        seen.append(id(transaction))
        return write_one(transaction).revision

    gate = Gate(writer, kb_id)
    futures = [writer.submit(kb_id, command) for _ in range(10)]
    gate.release()
    assert [future.result(5) for future in futures] == list(range(1, 11))
    assert len(set(seen)) == 1
    assert revision(database, kb_id) == 10


def test_a_batch_takes_no_more_than_its_limit(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    transactions: list[WriteTransaction] = []

    def command(transaction: WriteTransaction) -> None:
        transactions.append(transaction)

    gate = Gate(writer, kb_id)
    count = WRITER_BATCH_COMMANDS_MAX + 1
    futures = [writer.submit(kb_id, command) for _ in range(count)]
    gate.release()
    for future in futures:
        future.result(5)
    assert len({id(transaction) for transaction in transactions}) == 2
    assert transactions.count(transactions[0]) == WRITER_BATCH_COMMANDS_MAX


def test_a_refusal_never_touches_its_neighbours(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    def refuse(transaction: WriteTransaction) -> None:
        with transaction.savepoint():
            commit = transaction.begin_commit(Origin(actor="user:a"))
            commit.insert([stored()])
            raise ValidationError("No.", field="x", reason="refused")

    gate = Gate(writer, kb_id)
    before = writer.submit(kb_id, write_one)
    refused = writer.submit(kb_id, refuse)
    after = writer.submit(kb_id, write_one)
    gate.release()
    with pytest.raises(ValidationError):
        refused.result(5)
    assert (before.result(5).revision, after.result(5).revision) == (1, 2)
    rows = query(database.reader(), "SELECT position FROM events ORDER BY position")
    assert rows == [(1,), (2,)]


def test_a_defect_in_one_command_answers_that_command_alone(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    def fail(transaction: WriteTransaction) -> None:
        with transaction.savepoint():
            transaction.begin_commit(Origin(actor="user:a")).insert([stored()])
            raise ZeroDivisionError

    gate = Gate(writer, kb_id)
    failed = writer.submit(kb_id, fail)
    after = writer.submit(kb_id, write_one)
    gate.release()
    with pytest.raises(ZeroDivisionError):
        failed.result(5)
    assert after.result(5).first_position == 1


def test_a_database_error_rolls_the_batch_back_and_runs_its_commands_one_by_one(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    runs: list[str] = []

    def good(transaction: WriteTransaction) -> int:
        runs.append("good")
        return write_one(transaction).revision

    def broken(transaction: WriteTransaction) -> None:
        runs.append("broken")
        write_one(transaction)
        raise OperationalError("disk I/O error")

    gate = Gate(writer, kb_id)
    first = writer.submit(kb_id, good)
    second = writer.submit(kb_id, broken)
    third = writer.submit(kb_id, good)
    gate.release()
    assert first.result(5) == 1
    with pytest.raises(DatabaseUnavailableError):
        second.result(5)
    assert third.result(5) == 2
    assert runs == ["good", "broken", "good", *["broken"] * WRITER_ATTEMPTS_MAX, "good"]
    assert revision(database, kb_id) == 2


def test_a_commit_whose_answer_was_lost_is_told_by_the_digest(
    database: Database, kb_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = connection_class(database)
    commit = connections.commit

    def commit_then_lose_the_answer(self: Connection) -> None:
        commit(self)
        raise OperationalError("connection lost")

    writer = Writer(database, None, SystemClock())
    monkeypatch.setattr(connections, "commit", commit_then_lose_the_answer)
    try:
        assert writer.submit(kb_id, write_one).result(5).revision == 1
    finally:
        writer.close()
    assert revision(database, kb_id) == 1


def test_a_commit_that_failed_is_run_again(
    database: Database, kb_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections, failures = connection_class(database), iter([True])
    commit = connections.commit

    def fail_once(self: Connection) -> None:
        if next(failures, False):
            raise OperationalError("database or disk is full")
        commit(self)

    writer = Writer(database, None, SystemClock())
    monkeypatch.setattr(connections, "commit", fail_once)
    try:
        assert writer.submit(kb_id, write_one).result(5).revision == 1
    finally:
        writer.close()
    assert query(database.reader(), "SELECT count(*) FROM events") == [(1,)]


def test_a_connection_that_can_neither_commit_nor_roll_back_is_replaced(
    database: Database, kb_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_once(method: str) -> Callable[[Connection], None]:
        connections, failures = connection_class(database), iter([True])
        real = getattr(connections, method)

        def run(self: Connection) -> None:
            if next(failures, False):
                raise OperationalError("disk I/O error")
            real(self)

        return run

    writer = Writer(database, None, SystemClock())
    for method in ("commit", "rollback"):
        monkeypatch.setattr(connection_class(database), method, failing_once(method))
    try:
        assert writer.submit(kb_id, write_one).result(5).revision == 1
    finally:
        writer.close()
    assert query(database.reader(), "SELECT count(*) FROM events") == [(1,)]


def test_a_commit_nobody_can_tell_of_is_not_run_again(
    database: Database, kb_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be there: only a repeat under its Idempotency-Key is safe."""

    def lose(self: Connection) -> None:
        raise OperationalError("connection lost")

    def refuse() -> Connection:
        raise OperationalError("nobody there")

    runs: list[bool] = []

    def command(transaction: WriteTransaction) -> None:
        runs.append(True)
        write_one(transaction)
        monkeypatch.setattr(database, "connect", refuse)

    monkeypatch.setattr("kbstore.store.writer.WRITER_OUTCOME_SECONDS_MAX", 0.2)
    writer = Writer(database, None, SystemClock())
    try:
        with monkeypatch.context() as patch:
            for method in ("commit", "rollback"):
                patch.setattr(connection_class(database), method, lose)
            with pytest.raises(DatabaseUnavailableError, match="Idempotency-Key"):
                writer.submit(kb_id, command).result(5)
        assert len(runs) == 1
        monkeypatch.undo()
        assert writer.submit(kb_id, write_one).result(5).revision == 1
    finally:
        writer.close()


def test_the_queue_is_bounded(writer: Writer, kb_id: UUID) -> None:
    gate = Gate(writer, kb_id)
    futures = [writer.submit(kb_id, lambda _: None) for _ in range(WRITER_QUEUE_COMMANDS_MAX)]
    with pytest.raises(OverloadedError):
        writer.submit(kb_id, lambda _: None)
    gate.release()
    for future in futures:
        future.result(5)


def test_closing_finishes_what_was_accepted_and_takes_no_more(
    database: Database, kb_id: UUID
) -> None:
    writer = Writer(database, None, SystemClock())
    gate = Gate(writer, kb_id)
    futures = [writer.submit(kb_id, write_one) for _ in range(5)]
    closing = threading.Thread(target=writer.close)
    closing.start()
    gate.release()
    closing.join(5)
    assert [future.result(0).revision for future in futures] == [1, 2, 3, 4, 5]
    with pytest.raises(OverloadedError):
        writer.submit(kb_id, write_one)


def test_an_unknown_knowledge_base_is_not_found(writer: Writer) -> None:
    with pytest.raises(NotFoundError):
        writer.submit(uuid4(), write_one).result(5)


def test_knowledge_bases_have_revisions_of_their_own(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    from kbstore.store.catalogue import Catalogue

    other = uuid4()
    Catalogue(database, SystemClock()).register(other, "other")
    gate = Gate(writer, kb_id)
    futures = [writer.submit(kb, write_one) for kb in (kb_id, other, kb_id, other)]
    gate.release()
    assert [future.result(5).revision for future in futures] == [1, 1, 2, 2]


def test_another_process_that_writes_in_between_is_followed(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    writer.submit(kb_id, write_one).result(5)
    second = Writer(database, None, SystemClock())
    try:
        second.submit(kb_id, write_one).result(5)
    finally:
        second.close()
    assert writer.submit(kb_id, write_one).result(5).revision == 3


def test_committed_at_never_goes_back(database: Database, kb_id: UUID) -> None:
    times = iter([2_000, 1_000, 3_000])

    class Unsteady:
        def now(self) -> int:
            return next(times)

    writer = Writer(database, None, Unsteady())
    try:
        commits = [writer.submit(kb_id, write_one).result(5) for _ in range(3)]
    finally:
        writer.close()
    assert [commit.committed_at for commit in commits] == [2_000, 2_000, 3_000]


def test_a_taken_version_is_an_integrity_error_and_leaves_nothing(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    originator = uuid4()

    def write_twice(transaction: WriteTransaction) -> None:
        write_one(transaction, stored(originator))

    writer.submit(kb_id, write_twice).result(5)
    with pytest.raises(IntegrityError):
        writer.submit(kb_id, write_twice).result(5)
    assert revision(database, kb_id) == 1


def test_the_writers_own_connection_is_durable(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    asked, expected = (
        (["PRAGMA synchronous", "PRAGMA journal_mode"], [2, "wal"])
        if database.is_file
        # The server of the tests has synchronous_commit off, less than a commit needs.
        else (["SHOW synchronous_commit", "SHOW transaction_isolation"], ["on", "read committed"])
    )

    def settings(transaction: WriteTransaction) -> list[object]:
        return [query(transaction.connection, sql)[0][0] for sql in asked]

    assert writer.submit(kb_id, settings).result(5) == expected


def test_a_write_is_there_before_its_future_is_done(
    database: Database, writer: Writer, kb_id: UUID
) -> None:
    """Another connection sees the commit as soon as the future answers."""
    for expected in range(1, 20):
        writer.submit(kb_id, write_one).result(5)
        with database.connected() as other:
            assert query(other, "SELECT revision FROM heads") == [(expected,)]


def test_a_cancelled_command_is_not_run(writer: Writer, kb_id: UUID) -> None:
    ran: list[bool] = []
    gate = Gate(writer, kb_id)
    future = writer.submit(kb_id, lambda _: ran.append(True))
    assert future.cancel()
    gate.release()
    writer.submit(kb_id, lambda _: None).result(5)
    time.sleep(0)
    assert ran == []
