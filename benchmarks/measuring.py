"""What every benchmark does alike: sizes from the command line, passes in turns, one JSON line."""

import argparse
import gc
import json
import os
import platform
import sqlite3
import time
from collections.abc import Callable, Mapping
from statistics import median

PAGES_DEFAULT = 1_000
PASSES_DEFAULT = 5

Run = Callable[[], float]
"""One pass of one side; gives how much of something a second brought."""


def sizes_and_passes(description: str | None) -> tuple[list[int], int]:
    """The sizes of store (`--pages`, may repeat) and how many passes each side runs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--pages", type=int, action="append", help="pages in the store")
    parser.add_argument("--passes", type=int, default=PASSES_DEFAULT)
    arguments = parser.parse_args()
    return arguments.pages or [PAGES_DEFAULT], arguments.passes


def in_turns(passes: int, runs: Mapping[str, Run]) -> dict[str, list[float]]:
    """Every side once a pass, so that whatever slows the machine slows all of them."""
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(passes):
        # Who comes first changes, because the first finds the disk idle.
        for name in list(runs)[:: 1 if number % 2 == 0 else -1]:
            rates[name].append(runs[name]())
    return rates


def middle(rates: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: significant(median(values)) for name, values in rates.items()}


def ratio(rates: Mapping[str, list[float]], side: str, base: str) -> float:
    """The median over the passes of one side's rate to another's in the same pass."""
    pairs = zip(rates[side], rates[base], strict=True)
    return significant(median(one / other for one, other in pairs))


def forget_garbage() -> None:
    """What is there now is no longer looked at by the collector, as in the server."""
    gc.collect()
    gc.freeze()


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def significant(value: float) -> float:
    """Three digits say all that a benchmark can."""
    return float(f"{value:.3g}")


def report(benchmark: str, pages: int, **figures: object) -> None:
    """Prints the line of one size, with the machine it was measured on."""
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    line = {"benchmark": benchmark, "pages": pages, **figures, "machine": machine}
    print(json.dumps(line), flush=True)
