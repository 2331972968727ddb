"""Feeds under writers: whoever follows sees every event he may read, once and in order."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest
from msgspec import Struct

from kbstore.store.heads import lock_head, read_head
from tests.acceptance.processes import Served
from tests.asking import PREFIX, Client
from tests.backends import change, on_postgresql
from tests.knowledge import SCOPE, TEAM, VAULT, KnowledgeBase, fast_services
from tests.races.followers import Follower, settled
from tests.races.processes import SteadyClient, server_processes

READERS = 50
WRITERS = 8
WRITES = 25
SOAK_WRITES = 100
SEEN_SECONDS_MAX = 300
"""Nobody waits for an event longer than this, on the slowest machine."""

SCOPES = (SCOPE, TEAM, VAULT)


class Key(Struct, frozen=True):
    """What a reader's key holds, and whose pages it may read by that; None: everything."""

    held: tuple[str, ...]
    reads: tuple[str, ...] | None
    grants: tuple[str, ...] = ()


KEYS = (
    Key((SCOPE,), None, ("auditor",)),
    Key((SCOPE,), (SCOPE, TEAM)),
    Key((TEAM,), (TEAM,)),
    Key((VAULT,), (VAULT,)),
    Key(("viewer:acme",), (SCOPE,)),
    Key(("viewer:acme", VAULT), (SCOPE, VAULT)),
)


class Field:
    """A knowledge base behind one server or more."""

    def __init__(self, kb: KnowledgeBase, servers: list[Served]) -> None:
        self.kb = kb
        self.servers = servers
        self.urls = [served.url for served in servers]
        self.scope_of: dict[str, str] = {}

    @contextmanager
    def client(self, number: int, principal: str) -> Iterator[SteadyClient]:
        """One that owns every scope, at one of the servers."""
        url = self.urls[number % len(self.urls)]
        with closing(SteadyClient(url, self.kb.slug, self.kb.token(principal, SCOPES))) as client:
            yield client

    def write(self, writer: int, writes: int) -> None:
        """Creates and edits in one scope, one page or several at once."""
        chosen, scope = Random(writer), SCOPES[writer % len(SCOPES)]
        page = ""
        with self.client(writer, f"agent:{writer}") as client:
            for number in range(writes):
                kind = chosen.random()
                if page and kind < 0.4:
                    assert client.edit(page, body=f"{number}").status == 200
                    continue
                given = {"scope": scope, "name": f"{writer} {number}"}
                if kind < 0.8:
                    made = [client.ask("POST", "/pages", given).page.id]
                else:
                    operation = {"op": "create", **given}
                    answer = client.commit(*[operation] * chosen.randint(2, 12))
                    results = answer.json["results"]
                    assert isinstance(results, list)
                    made = [result["id"] for result in results]
                self.scope_of.update(dict.fromkeys(made, scope))
                page = made[0]

    def expected(self, key: Key) -> list[int]:
        """The positions of the events on pages that the key may read, by the log itself."""
        log = self.kb.log()
        if key.reads is None:
            return [event.position for event in log]
        return [event.position for event in log if self.scope_of.get(event.page) in key.reads]

    def find_scope_pages(self) -> None:
        with self.client(0, "user:ana") as client:
            for scope in SCOPES:
                self.scope_of[client.page_at(scope).id] = scope


@contextmanager
def field_of(database_url: str, *, has_notices: bool = True) -> Iterator[Field]:
    servers = 1 if database_url.startswith("sqlite:") else 2
    with (
        fast_services(database_url) as services,
        server_processes(database_url, servers, has_notices=has_notices) as served,
    ):
        yield Field(KnowledgeBase(services), served)


@contextmanager
def obstructed(kb: KnowledgeBase) -> Iterator[None]:
    """For the length of the block one transaction stays open that sees what was there before,
    and others take the writers' lock for a while, write an event and never commit."""
    stop = threading.Event()

    def obstruct() -> None:
        while not stop.wait(0.3):
            with closing(kb.services.database.connect()) as connection:
                connection.begin_write()
                head = lock_head(connection, kb.id)
                assert head is not None
                row = (kb.id.bytes, head.position + 1, b"never there".ljust(16), 1, "never", b"")
                change(connection, f"INSERT INTO events VALUES ({', '.join('?' * 6)})", *row)
                stop.wait(0.3)
                connection.rollback()

    with (
        closing(kb.services.database.connect_reader()) as old,
        old.reading(),
        ThreadPoolExecutor(1) as threads,
    ):
        before = read_head(old, kb.id)
        obstructing = threads.submit(obstruct)
        try:
            yield
        finally:
            stop.set()
            obstructing.result()
        assert read_head(old, kb.id) == before


async def follow_under_writers(field: Field, writes: int) -> list[tuple[Key, Follower]]:
    kb = field.kb
    readers = [(key, kb.token("user:reader", key.held, key.grants)) for key in KEYS]
    followers = [
        (key, Follower(field.urls, kb.slug, token, number))
        for number in range(READERS)
        for key, token in [readers[number % len(readers)]]
    ]
    tasks = [asyncio.create_task(follower.follow()) for _, follower in followers]
    writing = [asyncio.to_thread(field.write, writer, writes) for writer in range(WRITERS)]
    try:
        await asyncio.gather(*writing)
        field.find_scope_pages()
        goals = [field.expected(key)[-1] for key, _ in followers]
        waiting = settled([follower for _, follower in followers], goals, SEEN_SECONDS_MAX)
        # A follower that fails is told of at once.
        done, _ = await asyncio.wait(
            [asyncio.create_task(waiting), *tasks], return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return followers


def check_followers(field: Field, writes: int) -> None:
    with obstructed(field.kb):
        followers = asyncio.run(follow_under_writers(field, writes))
    for key, follower in followers:
        assert follower.positions == field.expected(key)
    assert all(field.expected(key) for key in KEYS)
    assert sum(follower.streams for _, follower in followers) > 2 * READERS
    # The list of events says the same.
    for key in KEYS:
        token = field.kb.token("user:lister", key.held, key.grants)
        with closing(Client(field.urls[-1], field.kb.slug, token)) as client:
            assert [event.position for event in client.events()] == field.expected(key)


HOW_MANY = pytest.mark.parametrize(
    "writes", [WRITES, pytest.param(SOAK_WRITES, marks=pytest.mark.soak)]
)


@HOW_MANY
def test_readers_that_are_cut_off_see_everything_once(database_url: str, writes: int) -> None:
    with field_of(database_url) as field:
        check_followers(field, writes)


@on_postgresql
@HOW_MANY
def test_with_notices_dropped_as_well(database_url: str, writes: int) -> None:
    with field_of(database_url, has_notices=False) as field:
        check_followers(field, writes)


# --- memory ---------------------------------------------------------------------------------

DEAF_READERS = 20
EVENTS = 6_000
SOAK_EVENTS = 40_000
GROWTH_BYTES_MAX = 30 * 1024 * 1024
EVENTS_PER_COMMIT = 500


def resident_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def write_many(client: Client, page: str, events: int) -> None:
    for start in range(0, events, EVENTS_PER_COMMIT):
        operations = [
            {
                "op": "edit",
                "page": page,
                "expectedVersion": "any",
                "description": f"{start + number} ".ljust(390, "d"),
            }
            for number in range(EVENTS_PER_COMMIT)
        ]
        assert client.commit(*operations).status == 201


def deaf_reader(url: str, slug: str, token: str) -> socket.socket:
    """A reader that asks for all events and takes none of them."""
    address = urlsplit(url)
    assert address.hostname is not None
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    deaf.connect((address.hostname, address.port or 80))
    request = (
        f"GET {PREFIX}/{slug}/events/stream?after=0 HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    )
    deaf.sendall(request.encode())
    return deaf


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("events", [EVENTS, pytest.param(SOAK_EVENTS, marks=pytest.mark.soak)])
def test_readers_that_take_nothing_cost_no_memory(database_url: str, events: int) -> None:
    """What is kept for one of them is a part of the feed, however much there is to be said."""
    with (
        field_of(database_url) as field,
        field.client(0, "user:ana") as client,
        ExitStack() as stack,
    ):
        page = client.made("page").id
        # What a write of this size takes is taken.
        write_many(client, page, events)
        token = client.token
        before = resident_bytes(field.servers[0].process.pid)
        listed = client.ask("GET", "/events", limit=1, after=events // 2)
        event_bytes = len(listed.raw) - 100
        assert DEAF_READERS * events * event_bytes > GROWTH_BYTES_MAX, "too few to tell"
        for _ in range(DEAF_READERS):
            stack.enter_context(deaf_reader(field.urls[0], field.kb.slug, token))
        grown = 0
        for _ in range(3):
            write_many(client, page, events // 3)
            grown = max(grown, resident_bytes(field.servers[0].process.pid) - before)
            time.sleep(0.3)
        assert grown < GROWTH_BYTES_MAX, f"{grown / 1024 / 1024:.0f} MiB"
        # A reader that listens is not kept from anything.
        assert client.events(after=2 * events)[-1].position == len(field.kb.log())
