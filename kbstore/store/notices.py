"""Notices between processes that a knowledge base has moved on; only PostgreSQL has them.

A notice is a hint and never the truth: it may be lost, so whoever waits also looks from time to
time. None is sent inside a transaction that writes, because the server would then commit those
one after the other.
"""

import threading
from collections.abc import Callable
from contextlib import closing
from uuid import UUID

import structlog
from eventsourcing.persistence import PersistenceError
from sqlalchemy import bindparam, func, select

from kbstore.ids import parse_uuid
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.statements import Statement

CHANNEL = "kbstore_heads"
NOTIFY = Statement(select(func.pg_notify(CHANNEL, bindparam("kb"))))
_LOOK_SECONDS = 0.5
_RECONNECT_SECONDS = 1.0
log = structlog.get_logger(__name__)


def send_notice(connection: Connection, kb_id: UUID) -> None:
    """Tells the other processes that a knowledge base has a new head. After its COMMIT."""
    connection.all(NOTIFY, {"kb": str(kb_id)})


class NoticeListener:
    """A thread that hears the notices of other processes, its own ones too."""

    def __init__(self, database: Database, heard: Callable[[UUID], None]) -> None:
        """`heard` is called on the listener's thread."""
        self._database = database
        self._heard = heard
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kbstore-notices", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(self._database.connect_reader()) as connection:
                    connection.command(f"LISTEN {CHANNEL}")
                    while not self._stopping.is_set():
                        for payload in connection.notices(_LOOK_SECONDS):
                            # Whoever may connect to the database may send anything.
                            kb_id = parse_uuid(payload)
                            if kb_id is not None:
                                self._heard(kb_id)
            except PersistenceError as error:
                log.warning("notices_lost", error=str(error))
                self._stopping.wait(_RECONNECT_SECONDS)
