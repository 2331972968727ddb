"""An acknowledged write has been synced: the writer's own settings, and what the kernel saw."""

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from api.wiring import open_services
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.transaction import WriteTransaction
from tests.acceptance.logs import SCOPE, SLUG, new_database
from tests.acceptance.processes import command_of, start_server, url_of
from tests.backends import query
from tests.crash.world import new_world

SYNCHRONOUS_FULL = 2
WRITES = 5


def test_the_writer_s_own_connection_syncs_every_commit(tmp_path: Path) -> None:
    with open_services(url_of(new_database(tmp_path))) as services:
        found = find_knowledge_base(services.database.reader(), SLUG)
        assert found is not None

        def settings(transaction: WriteTransaction) -> tuple[str, int]:
            ((mode,),) = query(transaction.connection, "PRAGMA journal_mode")
            ((synchronous,),) = query(transaction.connection, "PRAGMA synchronous")
            return str(mode), int(str(synchronous))

        used = services.commands.writer.submit(found.kb_id, settings).result()
    assert used == ("wal", SYNCHRONOUS_FULL)


@pytest.fixture
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is not installed")
    probe = subprocess.run([found, "-o", "/dev/null", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("this system does not let a process be traced")
    return found


def test_the_kernel_syncs_between_a_write_and_its_acknowledgement(
    tmp_path: Path, strace: str
) -> None:
    world, trace = new_world(tmp_path), tmp_path / "trace"
    traced = "trace=read,recvfrom,recvmsg,write,writev,sendto,sendmsg,fsync,fdatasync"
    # With -D the server is the process that was started, and gets the signals.
    command = [strace, "-D", "-f", "-y", "-s", "40", "-e", traced, "-o", str(trace)]
    served = start_server([*command, *command_of(world.database, "serve", "--port", 0)])
    try:
        with served.client(SLUG, world.key) as client:
            for number in range(WRITES):
                given = {"scope": SCOPE, "key": f"k{number}", "name": "A page"}
                assert client.post("/pages", json=given).status_code == 201
                assert client.get("/revisions/active").status_code == 200
    finally:
        served.end()
    await_end(trace, served.process.pid)
    story = "".join(filter(None, map(event_of, trace.read_text("utf-8").splitlines())))
    # R: a write is received, s: the log of the database is synced, A: it is acknowledged.
    assert re.sub("s+", "s", story).count("RsA") == WRITES, story
    assert story.count("R") == story.count("A") == WRITES


def await_end(trace: Path, process: int) -> None:
    """Returns once the tracer, a process of its own, has written down the end of another."""
    end = time.monotonic() + 30
    while not re.search(rf"^{process} +\+\+\+ exited", trace.read_text("utf-8"), re.MULTILINE):
        assert time.monotonic() < end, "the tracer does not end"
        time.sleep(0.05)


def event_of(line: str) -> str | None:
    if re.search(r"\b(?:read|recvfrom|recvmsg)\(.*\"POST /openapi", line):
        return "R"
    if re.search(r"\b(?:fsync|fdatasync)\(\d+<[^>]*kb\.db-wal>\) += 0", line):
        return "s"
    if re.search(r"\b(?:write|writev|sendto|sendmsg)\(.*\"HTTP/1.1 201", line):
        return "A"
    return None
