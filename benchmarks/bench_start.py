"""How long until a server on an existing store answers `/health/ready`, from the start of its
process; beside it the server of a single route, which has the same libraries to load."""

from statistics import median

from benchmarks.measuring import in_turns, report, significant, sizes_and_passes
from benchmarks.processes import free_port, plain_command, serve_command, start_seconds
from benchmarks.stores import store_of


def measure(pages: int, passes: int) -> None:
    store = store_of(pages)

    def ours() -> float:
        port = free_port()
        return start_seconds(serve_command(store, port), port, "/health/ready")

    def plain() -> float:
        port = free_port()
        return start_seconds(plain_command(port), port, "/page")

    seconds = in_turns(passes, {"ready": ours, "plain": plain})
    report(
        "start",
        pages,
        seconds={side: significant(median(taken)) for side, taken in seconds.items()},
        slowest_seconds=significant(max(seconds["ready"])),
        targets={"ready_seconds": 2},
    )


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
