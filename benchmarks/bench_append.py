"""Appends through the command service, against sqlite3 inserting the same events by itself.

One writer waits for each commit; eight writers, coroutines of one event loop as in the server,
keep eight commands in flight. Both sides have full durability, and once more every commit
slowed by 2 ms, as a disk with a slower fsync would. Half the commands create a page, half edit
one, their texts prepared beforehand; all inline projections are written.
"""

import asyncio
import itertools
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

import uvloop

from api.wiring import Services, open_services
from benchmarks.measuring import (
    forget_garbage,
    in_turns,
    middle,
    ratio,
    report,
    significant,
    sizes_and_passes,
)
from benchmarks.stores import SCOPE, Bodies, Store, copy_of, page_name, request, store_of
from kbstore.domain.commands import ANY_VERSION, Command, CreatePage, EditPage
from kbstore.service import CommandRequest
from kbstore.store.connection import Connection
from kbstore.store.postgresql import PostgresConnection
from kbstore.store.sqlite import SqliteConnection
from kbstore.texts import inflate, prepare_text

COMMANDS = 800
SLOW_COMMANDS = 80
WARM_UP_COMMANDS = 1_600
WRITERS = 8
SLOW_FSYNC_SECONDS = 0.002
TARGETS = {"one_writer": 0.35, "eight_writers": 0.3}


class Commits:
    """Counts the commits of the service and, if told to, slows each one down."""

    def __init__(self) -> None:
        self.count = 0
        self.slow_seconds = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        kinds: tuple[type[Connection], ...] = (SqliteConnection, PostgresConnection)
        with ExitStack() as patches:
            for kind in kinds:
                commit: Callable[[Connection], None] = vars(kind)["commit"]
                setattr(kind, "commit", self._counted(commit))  # noqa: B010
                patches.callback(setattr, kind, "commit", commit)
            yield

    def _counted(self, commit: Callable[[Connection], None]) -> Callable[[Connection], None]:
        def counted(connection: Connection) -> None:
            commit(connection)
            self.count += 1
            self.pause()

        return counted

    def pause(self) -> None:
        if self.slow_seconds:
            time.sleep(self.slow_seconds)

    @contextmanager
    def slowed(self) -> Iterator[None]:
        self.slow_seconds = SLOW_FSYNC_SECONDS
        try:
            yield
        finally:
            self.slow_seconds = 0.0


class Commands:
    """New pages and edits in turns, made before they are measured."""

    def __init__(self, services: Services, store: Store, part: int = 0) -> None:
        self._ids = services.commands.ids
        self._store = store
        self._numbers = itertools.count()
        # Two processes that write to one store make other keys, and so do two runs.
        self._mark = f"{part}-{time.time_ns()}"
        self._random = random.Random(1)
        self._bodies = Bodies(services, 1, [page_name(n) for n in range(len(store.pages))])
        # In turns: two writers at once never edit the same page.
        self._edited = itertools.cycle(self._random.sample(store.pages, len(store.pages)))

    def take(self, count: int) -> list[CommandRequest]:
        return [request(self._store.kb_id, self._next()) for _ in range(count)]

    def _next(self) -> Command:
        number = next(self._numbers)
        if number % 2:
            page = next(self._edited)
            return EditPage(page=page, expected_version=ANY_VERSION, body=self._bodies.take())
        return CreatePage(
            scope=SCOPE,
            parent=self._random.choice(self._store.sections),
            key=f"new-{self._mark}-{number}",
            name=prepare_text(f"New page {number}", self._ids),
            body=self._bodies.take(),
        )


class Service:
    """Our side: commands through the command service."""

    def __init__(self, services: Services, commands: Commands, commits: Commits) -> None:
        self._execute = services.commands.execute
        self._commands = commands
        self._commits = commits
        self.batches: list[float] = []

    def one_writer(self, count: int) -> float:
        commands = self._commands.take(count)
        started = time.perf_counter()
        for command in commands:
            self._execute(command).result()
        return count / (time.perf_counter() - started)

    def many_writers(self, count: int) -> float:
        shares = [self._commands.take(count // WRITERS) for _ in range(WRITERS)]

        async def writer(commands: Sequence[CommandRequest]) -> None:
            for command in commands:
                await asyncio.wrap_future(self._execute(command))

        async def together() -> None:
            await asyncio.gather(*(writer(share) for share in shares))

        before = self._commits.count
        started = time.perf_counter()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(together())
        rate = count / (time.perf_counter() - started)
        self.batches.append(count / (self._commits.count - before))
        return rate


class Raw:
    """The baseline: sqlite3 inserting the newest events of the store, each with its whole text,
    into one table that holds the store's log already."""

    _TABLE = """
        CREATE TABLE events (
            kb_id BLOB NOT NULL,
            position INTEGER NOT NULL,
            originator_id BLOB NOT NULL,
            originator_version INTEGER NOT NULL,
            topic TEXT NOT NULL,
            payload BLOB NOT NULL,
            PRIMARY KEY (kb_id, position),
            UNIQUE (kb_id, originator_id, originator_version)
        )
    """

    def __init__(self, store: Store, commits: Commits) -> None:
        self._store = store
        self._commits = commits
        self._connection = sqlite3.connect(f"{store.database}.raw", isolation_level=None)
        execute = self._connection.execute
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute(self._TABLE)
        execute("ATTACH ? AS store", (store.database,))
        execute("INSERT INTO main.events SELECT * FROM store.events")
        execute("DETACH store")
        # Far above every position and version of the store.
        self._numbers = itertools.count(1 << 40)

    def close(self) -> None:
        self._connection.close()

    def insert(self, count: int, batch: int) -> float:
        rows = self._rows(count)
        execute = self._connection.execute
        started = time.perf_counter()
        for first in range(0, count, batch):
            execute("BEGIN IMMEDIATE")
            for row in rows[first : first + batch]:
                execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", row)
            execute("COMMIT")
            self._commits.pause()
        return count / (time.perf_counter() - started)

    def _rows(self, count: int) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self._store.database)) as connection:
            events = connection.execute(
                "SELECT kb_id, originator_id, topic, payload FROM events"
                " ORDER BY position DESC LIMIT ?",
                (count,),
            ).fetchall()
            texts = connection.execute(
                "SELECT data, deflated FROM texts WHERE deflated ORDER BY rowid DESC LIMIT ?",
                (count,),
            ).fetchall()
        return [
            (
                kb_id,
                next(self._numbers),
                originator_id,
                next(self._numbers),
                topic,
                payload + inflate(*text),
            )
            for (kb_id, originator_id, topic, payload), text in zip(events, texts, strict=True)
        ]


def measure(pages: int, passes: int) -> None:
    commits = Commits()
    with (
        copy_of(store_of(pages)) as store,
        commits.watched(),
        open_services(store.url) as services,
    ):
        ours = Service(services, Commands(services, store), commits)
        # Both write-ahead logs grow to the size at which they are used again.
        ours.one_writer(WARM_UP_COMMANDS)
        ours.many_writers(WARM_UP_COMMANDS)
        with closing(Raw(store, commits)) as raw:
            raw.insert(WARM_UP_COMMANDS, 1)
            forget_garbage()
            figures = _compare(ours, raw, passes, COMMANDS)
            with commits.slowed():
                slow = _compare(ours, raw, passes, SLOW_COMMANDS)
    report("append", pages, **figures, fsync_2_ms_slower=slow, targets=TARGETS)


def _compare(ours: Service, raw: Raw, passes: int, count: int) -> dict[str, object]:
    ours.batches.clear()
    ours.many_writers(count)

    def raw_batched() -> float:
        return raw.insert(count, max(1, round(ours.batches[-1])))

    rates = in_turns(
        passes,
        {
            "one_writer": lambda: ours.one_writer(count),
            "raw": lambda: raw.insert(count, 1),
            "eight_writers": lambda: ours.many_writers(count),
            "raw_batched": raw_batched,
        },
    )
    return {
        "per_second": middle(rates),
        "ratio_to_raw": {
            "one_writer": ratio(rates, "one_writer", "raw"),
            "eight_writers": ratio(rates, "eight_writers", "raw_batched"),
        },
        "commands_a_commit": significant(sum(ours.batches) / len(ours.batches)),
        "gain_of_eight_writers": ratio(rates, "eight_writers", "one_writer"),
    }


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
