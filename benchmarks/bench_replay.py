"""Replaying: our rows read and decoded, against `eventsourcing` reading as many events of the
same shape by its default mapper; rebuilding in batches, against a transaction for each event.

The whole of `rebuild` and of `verify` are timed once, at the end.
"""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from api.wiring import Services, open_services
from benchmarks.library import Library
from benchmarks.measuring import (
    in_turns,
    middle,
    ratio,
    report,
    seconds,
    significant,
    sizes_and_passes,
)
from benchmarks.stores import CACHE, Store, copy_of, store_of
from kbstore.domain.events import Event, PageCreated
from kbstore.store.heads import read_head
from kbstore.store.texts import TextReader
from projections.log import read_commits, read_events
from projections.rebuild import rebuild
from projections.replay import COMMITS_PER_BATCH, replay
from projections.verify import verify

EVENTS_MAX = 20_000
SINGLES = 4
"""In the time that one commit takes on the slow side, the fast one is given so many."""


class Log:
    """The page events at the start of a store's log, and the same events in the library's."""

    def __init__(self, store: Store, services: Services, library: Library) -> None:
        self._reader = services.database.reader()
        self._kb_id = store.kb_id
        self._library = library
        head = read_head(self._reader, store.kb_id)
        assert head is not None
        self._end = head.position
        # What comes before pages is the knowledge base and its configuration.
        first = next(event for event in self._events(1) if isinstance(event, PageCreated))
        self._first = self._position_of(first)
        self.count = min(EVENTS_MAX, self._end - self._first + 1)
        library.write(islice(self._events(self._first), self.count))

    def ours(self) -> float:
        started = time.perf_counter()
        last = self._first + self.count - 1
        for stored in read_events(self._reader, self._kb_id, self._first, last):
            stored.decode()
        return self.count / (time.perf_counter() - started)

    def theirs(self) -> float:
        started = time.perf_counter()
        assert self._library.replay() == self.count
        return self.count / (time.perf_counter() - started)

    def _events(self, first: int) -> Iterator[Event]:
        for stored in read_events(self._reader, self._kb_id, first, self._end):
            yield stored.decode()

    def _position_of(self, event: Event) -> int:
        stored = read_events(self._reader, self._kb_id, 1, self._end)
        return next(each.position for each in stored if each.originator_id == event.originator_id)


class Projecting:
    """A generation filled from the start of the log on, now one way and now the other."""

    def __init__(self, store: Store, services: Services, passes: int) -> None:
        self._projections = services.projections
        self._connection = services.database.connect()
        self._kb_id = store.kb_id
        head = read_head(self._connection, store.kb_id)
        assert head is not None
        self._generation = head.generation + 1
        self._done = 0
        self._stretch = min(COMMITS_PER_BATCH, head.revision // (2 * passes))

    def in_batches(self) -> float:
        first, last = self._next(self._stretch)
        started = time.perf_counter()
        replay(
            self._connection,
            self._kb_id,
            self._connection,
            self._generation,
            self._projections,
            first,
            last,
        )
        return (last - first + 1) / (time.perf_counter() - started)

    def one_by_one(self) -> float:
        first, last = self._next(self._stretch // SINGLES)
        texts = TextReader(self._connection, self._kb_id)
        started = time.perf_counter()
        commits = list(read_commits(self._connection, self._kb_id, first, last))
        end = commits[-1].first_position + commits[-1].event_count - 1
        events = list(read_events(self._connection, self._kb_id, commits[0].first_position, end))
        stored = iter(events)
        for commit in commits:
            for position, event in enumerate(
                islice(stored, commit.event_count), start=commit.first_position
            ):
                self._connection.begin_write()
                self._projections.apply(
                    self._connection, self._generation, commit, position, [event.decode()], texts
                )
                self._connection.commit()
        return len(events) / (time.perf_counter() - started)

    def _next(self, commits: int) -> tuple[int, int]:
        first = self._done + 1
        self._done += commits
        return first, self._done


def measure(pages: int, passes: int) -> None:
    with (
        copy_of(store_of(pages)) as store,
        TemporaryDirectory(dir=CACHE) as folder,
        open_services(store.url) as services,
    ):
        library = Library(Path(folder) / "library.db")
        log = Log(store, services, library)
        projecting = Projecting(store, services, passes)
        rates = in_turns(
            passes,
            {
                "replay": log.ours,
                "replay_library": log.theirs,
                "rebuild": projecting.in_batches,
                "one_by_one": projecting.one_by_one,
            },
        )
        library.close()
        rebuild_seconds, verify_seconds = _whole(store, services)
    report(
        "replay",
        pages,
        events=log.count,
        per_second=middle(rates),
        replay_ratio_to_library=ratio(rates, "replay", "replay_library"),
        rebuild_ratio_to_one_by_one=ratio(rates, "rebuild", "one_by_one"),
        rebuild_seconds=rebuild_seconds,
        verify_seconds=verify_seconds,
        targets={"replay": 4, "rebuild": 4},
    )


def _whole(store: Store, services: Services) -> tuple[float, float]:
    """How long `rebuild` and `verify` take over the whole store."""
    database, projections = services.database, services.projections

    def check() -> None:
        found = verify(database, store.kb_id, projections)
        assert not found.failed, found.failures

    rebuilding = seconds(lambda: rebuild(database, store.kb_id, projections))
    return significant(rebuilding), significant(seconds(check))


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
