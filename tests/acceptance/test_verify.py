"""`kbstore verify` sees any change by hand, names the place, and `rebuild` mends projections."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Column, Table

from api.demo import SCOPE, SLUG, build_demo
from api.wiring import open_services
from kbstore.access import OPERATOR, Caller
from kbstore.domain.commands import (
    AddNote,
    Command,
    CreatePage,
    DeletePage,
    PageOperation,
    RemoveNote,
    RestorePage,
)
from kbstore.domain.preparing import prepare_body, prepare_note_text
from kbstore.service import CommandRequest
from kbstore.store import tables as store_tables
from kbstore.store.commits import Origin
from kbstore.texts import prepare_text
from projections.tables import metadata
from tests.acceptance.processes import Json, finish, invoke, invoked, kbstore, url_of

PROJECTIONS = sorted(metadata.tables.values(), key=lambda table: table.name)
COMMIT_FIELDS = [
    column for column in store_tables.commits.c if column.name not in ("kb_id", "message")
]
SEED = 7


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample handbook and what its history lacks: a row in every table there is."""
    database = tmp_path_factory.mktemp("sound") / "kb.db"
    with open_services(url_of(database)) as services:
        found = build_demo(services)
        ids = services.commands.ids
        caller = Caller(principal="user:a", grants=frozenset({OPERATOR}))

        def do(command: Command) -> UUID:
            request = CommandRequest(
                kb_id=found.kb_id,
                caller=caller,
                command=command,
                origin=Origin(actor="user:a", run="run 1", tool_call="call 1"),
            )
            return services.commands.execute(request).result().subjects[0].id

        body = prepare_body("See [[Refund policy]].\n" + "A line to deflate.\n" * 60, ids)
        page = do(CreatePage(scope=SCOPE, name=prepare_text("Short-lived", ids), body=body))
        note = do(AddNote(page=page, text=prepare_note_text("A fact.", ids), stamps=(SCOPE,)))
        do(RemoveNote(note=note, expected_version=1))
        do(DeletePage(page=page, expected_version=1))
        do(RestorePage(page=page, expected_version=2, version=1))
    assert invoked(database, "verify", SLUG)["ok"]
    with rows_of(database) as connection:
        for table in PROJECTIONS:
            assert connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0], table
    return database


@pytest.fixture
def database(sound: Path, tmp_path: Path) -> Path:
    copied = tmp_path / "kb.db"
    shutil.copyfile(sound, copied)
    return copied
