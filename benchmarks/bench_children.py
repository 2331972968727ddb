"""A list of 100 children: as it is now, against as of an old revision, with ten versions a page.

Over HTTP, 16 connections, and at the query alone. Every request differs in a parameter that
changes nothing, so that none is answered from the answers the server keeps.
"""

import itertools
import random
import time
from collections.abc import Sequence
from uuid import UUID

from api.wiring import open_database
from benchmarks.load import get_request, run_load
from benchmarks.measuring import in_turns, middle, ratio, report, significant, sizes_and_passes
from benchmarks.processes import served
from benchmarks.stores import CALLER, SECTION_PAGES, Store, store_of
from projections.read.children import children
from projections.snapshot import open_snapshot

REQUESTS = 300
WARM_UP_REQUESTS = 32


class Lists:
    """The four sides: now and as of, over HTTP and at the query."""

    def __init__(self, store: Store, port: int) -> None:
        self._store = store
        self._port = port
        self._numbers = itertools.count(1)
        self._random = random.Random(1)
        self._reader = open_database(store.url).reader()

    def http(self, revisions: Sequence[int | None], count: int = REQUESTS) -> float:
        return run_load(self._port, [self._request(revisions) for _ in range(count)]).per_second

    def query(self, revisions: Sequence[int | None]) -> float:
        asked = [(self._section(), self._random.choice(revisions)) for _ in range(REQUESTS)]
        started = time.perf_counter()
        for section, revision in asked:
            with self._reader.reading():
                snapshot = open_snapshot(self._reader, self._store.kb_id, CALLER, revision)
                found = children(snapshot, section, None, SECTION_PAGES)
            assert len(found.items) == SECTION_PAGES
        return len(asked) / (time.perf_counter() - started)

    def _request(self, revisions: Sequence[int | None]) -> bytes:
        parameters = f"limit={SECTION_PAGES}&minRevision={next(self._numbers)}"
        revision = self._random.choice(revisions)
        if revision is not None:
            parameters += f"&revision={revision}"
        base = f"/openapi/v2/knowledge-bases/{self._store.kb_id}/pages"
        return get_request(f"{base}/{self._section()}/children?{parameters}", self._store.key)

    def _section(self) -> UUID:
        return self._random.choice(self._store.sections)


def measure(pages: int, passes: int) -> None:
    store = store_of(pages)
    now, then = (None,), store.revisions[:-1]
    with served(store) as server:
        lists = Lists(store, server.port)
        for revisions in (now, then):
            lists.http(revisions, WARM_UP_REQUESTS)
        rates = in_turns(
            passes,
            {
                "http_current": lambda: lists.http(now),
                "http_as_of": lambda: lists.http(then),
                "query_current": lambda: lists.query(now),
                "query_as_of": lambda: lists.query(then),
            },
        )
    middles = middle(rates)
    report(
        "children",
        pages,
        per_second=middles,
        ms_at_the_query={
            side: significant(1_000 / middles[f"query_{side}"]) for side in ("current", "as_of")
        },
        time_as_of_to_current={
            where: ratio(rates, f"{where}_current", f"{where}_as_of") for where in ("http", "query")
        },
        targets={"time_as_of_to_current": 2},
    )


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
