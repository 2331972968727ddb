"""Pages read by id over HTTP, against a route of the same server that does next to nothing.

Cold means without the cache of answers; as of means at the first revision at which every page
was there, ten versions ago. A client in another process keeps 16 connections busy.
"""

import random

from benchmarks.client import repeated
from benchmarks.measuring import in_turns, middle, ratio, report, sizes_and_passes
from benchmarks.serving import TRIVIAL, serving
from benchmarks.stores import store_of

REQUESTS = 3_000
PAGES_ASKED = 500
TARGETS = {"cold": 0.5, "cached": 0.7, "as_of_to_current": 0.8}


def measure(pages: int, passes: int) -> None:
    store = store_of(pages)
    asked = random.Random(1).sample(store.pages, min(PAGES_ASKED, pages))
    with serving(store, cached=False) as cold, serving(store, cached=True) as cached:
        current = repeated([cold.path(f"pages/{page}") for page in asked], REQUESTS)
        as_of = [f"{path}?revision={store.revisions[0]}" for path in current]
        trivial = [TRIVIAL] * REQUESTS
        for server in (cold, cached):
            server.get(trivial)
            server.get(current)
        rates = in_turns(
            passes,
            {
                "trivial": lambda: cold.rate(trivial),
                "cold": lambda: cold.rate(current),
                "as_of": lambda: cold.rate(as_of),
                "cached": lambda: cached.rate(current),
            },
        )
    report(
        "read",
        pages,
        per_second=middle(rates),
        ratio_to_trivial={
            "cold": ratio(rates, "cold", "trivial"),
            "cached": ratio(rates, "cached", "trivial"),
        },
        as_of_to_current=ratio(rates, "as_of", "cold"),
        targets=TARGETS,
    )


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
