"""A hundred children listed over HTTP, now and as of the first of ten versions; no cache."""

from benchmarks.client import repeated
from benchmarks.measuring import in_turns, middle, ratio, report, sizes_and_passes
from benchmarks.serving import serving
from benchmarks.stores import SECTION_PAGES, store_of

REQUESTS = 160


def measure(pages: int, passes: int) -> None:
    store = store_of(pages)
    with serving(store, cached=False) as server:
        sections = store.sections[: pages // SECTION_PAGES]
        paths = [server.path(f"pages/{page}/children?limit={SECTION_PAGES}") for page in sections]
        current = repeated(paths, REQUESTS)
        as_of = [f"{path}&revision={store.revisions[0]}" for path in current]
        server.get(current)
        rates = in_turns(
            passes,
            {"current": lambda: server.rate(current), "as_of": lambda: server.rate(as_of)},
        )
    report(
        "children",
        pages,
        children=SECTION_PAGES,
        per_second=middle(rates),
        time_as_of_to_current=ratio(rates, "current", "as_of"),
        targets={"time_as_of_to_current": 2.0},
    )


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
