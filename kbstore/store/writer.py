"""The writer: one thread that runs waiting commands together, a transaction for each batch.

A command is decided in order on the state that the commands before it left. A refusal never
touches its neighbours; an error of the database rolls the batch back and runs its commands
again one by one. Nobody is answered before COMMIT.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar
from uuid import UUID

import structlog
from eventsourcing.persistence import IntegrityError, OperationalError, PersistenceError

from kbstore.clock import Clock
from kbstore.errors import DatabaseUnavailableError, KBStoreError, NotFoundError, OverloadedError
from kbstore.limits import (
    WRITER_ATTEMPTS_MAX,
    WRITER_BATCH_COMMANDS_MAX,
    WRITER_BATCH_TAKE_SECONDS_MAX,
    WRITER_LINGER_SECONDS_MAX,
    WRITER_OUTCOME_SECONDS_MAX,
    WRITER_QUEUE_COMMANDS_MAX,
)
from kbstore.store.commits import Head
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import committed_digest, lock_head, update_head
from kbstore.store.projecting import InlineProjections
from kbstore.store.transaction import WriteTransaction

T = TypeVar("T")
log = structlog.get_logger(__name__)
_RECONNECT_PAUSE_SECONDS = 0.1


class Task(Generic[T]):
    """A command waiting for the writer: `run` decides and writes within the transaction."""

    __slots__ = ("future", "kb_id", "run")

    def __init__(self, kb_id: UUID, run: Callable[[WriteTransaction], T]) -> None:
        self.kb_id = kb_id
        self.run = run
        self.future: Future[T] = Future()

    def is_wanted(self) -> bool:
        """False once its caller cancelled it; from the first True on nobody can."""
        return self.future.running() or self.future.set_running_or_notify_cancel()


class Writer:
    """Owns the only connection of this process that writes to knowledge bases."""

    def __init__(
        self, database: Database, projections: InlineProjections | None, clock: Clock
    ) -> None:
        self._database = database
        self._projections = projections
        self._clock = clock
        self._queue: deque[Task[object]] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._connection: Connection | None = None
        self._last_commit_seconds = 0.0
        self._batched = False
        self._thread = threading.Thread(target=self._run, name="kbstore-writer", daemon=True)
        self._thread.start()

    def submit(self, kb_id: UUID, run: Callable[[WriteTransaction], T]) -> Future[T]:
        """Queues a command. The future holds its result only once COMMIT has answered.

        Raises OverloadedError when the queue is full; nothing was taken then.
        """
        task = Task(kb_id, run)
        with self._wake:
            if self._closing:
                raise OverloadedError("The server is shutting down; try again elsewhere.")
            if len(self._queue) >= WRITER_QUEUE_COMMANDS_MAX:
                raise OverloadedError("Too many writes are waiting; try again.")
            self._queue.append(task)  # type: ignore[arg-type]
            self._wake.notify()
        return task.future

    def close(self) -> None:
        """Finishes what was accepted, then stops; safe to call twice."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while batch := self._take():
            try:
                self._write(batch)
            except BaseException as error:
                # Nothing may end the thread while commands wait for it.
                log.exception("writer_failed", commands=len(batch))
                _fail(batch, error)

    def _take(self) -> list[Task[object]]:
        """The next commands of one knowledge base, in order; empty when closing and done."""
        with self._wake:
            while not self._queue:
                if self._closing:
                    return []
                self._wake.wait()
        if self._batched:
            # Where batches form, a moment's wait lets the callers just answered come back.
            time.sleep(min(self._last_commit_seconds / 4, WRITER_LINGER_SECONDS_MAX))
        with self._wake:
            kb_id = self._queue[0].kb_id
            batch: list[Task[object]] = []
            others: list[Task[object]] = []
            while self._queue and len(batch) < WRITER_BATCH_COMMANDS_MAX:
                task = self._queue.popleft()
                (batch if task.kb_id == kb_id else others).append(task)
            self._queue.extendleft(reversed(others))
        self._batched = len(batch) > 1
        return batch

    def _write(self, batch: list[Task[object]]) -> None:
        try:
            taken = self._attempt(batch, is_pipelined=True)
        except KBStoreError as refusal:
            # Refused as a whole: the knowledge base is gone, or the lock was never free.
            _fail(batch, refusal)
            return
        except PersistenceError as error:
            log.warning("batch_failed", commands=len(batch), error=str(error))
            self._recover(batch)
            return
        if taken < len(batch):
            with self._wake:
                self._queue.extendleft(reversed(batch[taken:]))

    def _recover(self, batch: list[Task[object]]) -> None:
        """Runs the commands of a failed batch one by one; each is answered for itself."""
        for task in batch:
            if task.future.done():
                continue
            refusal: Exception | None = None
            for _ in range(WRITER_ATTEMPTS_MAX):
                try:
                    self._attempt([task], is_pipelined=False)
                except PersistenceError as failure:
                    refusal = _unavailable(failure)
                    self._discard_connection()
                except KBStoreError as final:
                    refusal = final
                    break
                else:
                    break
            if refusal is not None:
                _fail([task], refusal)

    def _attempt(self, batch: list[Task[object]], *, is_pipelined: bool) -> int:
        """Runs commands in one transaction and answers them; gives how many were taken.

        Raises PersistenceError, with nothing written and nobody answered, when the database
        failed in between.
        """
        results: list[_Result] = []
        started = time.perf_counter()
        connection, head = self._begin(batch[0].kb_id, is_pipelined)
        try:
            transaction = WriteTransaction(connection, head, self._projections, self._clock)
            for task in batch:
                if results and time.perf_counter() - started > WRITER_BATCH_TAKE_SECONDS_MAX:
                    break
                if not task.is_wanted():
                    results.append((task, None, None))
                    continue
                results.append(_decide(task, transaction))
                if not connection.in_transaction:
                    raise OperationalError("the transaction was ended by an error")
            if transaction.has_writes:
                if transaction.head is not head:
                    update_head(connection, transaction.head)
                self._commit(connection, transaction)
            else:
                connection.rollback()
        except BaseException:
            self._abandon(connection)
            raise
        self._database.grown(head.position, transaction.head.position)
        for task, value, refusal in results:
            if task.future.cancelled():
                continue
            if refusal is not None:
                task.future.set_exception(refusal)
            else:
                task.future.set_result(value)
        return len(results)

    def _begin(self, kb_id: UUID, is_pipelined: bool) -> tuple[Connection, Head]:
        """A transaction that holds the lock on the head. A connection that was lost while
        nothing was asked of it is replaced."""
        for is_last in (False, True):
            connection: Connection | None = None
            try:
                connection = self._connect()
                connection.begin_write(is_pipelined=is_pipelined)
                head = lock_head(connection, kb_id)
            except PersistenceError as error:
                can_go_on = connection is not None and connection.is_lost and not is_last
                self._discard_connection()
                if not can_go_on:
                    raise _unavailable(error) from error
                continue
            if head is None:
                connection.rollback()
                raise NotFoundError("Knowledge base not found.")
            return connection, head
        raise AssertionError("the second try answers")

    def _commit(self, connection: Connection, transaction: WriteTransaction) -> None:
        started = time.perf_counter()
        try:
            connection.commit()
        except PersistenceError:
            # Whether COMMIT took effect is a fact of the database, not of the error.
            self._abandon(connection)
            if not self._has_committed(transaction.head):
                raise
        self._last_commit_seconds = time.perf_counter() - started

    def _has_committed(self, head: Head) -> bool:
        """Whether the commit that made this head is there, asked for as long as it takes.

        The lock waits for a transaction of ours that the server may still be at. Raises
        DatabaseUnavailableError when nobody can tell.
        """
        deadline = time.monotonic() + WRITER_OUTCOME_SECONDS_MAX
        while True:
            try:
                connection = self._connect()
                connection.begin_write()
                lock_head(connection, head.kb_id)
                digest = committed_digest(connection, head.kb_id, head.revision)
                connection.rollback()
            except PersistenceError as error:
                self._discard_connection()
                if time.monotonic() > deadline:
                    raise DatabaseUnavailableError(
                        "The database was lost while it committed; whether it did is not known. "
                        "Send the request again with the same Idempotency-Key."
                    ) from error
                time.sleep(_RECONNECT_PAUSE_SECONDS)
            else:
                return digest == head.digest

    def _connect(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection

    def _abandon(self, connection: Connection) -> None:
        """Ends a transaction that failed; a connection that cannot do so is let go."""
        if connection is not self._connection:
            return  # it was let go when its COMMIT failed
        try:
            connection.rollback()
        except PersistenceError:
            self._discard_connection()
        else:
            if connection.is_lost:
                self._discard_connection()

    def _discard_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


_Result = tuple[Task[object], object, BaseException | None]


def _decide(task: Task[object], transaction: WriteTransaction) -> _Result:
    try:
        return task, task.run(transaction), None
    except (KBStoreError, IntegrityError) as refusal:
        return task, None, refusal
    except PersistenceError:
        raise
    except Exception as error:
        # A defect in one command answers that command; its savepoint undid its writes.
        log.exception("command_failed")
        return task, None, error


def _unavailable(error: PersistenceError) -> DatabaseUnavailableError:
    refusal = DatabaseUnavailableError("The database cannot answer now; try again.")
    refusal.__cause__ = error
    return refusal


def _fail(batch: list[Task[object]], error: BaseException) -> None:
    for task in batch:
        if not task.future.done():
            task.future.set_exception(error)
