"""How long until a server on an existing store answers `/health/ready`, from the start of its
process; beside it the server of a single route, which has the same libraries to load. And how
long the first search takes, where the index begins with checkpoints and where it has to be made
of all rows; how long those take to be written, and how long one of them locks a file."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from statistics import median

from api.wiring import open_services
from benchmarks.measuring import in_turns, report, seconds, significant, sizes_and_passes
from benchmarks.processes import free_port, plain_command, serve_command, start_seconds
from benchmarks.stores import Store, copy_of, store_of
from kbstore.access import Caller
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import read_head
from projections.lexical.checkpointing import keep_checkpoints
from projections.lexical.checkpoints import PIECE_BYTES_IN_FILE, delete_checkpoints
from projections.lexical.index import Deadline, Index
from projections.lexical.kept import forget_indexes
from projections.pace import pace_of
from projections.read.search import search
from projections.snapshot import open_snapshot

BUILD_SECONDS_MAX = 3_600.0
READER = Caller(principal="service:bench", grants=frozenset({"auditor"}))
QUERY = "in"


def measure(pages: int, passes: int) -> None:
    store = store_of(pages)

    def ours() -> float:
        port = free_port()
        return start_seconds(serve_command(store, port), port, "/health/ready")

    def plain() -> float:
        port = free_port()
        return start_seconds(plain_command(port), port, "/page")

    taken = in_turns(passes, {"ready": ours, "plain": plain})
    with copy_of(store) as copied:
        first_search = _first_search(copied, passes)
    report(
        "start",
        pages,
        seconds={side: significant(median(each)) for side, each in taken.items()},
        slowest_seconds=significant(max(taken["ready"])),
        first_search=first_search,
        targets={"ready_seconds": 2},
    )


def _first_search(store: Store, passes: int) -> dict[str, object]:
    with open_services(store.url) as services, closing(services.database.connect()) as target:
        database = services.database
        head = read_head(target, store.kb_id)
        assert head is not None
        pace = pace_of(database)
        delete_checkpoints(target, store.kb_id, head.generation, pace)

        def from_rows() -> None:
            with _reading(database) as source:
                Index(is_of_rows=True).view(source, head, Deadline(BUILD_SECONDS_MAX))

        def write() -> None:
            with closing(database.connect_reader()) as source:
                keep_checkpoints(
                    source, target, store.kb_id, head.generation, pace, PIECE_BYTES_IN_FILE
                )

        def search_first() -> None:
            forget_indexes()
            with _reading(database) as source:
                search(open_snapshot(source, store.kb_id, READER), QUERY, None, 10)

        rows = seconds(from_rows)
        held: list[float] = []
        _watch(target, held)
        written = seconds(write)
        loaded = [seconds(search_first) for _ in range(passes)]
    held.sort()
    return {
        "seconds_from_rows": significant(rows),
        "seconds_from_checkpoints": significant(median(loaded)),
        "seconds_to_write": significant(written),
        "transactions": len(held),
        "milliseconds_held_p50_p95": [
            significant(1_000 * held[len(held) * share // 100]) for share in (50, 95)
        ],
    }


@contextmanager
def _reading(database: Database) -> Iterator[Connection]:
    with closing(database.connect_reader()) as source, source.reading():
        yield source


def _watch(connection: Connection, held: list[float]) -> None:
    """Notes how long each transaction that writes holds the lock."""
    begin, commit = connection.begin_write, connection.commit
    begun = 0.0

    def begin_write(*, is_pipelined: bool = False) -> None:
        nonlocal begun
        begin(is_pipelined=is_pipelined)
        begun = time.perf_counter()

    def commit_write() -> None:
        commit()
        held.append(time.perf_counter() - begun)

    connection.begin_write = begin_write  # type: ignore[method-assign]
    connection.commit = commit_write  # type: ignore[method-assign]


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
