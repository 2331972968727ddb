"""A rebuild beside a server that is written to: how long writes were held up.

Eight clients write to a server, first alone and then while `kbstore rebuild` runs in a process
of its own. The swap is the time that the rebuild held every writer up for; other waits are
those for one of its batches.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import msgspec
from msgspec import Struct

from benchmarks.measuring import report, significant, sizes_and_passes
from benchmarks.processes import HOST, ROOT, Served, served
from benchmarks.stores import SCOPE, Store, copy_of, store_of

WRITERS = 8
ALONE_SECONDS = 5


class Rebuilt(Struct, frozen=True, rename="camel"):
    """What `kbstore rebuild --json` says."""

    revision: int
    swap_ms: float
    swap_events: int


class Waits:
    """The milliseconds that each write took from the request to the answer."""

    def __init__(self) -> None:
        self._taken: list[float] = []
        self._ended = threading.Event()

    def write(self, number: int, port: int, key: str) -> None:
        """Creates pages one after the other until `end`."""
        connection = HTTPConnection(HOST, port, timeout=60)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        path = "/openapi/v2/knowledge-bases/bench/pages"
        body = msgspec.json.encode({"scope": SCOPE, "name": f"Writer {number}", "body": "new\n"})
        while not self._ended.is_set():
            started = time.perf_counter()
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 201, answer.status
            self._taken.append((time.perf_counter() - started) * 1_000)
        connection.close()

    def end(self) -> None:
        self._ended.set()

    def figures(self, seconds: float) -> dict[str, float]:
        ordered = sorted(self._taken)
        return {
            "per_second": significant(len(ordered) / seconds),
            "median_ms": significant(ordered[len(ordered) // 2]),
            "p99_ms": significant(ordered[len(ordered) * 99 // 100]),
            "longest_ms": significant(ordered[-1]),
        }


def measure(pages: int) -> None:
    with copy_of(store_of(pages)) as store, served(store) as server:
        alone, _ = _written(server, store, lambda: time.sleep(ALONE_SECONDS))
        built: list[Rebuilt] = []
        during, seconds = _written(server, store, lambda: built.append(_rebuild(store)))
    (rebuilt,) = built
    report(
        "live_rebuild",
        pages,
        writers=WRITERS,
        swap_ms=significant(rebuilt.swap_ms),
        swap_events=rebuilt.swap_events,
        longest_wait_ms=during["longest_ms"],
        rebuild_seconds=significant(seconds),
        commits=rebuilt.revision,
        writes_during=during,
        writes_alone=alone,
    )


def _written(
    server: Served, store: Store, work: Callable[[], object]
) -> tuple[dict[str, float], float]:
    """The figures of writing for as long as the work takes, and how many seconds that was."""
    waits = Waits()
    with ThreadPoolExecutor(WRITERS) as pool:
        writing = [
            pool.submit(waits.write, number, server.port, store.key) for number in range(WRITERS)
        ]
        started = time.perf_counter()
        try:
            work()
        finally:
            taken = time.perf_counter() - started
            waits.end()
        for each in writing:
            each.result()
    return waits.figures(taken), taken


def _rebuild(store: Store) -> Rebuilt:
    command = [sys.executable, "-m", "api.cli", "rebuild", "bench", "--json"]
    ended = subprocess.run(
        [*command, "--database", store.url],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return msgspec.json.decode(ended.stdout, type=Rebuilt)


def main() -> None:
    sizes, _ = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages)


if __name__ == "__main__":
    main()
