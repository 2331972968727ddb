"""PostgreSQL beside SQLite, in one run: appends, reads over HTTP, and events on their way.

A server of its own, with full durability, listens on a socket. Writers keep a command each in
flight. The sides with two processes start them together and count from there to the later end.
A stream's latency is the time from `committedAt` to the arrival of the event at a reader, with
the write sent to the same process or to another one.
"""

import http.client
import json
import multiprocessing
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.synchronize import Barrier
from uuid import UUID

from api.wiring import Services, locate_database, open_services
from benchmarks.bench_append import Commands, Commits, Service
from benchmarks.load import get_request, run_load
from benchmarks.measuring import in_turns, middle, ratio, report, significant, sizes_and_passes
from benchmarks.processes import HOST, Served, served
from benchmarks.stores import Store, build_store, copy_of, store_of
from kbstore.clock import parse_time
from kbstore.store.postgresql import PostgresConnection
from tests.backends import PostgresServer, postgres_server

COMMANDS = 400
WARM_UP_COMMANDS = 400
READS = 1_000
EVENTS = 200
TARGETS = {"pipeline": 1.5, "two_kbs_two_processes": 1.0, "one_kb_two_processes": 0.8}

Side = Callable[[], float]


class Writing:
    """A process's side of the appends: its service, and half of a store's pages or all."""

    def __init__(self, stack: ExitStack, store: Store, part: int = 0, parts: int = 1) -> None:
        own = store.pages[part::parts]
        commits = Commits()
        stack.enter_context(commits.watched())
        services: Services = stack.enter_context(open_services(store.url))
        shared = Store(
            database=store.database,
            kb_id=store.kb_id,
            key=store.key,
            sections=store.sections,
            pages=own,
            revisions=store.revisions,
        )
        self._service = Service(services, Commands(services, shared, part), commits)

    def one_writer(self) -> float:
        return self._service.one_writer(COMMANDS)

    def eight_writers(self) -> float:
        return self._service.many_writers(COMMANDS)

    def statement_by_statement(self) -> float:
        """Each statement waits for the server's answer."""
        begin = PostgresConnection.begin_write

        def begin_plainly(connection: PostgresConnection, *, is_pipelined: bool = False) -> None:
            begin(connection, is_pipelined=False)

        setattr(PostgresConnection, "begin_write", begin_plainly)  # noqa: B010
        try:
            return self.eight_writers()
        finally:
            setattr(PostgresConnection, "begin_write", begin)  # noqa: B010


def write_together(stores: Sequence[Store], parts: int) -> float:
    """Commands a second of one process for each store, eight writers in each."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(stores) + 1)
    processes = [
        context.Process(target=_write_alone, args=(store, part if parts > 1 else 0, parts, barrier))
        for part, store in enumerate(stores)
    ]
    for process in processes:
        process.start()
    barrier.wait()
    started = time.perf_counter()
    barrier.wait()
    elapsed = time.perf_counter() - started
    for process in processes:
        process.join()
        assert process.exitcode == 0
    return len(stores) * COMMANDS / elapsed


def _write_alone(store: Store, part: int, parts: int, barrier: Barrier) -> None:
    with ExitStack() as stack:
        writing = Writing(stack, store, part, parts)
        writing.eight_writers()
        barrier.wait()
        writing.eight_writers()
        barrier.wait()


class Reading:
    """Cold reads of pages from a server that has just started, then of old revisions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.rates: dict[str, list[float]] = {"current": [], "as_of": []}

    def run(self) -> float:
        pages = random.Random(len(self.rates["current"])).sample(
            self._store.pages, min(READS, len(self._store.pages))
        )
        with served(self._store) as server:
            self._load("current", server, pages, ())
            self._load("as_of", server, pages[::-1], self._store.revisions[:-1])
        return self.rates["current"][-1]

    def _load(
        self, name: str, server: Served, pages: Sequence[UUID], revisions: Sequence[int]
    ) -> None:
        base = f"/openapi/v2/knowledge-bases/{self._store.kb_id}/pages"
        requests = [
            get_request(
                f"{base}/{page}"
                + (f"?revision={revisions[number % len(revisions)]}" if revisions else ""),
                self._store.key,
            )
            for number, page in enumerate(pages)
        ]
        self.rates[name].append(run_load(server.port, requests).per_second)


def stream_latency(store: Store, reader: Served, writer: Served) -> dict[str, float]:
    """Milliseconds from commit to reader, p50 and p99, of edits one after the other."""
    base = f"/openapi/v2/knowledge-bases/{store.kb_id}"
    headers = {"Authorization": f"Bearer {store.key}"}
    arrived: list[float] = []
    ready = threading.Event()

    def follow() -> None:
        connection = http.client.HTTPConnection(HOST, reader.port)
        connection.request("GET", f"{base}/events/stream", headers=headers)
        answer = connection.getresponse()
        while len(arrived) < EVENTS:
            line = answer.fp.readline()
            if line.startswith(b"id:"):
                ready.set()
            if line.startswith(b"data:"):
                now = time.time()
                at = parse_time(json.loads(line[5:])["at"], "at") / 1_000_000
                arrived.append((now - at) * 1_000)
        connection.close()

    following = threading.Thread(target=follow)
    following.start()
    ready.wait()
    connection = http.client.HTTPConnection(HOST, writer.port)
    for number in range(EVENTS):
        page = store.pages[number % len(store.pages)]
        body = json.dumps({"name": f"Renamed {time.time_ns()}"})
        edit = {**headers, "If-Match": "*", "Content-Type": "application/json"}
        connection.request("PATCH", f"{base}/pages/{page}", body=body, headers=edit)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        # Apart, so that no notice is saved by the one before.
        time.sleep(0.03)
    connection.close()
    following.join()
    ordered = sorted(arrived)
    return {
        "p50_ms": significant(ordered[len(ordered) // 2]),
        "p99_ms": significant(ordered[len(ordered) * 99 // 100]),
    }


@contextmanager
def _stores(server: PostgresServer, pages: int) -> Iterator[tuple[Store, Store]]:
    """Two knowledge bases in one database of the server."""
    url = server.new_database(is_migrated=False)
    database = locate_database(url)
    database.migrate()
    database.close()
    yield build_store(url, pages), build_store(url, pages, "other")


def measure(pages: int, passes: int) -> None:
    with (
        postgres_server(is_durable=True) as server,
        _stores(server, pages) as (store, other),
        copy_of(store_of(pages)) as file,
        ExitStack() as stack,
    ):
        ours, sqlite = Writing(stack, store), Writing(stack, file)
        for side in (ours, sqlite):
            side.eight_writers()
        sides: dict[str, Side] = {
            "one_writer": ours.one_writer,
            "eight_writers": ours.eight_writers,
            "statement_by_statement": ours.statement_by_statement,
            "sqlite_one_writer": sqlite.one_writer,
            "sqlite_eight_writers": sqlite.eight_writers,
            "one_kb_one_process": lambda: write_together([store], 1),
            "two_kbs_two_processes": lambda: write_together([store, other], 1),
            "one_kb_two_processes": lambda: write_together([store, store], 2),
        }
        appends = in_turns(passes, sides)
        stack.close()
        reading = {"postgresql": Reading(store), "sqlite": Reading(file)}
        in_turns(passes, {name: each.run for name, each in reading.items()})
        with served(store) as one, served(store) as two:
            latency = {
                "same_process": stream_latency(store, one, one),
                "other_process": stream_latency(store, one, two),
            }
        with served(file) as one:
            latency["sqlite"] = stream_latency(file, one, one)
    rates = {name: each.rates for name, each in reading.items()}
    report(
        "postgresql",
        pages,
        appends_per_second=middle(appends),
        ratios={
            "pipeline": ratio(appends, "eight_writers", "statement_by_statement"),
            "two_kbs_two_processes": ratio(appends, "two_kbs_two_processes", "one_kb_one_process"),
            "one_kb_two_processes": ratio(appends, "one_kb_two_processes", "one_kb_one_process"),
            "gain_of_eight_writers": ratio(appends, "eight_writers", "one_writer"),
            "one_writer_to_sqlite": ratio(appends, "one_writer", "sqlite_one_writer"),
            "eight_writers_to_sqlite": ratio(appends, "eight_writers", "sqlite_eight_writers"),
        },
        reads_per_second={name: middle(each) for name, each in rates.items()},
        as_of_ratio_to_current=ratio(rates["postgresql"], "as_of", "current"),
        commit_to_reader=latency,
        targets=TARGETS,
    )


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
