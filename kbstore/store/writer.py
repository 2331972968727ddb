"""The writer: one thread that runs waiting commands together, a transaction for each batch.

A command is decided in order on the state that the commands before it left. A refusal never
touches its neighbours; an error of the database rolls the batch back and runs its commands
again one by one. Nobody is answered before COMMIT.
"""

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar
from uuid import UUID

import structlog
from eventsourcing.persistence import PersistenceError

from kbstore.clock import Clock
from kbstore.errors import DatabaseUnavailableError, KBStoreError, NotFoundError, OverloadedError
from kbstore.limits import (
    WRITER_BATCH_COMMANDS_MAX,
    WRITER_BATCH_TAKE_SECONDS_MAX,
    WRITER_LINGER_SECONDS_MAX,
    WRITER_QUEUE_COMMANDS_MAX,
)
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import lock_head, read_head, update_head
from kbstore.store.projecting import InlineProjections
from kbstore.store.transaction import WriteTransaction

T = TypeVar("T")
log = structlog.get_logger(__name__)


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
            taken = self._attempt(batch)
        except KBStoreError as refusal:
            # Refused as a whole: the knowledge base is gone, or the lock was never free.
            _fail(batch, refusal)
            return
        except sqlite3.Error as error:
            self._recover(batch, error)
            return
        if taken < len(batch):
            with self._wake:
                self._queue.extendleft(reversed(batch[taken:]))

    def _recover(self, batch: list[Task[object]], error: sqlite3.Error) -> None:
        """Runs the commands of a failed batch one by one; each is answered for itself."""
        log.warning("batch_failed", commands=len(batch), error=str(error))
        for task in batch:
            if task.future.done():
                continue
            try:
                self._attempt([task])
            except sqlite3.Error as failure:
                self._discard_connection()
                _fail([task], _unavailable(failure))

    def _attempt(self, batch: list[Task[object]]) -> int:
        """Runs commands in one transaction and answers them; gives how many were taken."""
        connection = self._connect()
        results: list[tuple[Task[object], object, BaseException | None]] = []
        started = time.perf_counter()
        try:
            connection.begin_write()
        except sqlite3.OperationalError as error:
            raise _unavailable(error) from error
        try:
            head = lock_head(connection, batch[0].kb_id)
            if head is None:
                raise NotFoundError("Knowledge base not found.")
            transaction = WriteTransaction(connection, head, self._projections, self._clock)
            for task in batch:
                if results and time.perf_counter() - started > WRITER_BATCH_TAKE_SECONDS_MAX:
                    break
                if task.is_wanted():
                    results.append(self._decide(task, transaction))
                else:
                    results.append((task, None, None))
            if transaction.has_writes:
                if transaction.head is not head:
                    update_head(connection, transaction.head)
                self._commit(connection, transaction)
            else:
                connection.rollback()
        except BaseException:
            connection.rollback()
            raise
        for task, value, refusal in results:
            if task.future.cancelled():
                continue
            if refusal is not None:
                task.future.set_exception(refusal)
            else:
                task.future.set_result(value)
        return len(results)

    @staticmethod
    def _decide(
        task: Task[object], transaction: WriteTransaction
    ) -> tuple[Task[object], object, BaseException | None]:
        try:
            return task, task.run(transaction), None
        except sqlite3.Error:
            raise
        except (KBStoreError, PersistenceError) as refusal:
            return task, None, refusal
        except Exception as error:
            # A defect in one command answers that command; its savepoint undid its writes.
            log.exception("command_failed")
            return task, None, error

    def _commit(self, connection: Connection, transaction: WriteTransaction) -> None:
        started = time.perf_counter()
        try:
            connection.commit()
        except sqlite3.Error:
            # Whether COMMIT took effect is a fact of the file, not of the error.
            connection.rollback()
            head = read_head(connection, transaction.kb_id)
            if head is None or head.digest != transaction.head.digest:
                raise
        self._last_commit_seconds = time.perf_counter() - started

    def _connect(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection

    def _discard_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _unavailable(error: sqlite3.Error) -> DatabaseUnavailableError:
    refusal = DatabaseUnavailableError("The database cannot answer now; try again.")
    refusal.__cause__ = error
    return refusal


def _fail(batch: list[Task[object]], error: BaseException) -> None:
    for task in batch:
        if not task.future.done():
            task.future.set_exception(error)
