"""What a store ten times as large costs: keyed reads, appends, and memory of the server.

`--pages 100000` compares 100,000 pages with 10,000. Reads are of random pages at the query,
their texts not kept from before; appends have one writer, as in `bench_append`; memory is what
the server process holds after reading 5,000 random pages over HTTP.
"""

import random
import time
from contextlib import ExitStack

from api.wiring import Services, open_services
from benchmarks.bench_append import Commands, Commits, Service
from benchmarks.load import get_request, run_load
from benchmarks.measuring import in_turns, middle, ratio, report, significant, sizes_and_passes
from benchmarks.processes import resident_bytes, served
from benchmarks.stores import CALLER, Store, copy_of, store_of
from projections.read.bodies import forget_texts
from projections.read.pages import page
from projections.snapshot import open_snapshot

GROWTH = 10
READS = 2_000
APPENDS = 400
WARM_UP_APPENDS = 1_600
PAGES_BEFORE_MEMORY = 5_000


class Growing:
    """One size: its store, open and warm."""

    def __init__(self, store: Store, services: Services) -> None:
        self._store = store
        self._reader = services.database.reader()
        self._random = random.Random(1)
        self._service = Service(services, Commands(services, store), Commits())
        self._service.one_writer(WARM_UP_APPENDS)

    def read(self) -> float:
        forget_texts()
        asked = self._random.choices(self._store.pages, k=READS)
        started = time.perf_counter()
        for page_id in asked:
            with self._reader.reading():
                page(open_snapshot(self._reader, self._store.kb_id, CALLER), page_id)
        return READS / (time.perf_counter() - started)

    def append(self) -> float:
        return self._service.one_writer(APPENDS)


def server_bytes(store: Store) -> int:
    """What a fresh server holds in memory after it read many pages."""
    pages = random.Random(2).choices(store.pages, k=PAGES_BEFORE_MEMORY)
    base = f"/openapi/v2/knowledge-bases/{store.kb_id}/pages"
    with served(store) as server:
        run_load(server.port, [get_request(f"{base}/{page}", store.key) for page in pages])
        return resident_bytes(server.process_id)


def measure(pages: int, passes: int) -> None:
    sizes = {"small": store_of(pages // GROWTH), "large": store_of(pages)}
    memory = {size: server_bytes(store) for size, store in sizes.items()}
    with ExitStack() as stack:
        growing = {}
        for size, store in sizes.items():
            copy = stack.enter_context(copy_of(store))
            growing[size] = Growing(copy, stack.enter_context(open_services(copy.url)))
        rates = in_turns(
            passes,
            {
                "read_small": growing["small"].read,
                "read_large": growing["large"].read,
                "append_small": growing["small"].append,
                "append_large": growing["large"].append,
            },
        )
    report(
        "growth",
        pages,
        small_pages=pages // GROWTH,
        per_second=middle(rates),
        time_large_to_small={
            what: ratio(rates, f"{what}_small", f"{what}_large") for what in ("read", "append")
        },
        resident_mib={size: significant(held / 2**20) for size, held in memory.items()},
        memory_large_to_small=significant(memory["large"] / memory["small"]),
        targets={"time_large_to_small": 1.3, "memory_large_to_small": 10},
    )


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
