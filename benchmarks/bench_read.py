"""Pages read by id over HTTP: 4 KiB bodies, 16 connections, the server a process of its own.

Cold: a server that has just started, every request another page. Kept: the same pages again,
from the answers the server keeps. The baseline is a plain Litestar application whose only
route returns a Struct of that size. Pages with ten versions, their bodies about 2.4 KB, are
read as they are now and as of old revisions, both cold.
"""

import random
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from uuid import UUID

from benchmarks.large import enlarge
from benchmarks.load import Load, get_request, run_load
from benchmarks.measuring import in_turns, middle, ratio, report, significant, sizes_and_passes
from benchmarks.processes import plainly_served, served
from benchmarks.stores import Store, copy_of, store_of

REQUESTS_MAX = 4_000
WARM_UP_REQUESTS = 64
"""Enough to open what a server keeps for all pages."""


class Reads:
    """The sides; a pass of ours is a fresh server that is asked for every page once a side."""

    def __init__(self, store: Store, plain_port: int) -> None:
        self._store = store
        self._plain_port = plain_port
        shuffled = random.Random(1).sample(store.pages, len(store.pages))
        share = min((len(shuffled) - WARM_UP_REQUESTS) // 3, REQUESTS_MAX)
        ends = [WARM_UP_REQUESTS + share * part for part in range(4)]
        self._warm_up = shuffled[:WARM_UP_REQUESTS]
        self.large, self._now, self._then = (shuffled[start:end] for start, end in pairwise(ends))
        self.loads: dict[str, list[Load]] = {}

    def plain(self) -> float:
        return self._load("plain", self._plain_port, [get_request("/page")] * len(self.large))

    def ours(self) -> float:
        """The rate of cold reads; `loads` has the other sides as well."""
        # The first read of a page finds nothing of it in memory, whichever side that is.
        self._now, self._then = self._then, self._now
        old = self._store.revisions[:-1]
        with served(self._store) as server:
            run_load(server.port, self._requests(self._warm_up))
            run_load(server.port, self._requests(self._warm_up, old))
            cold = self._load("cold", server.port, self._requests(self.large))
            self._load("kept", server.port, self._requests(self.large))
            self._load("current", server.port, self._requests(self._now))
            self._load("as_of", server.port, self._requests(self._then, old))
        return cold

    def rates(self) -> dict[str, list[float]]:
        return {name: [load.per_second for load in loads] for name, loads in self.loads.items()}

    def milliseconds(self, percent: int) -> dict[str, float]:
        return {
            name: significant(median(load.percentile(percent) for load in loads))
            for name, loads in self.loads.items()
        }

    def _requests(self, pages: Sequence[UUID], revisions: Sequence[int] = ()) -> list[bytes]:
        """Reads of these pages as they are now, or each as of one of the revisions."""
        base = f"/openapi/v2/knowledge-bases/{self._store.kb_id}/pages"
        paths = [f"{base}/{page}" for page in pages]
        if revisions:
            paths = [
                f"{path}?revision={revisions[number % len(revisions)]}"
                for number, path in enumerate(paths)
            ]
        return [get_request(path, self._store.key) for path in paths]

    def _load(self, name: str, port: int, requests: Sequence[bytes]) -> float:
        load = run_load(port, requests)
        self.loads.setdefault(name, []).append(load)
        return load.per_second


def measure(pages: int, passes: int) -> None:
    with copy_of(store_of(pages)) as store, plainly_served() as plain:
        reads = Reads(store, plain.port)
        enlarge(store, reads.large)
        run_load(plain.port, [get_request("/page")] * WARM_UP_REQUESTS)
        in_turns(passes, {"plain": reads.plain, "ours": reads.ours})
    rates = reads.rates()
    report(
        "read",
        pages,
        per_second=middle(rates),
        ratio_to_plain={side: ratio(rates, side, "plain") for side in ("cold", "kept")},
        as_of_ratio_to_current=ratio(rates, "as_of", "current"),
        p50_ms=reads.milliseconds(50),
        p95_ms=reads.milliseconds(95),
        targets={"cold": 0.5, "kept": 0.7, "as_of": 0.8},
    )


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
