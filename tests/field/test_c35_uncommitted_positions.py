"""C35: a projection read past a slower commit and never saw its event.

Positions are handed out before COMMIT; whoever follows the feed must not get past one that
is not committed yet. Writers wait for each other before they take a position, SQLite's for
the file and PostgreSQL's for the head's row; here one is held just before COMMIT.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import msgspec
import pytest

from api.wiring import open_services
from kbstore.domain.commands import CreatePage
from kbstore.store.application import KnowledgeBaseApplication
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from tests.asking import Client, Event
from tests.backends import connection_class
from tests.knowledge import HELD_SECONDS_MAX, SCOPE, KnowledgeBase

Send = dict[str, object]


class CommitGate:
    """Where writers stand that have written everything and not yet committed."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()


@contextmanager
def held_before_commit(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommitGate]:
    connections = connection_class(database)
    gate, commit = CommitGate(), connections.commit

    def held(self: Connection) -> None:
        gate.reached.set()
        assert gate.open.wait(HELD_SECONDS_MAX)
        commit(self)

    with monkeypatch.context() as patch:
        patch.setattr(connections, "commit", held)
        try:
            yield gate
        finally:
            gate.open.set()


WRITES: dict[str, list[Send]] = {
    "one event": [{"op": "create", "scope": SCOPE, "name": "New"}],
    "many events": [
        {"op": "create", "scope": SCOPE, "name": f"New {number}"} for number in range(30)
    ],
}


@pytest.mark.parametrize("name", WRITES)
def test_a_held_commit_shows_nowhere_until_it_is_there(
    kb: KnowledgeBase, ana: Client, auditor: Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    ana.made("before")
    head, last = kb.revision, len(kb.log())
    recorder = KnowledgeBaseApplication(
        kb.services.database, kb.services.commands.writer, kb.id
    ).recorder
    with ThreadPoolExecutor(1) as threads:
        with held_before_commit(kb.services.database, monkeypatch) as gate:
            write = threads.submit(ana.commit, *WRITES[name])
            assert gate.reached.wait(HELD_SECONDS_MAX)
            assert [event.position for event in auditor.events()] == list(range(1, last + 1))
            assert auditor.events(after=last) == []
            assert auditor.part("/commits", after=head).items == []
            assert auditor.ask("GET", "/revisions/active").json["revision"] == head
            assert recorder.max_notification_id() == last
            assert [n.id for n in recorder.select_notifications(last + 1, 100)] == []
            assert not write.done(), "nobody is answered before COMMIT"
        answer = write.result()
    assert answer.status == 201
    assert answer.json["revision"] == head + 1
    positions = [event.position for event in auditor.events(after=last)]
    assert positions == list(range(last + 1, last + 1 + len(WRITES[name])))


def test_of_two_processes_the_one_that_waits_gets_the_later_positions(
    kb: KnowledgeBase, ana: Client, auditor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana.made("before")
    last = len(kb.log())
    with (
        open_services(kb.services.database.url) as others,
        ThreadPoolExecutor(2) as threads,
    ):
        other = KnowledgeBase.opened(others, kb)
        with held_before_commit(kb.services.database, monkeypatch) as gate:
            first = threads.submit(ana.made, "first")
            assert gate.reached.wait(HELD_SECONDS_MAX)
            command = CreatePage(scope=SCOPE, key="second", name=other.text("Second"))
            second = threads.submit(other.run, command)
            assert auditor.events(after=last) == []
            assert not second.done()
        assert second.result().revision == kb.revision
        seen = auditor.events(after=last)
        assert [(event.position, event.page_id) for event in seen] == [
            (last + 1, first.result().id),
            (last + 2, str(second.result().subjects[0].id)),
        ]


def test_a_commit_that_fails_leaves_no_gap(
    kb: KnowledgeBase, ana: Client, auditor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its positions go to whoever commits next."""
    ana.made("before")
    last = len(kb.log())

    def fail(self: Connection) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(connection_class(kb.services.database), "commit", fail)
        assert ana.create("lost").status >= 500
    assert auditor.events(after=last) == []
    kept = ana.made("kept")
    assert [(e.position, e.page_id) for e in auditor.events(after=last)] == [(last + 1, kept.id)]
    kb.check_tree()


@pytest.mark.parametrize("limit", [1, 3, 50])
def test_a_follower_among_writers_misses_nothing(
    kb: KnowledgeBase, ana: Client, auditor: Client, limit: int
) -> None:
    """Four writers write while one reader goes from position to position."""
    ana.made("before")
    stop = threading.Event()
    seen: list[int] = []

    def follow() -> None:
        while not (stop.is_set() and seen and seen[-1] == len(kb.log())):
            after = seen[-1] if seen else 0
            items = auditor.part("/events", after=after, limit=limit).items
            seen.extend(_position(bytes(item)) for item in items)

    def write(writer: int) -> None:
        for number in range(15):
            if number % 3:
                ana.made(f"{writer}-{number}")
            else:
                ana.commit(*WRITES["many events"][: writer + 2])

    with ThreadPoolExecutor(5) as threads:
        follower = threads.submit(follow)
        writers = [threads.submit(write, writer) for writer in range(4)]
        for done in writers:
            done.result()
        stop.set()
        follower.result()
    assert seen == list(range(1, len(kb.log()) + 1))


def _position(item: bytes) -> int:
    return msgspec.json.decode(item, type=Event).position
