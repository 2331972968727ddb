"""Waiting for a revision: woken by this process, by notices, and by looking."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import OperationalError

from api.calls import Server
from api.settings import Settings
from api.watching import HeadWatch
from api.wiring import Services, open_services
from kbstore.store.connection import Connection
from kbstore.store.heads import revisions_of
from kbstore.store.notices import NoticeListener, send_notice
from tests.backends import NewUrl, on_postgresql
from tests.knowledge import KnowledgeBase

LONG = 30.0


@pytest.fixture(scope="module")
def services(new_url: NewUrl) -> Iterator[Services]:
    with open_services(new_url()) as services:
        yield services


@pytest.fixture
def kb(services: Services) -> KnowledgeBase:
    return KnowledgeBase(services)


def watching(
    services: Services, use: Callable[[HeadWatch], Awaitable[None]], *, has_notices: bool = True
) -> None:
    async def run() -> None:
        server = Server(services, Settings(has_notices=has_notices))
        try:
            await asyncio.wait_for(use(server.heads), LONG)
        finally:
            await server.close()

    asyncio.run(run())


def test_a_revision_that_is_there_is_found_by_looking(
    services: Services, kb: KnowledgeBase
) -> None:
    async def use(heads: HeadWatch) -> None:
        assert await heads.beyond(kb.id, kb.revision - 1, LONG) == kb.revision

    watching(services, use)


@pytest.mark.parametrize("has_notices", [True, False])
def test_a_commit_past_this_watch_is_found(
    services: Services, kb: KnowledgeBase, has_notices: bool
) -> None:
    async def use(heads: HeadWatch) -> None:
        revision = kb.revision
        waiting = [asyncio.create_task(heads.beyond(kb.id, revision, LONG)) for _ in range(5)]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in waiting)
        await asyncio.to_thread(kb.configure, CHANGED)
        assert await asyncio.gather(*waiting) == [revision + 1] * 5

    watching(services, use, has_notices=has_notices)


def test_a_commit_of_this_process_wakes_without_looking(
    services: Services, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object, **__: object) -> dict[UUID, int]:
        return {}

    monkeypatch.setattr("api.watching.revisions_of", nothing)

    async def use(heads: HeadWatch) -> None:
        waiting = asyncio.create_task(heads.beyond(kb.id, 7, LONG))
        await asyncio.sleep(0.02)
        heads.moved(kb.id, 7)
        heads.moved(uuid4(), 9)
        await asyncio.sleep(0.02)
        assert not waiting.done()
        heads.moved(kb.id, 8)
        assert await waiting == 8

    watching(services, use)


def test_waiting_ends(services: Services, kb: KnowledgeBase) -> None:
    async def use(heads: HeadWatch) -> None:
        started = time.monotonic()
        assert await heads.beyond(kb.id, 1_000, 0.1) is None
        assert time.monotonic() - started >= 0.1
        assert await heads.beyond(uuid4(), 0, 0.1) is None, "there is no such knowledge base"

    watching(services, use)


def test_a_look_that_fails_is_tried_again(
    services: Services, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def failing(connection: Connection, kb_ids: tuple[UUID, ...]) -> dict[UUID, int]:
        if kb.id not in kb_ids:
            # A server of other tests, which has webhooks to look after.
            return revisions_of(connection, kb_ids)
        tries.append(len(kb_ids))
        if len(tries) < 3:
            raise OperationalError("the network is down")
        return {kb.id: 99}

    monkeypatch.setattr("api.watching.revisions_of", failing)

    async def use(heads: HeadWatch) -> None:
        assert await heads.beyond(kb.id, 98, LONG) == 99

    watching(services, use)
    assert tries == [1, 1, 1]


@on_postgresql
def test_a_notice_is_heard_by_every_listener(services: Services, kb: KnowledgeBase) -> None:
    heard: list[list[UUID]] = [[], []]
    listeners = [NoticeListener(services.database, each.append) for each in heard]
    try:
        deadline = time.monotonic() + LONG
        while not all(kb.id in each for each in heard):
            assert time.monotonic() < deadline
            send_notice(services.database.reader(), kb.id)
            time.sleep(0.02)
    finally:
        for listener in listeners:
            listener.close()


CHANGED = """
[scopes."org:$org"]
access = [{ principal = "self", role = "owner" }]
"""
