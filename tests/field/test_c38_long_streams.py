"""C38: long streams loaded slower and slower, and one could not be loaded at all.

Counted are statements and what the database does for them, not time.
"""

from collections.abc import Callable, Iterator
from itertools import count
from uuid import UUID

import pytest

from kbstore.access import Caller
from kbstore.domain.commands import CreatePage, EditPage, MovePage
from kbstore.service import CommandRequest
from kbstore.store.application import KnowledgeBaseApplication
from kbstore.store.commits import Origin
from kbstore.store.connection import Connection
from kbstore.store.transaction import WriteTransaction
from projections.read.conflict import conflict_details
from projections.read.diff import diff_versions
from projections.read.history import history
from projections.read.pages import page as read_page
from projections.read.pages import page_at_version, page_by_ref
from projections.snapshot import Snapshot, open_snapshot
from tests.field.work import Work, counting, settle
from tests.knowledge import SCOPE, KnowledgeBase, fast_services

ANA = Caller(principal="user:ana", held=frozenset({SCOPE}))
BODY_BYTES = 5_000
FEW_EDITS = 300
"""PostgreSQL had better scan a table that is smaller still."""
MANY_EDITS = 1_500
SOAK_EDITS = 20_000

STEPS_MORE_MAX = 1.3
"""A deeper index costs some steps more; a walk through the stream would cost 5 times more."""


@pytest.fixture
def kb(database_url: str) -> Iterator[KnowledgeBase]:
    """In a database of its own, so that nobody else's work is counted."""
    with fast_services(database_url) as services:
        yield KnowledgeBase(services)


class Stream:
    """A page with many edits."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.page: UUID = (
            kb.run(CreatePage(scope=SCOPE, key="p", name=kb.text("P"), body=kb.body(self._text(1))))
            .subjects[0]
            .id
        )
        self.version = 1

    def edit_to(self, version: int) -> None:
        """Edits, batch by batch."""
        while self.version < version:
            last = min(version, self.version + 200)
            futures = [
                self.kb.services.commands.execute(self._request(number))
                for number in range(self.version + 1, last + 1)
            ]
            for future in futures:
                future.result()
            self.version = last

    def work_of_a_write(self, write: Callable[[], object]) -> Work:
        """What the writer's connection does for one command alone."""
        writer = self.kb.services.commands.writer
        found: list[Connection] = []

        def look(transaction: WriteTransaction) -> None:
            found.append(transaction.connection)

        writer.submit(self.kb.id, look).result()
        with counting(found[0]) as work:
            write()
        return work

    def edit_once(self) -> None:
        self.edit_to(self.version + 1)

    def move_once(self) -> None:
        self.version += 1
        self.kb.run(MovePage(page=self.page, key=f"k{self.version}"))
        self.version += 1
        self.kb.run(MovePage(page=self.page, key="p"))

    def work_of_a_read(self, read: Callable[[Snapshot], object]) -> Work:
        connection = self.kb.services.database.reader()
        with connection.reading():
            read(open_snapshot(connection, self.kb.id, ANA))
        with counting(connection) as work, connection.reading():
            read(open_snapshot(connection, self.kb.id, ANA))
        return work

    def _request(self, version: int) -> CommandRequest:
        command = EditPage(
            page=self.page, expected_version=version - 1, body=self.kb.body(self._text(version))
        )
        return CommandRequest(
            kb_id=self.kb.id, caller=ANA, command=command, origin=Origin(actor="user:ana")
        )

    def _text(self, version: int) -> str:
        line = f"version {version}\n"
        return line * (BODY_BYTES // len(line))


def works(stream: Stream) -> dict[str, Work]:
    """What each use of the page costs at its present length."""
    settle(stream.kb.services.database)
    page, version = stream.page, stream.version
    reads: dict[str, Callable[[Snapshot], object]] = {
        "read": lambda s: read_page(s, page),
        "read by ref": lambda s: page_by_ref(s, "org:acme#p"),
        "read of the first version": lambda s: page_at_version(s, page, 1),
        "read of a version in the middle": lambda s: page_at_version(s, page, version // 2),
        "start of the history": lambda s: history(s, page, None, 10),
        "end of the history": lambda s: history(s, page, None, 10, newest_first=True),
        "diff": lambda s: diff_versions(s, page, 2, version - 1),
        "conflict": lambda s: conflict_details(s, page, version - 1, "mine\n"),
    }
    found = {name: stream.work_of_a_read(read) for name, read in reads.items()}
    found["edit"] = stream.work_of_a_write(stream.edit_once)
    found["move"] = stream.work_of_a_write(stream.move_once)
    return found


def check_flat(few: dict[str, Work], many: dict[str, Work]) -> None:
    for name, before in few.items():
        after = many[name]
        assert after.statements == before.statements > 0, name
        assert after.steps <= before.steps * STEPS_MORE_MAX, (name, before, after)


def check_read_in_parts(stream: Stream) -> None:
    """The stream is read a part at a time: nothing needs all of it in memory."""
    services = stream.kb.services
    recorder = KnowledgeBaseApplication(
        services.database, services.commands.writer, stream.kb.id
    ).recorder
    parts = (
        recorder.select_events(stream.page, gt=after, limit=500)
        for after in count(0, 500)
        if after < stream.version
    )
    seen = 0
    for part in parts:
        assert len(part) <= 500
        assert [event.originator_version for event in part] == list(
            range(seen + 1, seen + len(part) + 1)
        )
        seen += len(part)
        if seen == stream.version:
            break
    assert seen == stream.version


@pytest.mark.parametrize("edits", [MANY_EDITS, pytest.param(SOAK_EDITS, marks=pytest.mark.soak)])
def test_a_page_with_many_edits_loads_as_one_with_few(kb: KnowledgeBase, edits: int) -> None:
    stream = Stream(kb)
    stream.edit_to(FEW_EDITS)
    few = works(stream)
    stream.edit_to(edits)
    many = works(stream)
    assert stream.version >= edits
    check_flat(few, many)
    check_read_in_parts(stream)


def test_beside_a_long_stream_other_pages_cost_what_they_did(kb: KnowledgeBase) -> None:
    long = Stream(kb)
    kb.run(MovePage(page=long.page, key="long"))
    long.version += 1
    short = Stream(kb)
    short.edit_to(FEW_EDITS)
    few = works(short)
    long.edit_to(MANY_EDITS)
    check_flat(few, works(short))
