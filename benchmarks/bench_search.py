"""Searches at the head and as of an old revision, against FTS5's trigram index in the same run;
how long an index takes to follow a whole store; and what the index costs a write.

Times are milliseconds, of searches in process by an auditor who reads everything: what
`knowledge_search` does before its views are made. FTS5 holds the current pages alone, in a
database of its own, and gives the ten best by its own rank; it finds no word of one letter. The
words come from the store, whose made-up texts have a vocabulary of a few thousand words.
"""

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from uuid import UUID

from api.wiring import Services, open_services
from benchmarks.bench_append import Commands, Commits, Raw, Service
from benchmarks.measuring import (
    forget_garbage,
    in_turns,
    middle,
    ratio,
    report,
    seconds,
    significant,
    sizes_and_passes,
)
from benchmarks.stores import SCOPE, Store, copy_of, request, store_of
from benchmarks.writing import Writer
from kbstore.access import Caller
from kbstore.domain.commands import Command, CreatePage
from kbstore.domain.preparing import prepare_body
from kbstore.errors import ProjectionBehindError
from kbstore.service import CommandRequest
from kbstore.store.connection import Connection
from kbstore.texts import prepare_text
from projections import apply_pages
from projections.lexical.index import Deadline, Index
from projections.lexical.kept import forget_indexes, view_of
from projections.projector import Projections
from projections.read.pages import page
from projections.read.search import search
from projections.rebuild import rebuild
from projections.snapshot import Snapshot, open_snapshot

QUERIES = 60
LIMIT = 10
BUILD_SECONDS_MAX = 3_600.0
SAMPLED_PAGES = 300
CREATES = 400
WARM_UP_CREATES = 800
PAGE_WORDS = 200
READER = Caller(principal="service:bench", grants=frozenset({"auditor"}))
TARGETS = {
    "10,000 pages, p50 and p95": {
        "1 word": [2, 8],
        "2 words": [5, 15],
        "5 words": [10, 25],
        "1 letter": [None, 40],
        "on every page": [None, 40],
    },
    "times_fts5": 5,
    "creates_to_raw": {"one_writer": 0.12, "eight_writers": 0.25},
}


class Queries:
    """Queries of each class, made of words that pages of the store hold."""

    def __init__(self, snapshot: Snapshot, store: Store) -> None:
        self._random = random.Random(1)
        chosen = self._random.sample(store.pages, min(SAMPLED_PAGES, len(store.pages)))
        bodies = [page(snapshot, page_id).body or "" for page_id in chosen]
        counts = Counter(word for body in bodies for word in set(body.split()))
        words = [word for word in counts if len(word) >= 3 and word.isalpha()]
        many = len(bodies)
        self._rare = [word for word in words if counts[word] <= max(1, many // 100)]
        self._tenth = [word for word in words if many // 20 <= counts[word] <= many // 6]
        self._common = sorted(words, key=counts.__getitem__)[-10:]
        self._words = words

    def classes(self) -> dict[str, list[str]]:
        pick = self._random.choice
        return {
            "1 word, rare": [pick(self._rare) for _ in range(QUERIES)],
            "1 word, in a tenth": [pick(self._tenth) for _ in range(QUERIES)],
            "2 words": [self._some(2) for _ in range(QUERIES)],
            "5 words": [self._some(5) for _ in range(QUERIES)],
            "1 letter": [pick("abcdefghiklmnoprstu") for _ in range(QUERIES)],
            "on every page": [pick(self._common) for _ in range(QUERIES)],
            "2 letters": [pick(self._words)[:2] for _ in range(QUERIES)],
            "punctuation": [pick(("##", "[[", "]]", "# ")) for _ in range(QUERIES)],
        }

    def _some(self, count: int) -> str:
        return " ".join(self._random.sample(self._words, count))


class Fts5:
    """The baseline: an FTS5 table of trigrams over the current pages."""

    def __init__(self, pages: Iterator[tuple[str, str]]) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5(name, body, tokenize='trigram')"
        )
        self._connection.executemany("INSERT INTO t VALUES (?, ?)", pages)

    def search(self, query: str) -> None:
        words = " OR ".join('"{}"'.format(word.replace('"', '""')) for word in query.split())
        self._connection.execute(
            "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (words, LIMIT)
        ).fetchall()

    def close(self) -> None:
        self._connection.close()


class Creates(Commands):
    """New pages of PAGE_WORDS words each."""

    def __init__(self, services: Services, store: Store) -> None:
        super().__init__(services, store)
        self._writer = Writer(7)

    def take(self, count: int) -> list[CommandRequest]:
        return [request(self._store.kb_id, self._create()) for _ in range(count)]

    def _create(self) -> Command:
        number = next(self._numbers)
        body = f"{' '.join(self._writer.body().split()[:PAGE_WORDS])} {number}\n"
        return CreatePage(
            scope=SCOPE,
            parent=self._random.choice(self._store.sections),
            key=f"new-{self._mark}-{number}",
            name=prepare_text(f"New page {number}", self._ids),
            body=prepare_body(body, self._ids),
        )


def measure(pages: int, passes: int) -> None:
    store = store_of(pages)
    with open_services(store.url) as services:
        _fill(services, store.kb_id)
        connection = services.database.connect_reader()
        with connection.reading():
            figures = _searches(connection, store)
        connection.close()
    forget_indexes()
    report("search", pages, **figures, writes=_writes(store, passes), targets=TARGETS)


def _fill(services: Services, kb_id: UUID) -> None:
    """Rebuilds a store that a program without an index has built."""
    connection = services.database.reader()
    with connection.reading():
        snapshot = open_snapshot(connection, kb_id, READER)
        try:
            view_of(connection, snapshot.head, Deadline(BUILD_SECONDS_MAX))
            is_filled = True
        except ProjectionBehindError:
            is_filled = False
    if not is_filled:
        rebuild(services.database, kb_id, Projections())
    forget_indexes()


def _searches(connection: Connection, store: Store) -> dict[str, object]:
    snapshot = open_snapshot(connection, store.kb_id, READER)
    old = snapshot.at(store.revisions[len(store.revisions) // 2])
    index = Index(is_of_rows=True)
    following = seconds(lambda: index.view(connection, snapshot.head, Deadline(BUILD_SECONDS_MAX)))
    parts = len(view_of(connection, snapshot.head, Deadline(BUILD_SECONDS_MAX)).parts)
    classes = Queries(snapshot, store).classes()
    forget_garbage()
    views = (page(snapshot, page_id) for page_id in store.pages)
    with closing(Fts5((view.name, view.body or "") for view in views)) as fts5:
        found: dict[str, object] = {}
        for name, queries in classes.items():
            sides: dict[str, Callable[[str], object]] = {
                "current": lambda query: search(snapshot, query, None, LIMIT),
                "as_of": lambda query: search(old, query, None, LIMIT),
                "fts5": fts5.search,
            }
            found[name] = {side: _times(run, queries) for side, run in sides.items()}
    return {
        "milliseconds_p50_p95": found,
        "parts": parts,
        "documents": pages_and_versions(connection, snapshot),
        "seconds_to_follow_all_rows": significant(following),
    }


def pages_and_versions(connection: Connection, snapshot: Snapshot) -> int:
    view = view_of(connection, snapshot.head, Deadline(BUILD_SECONDS_MAX))
    return len(view.documents.revisions)


def _times(run: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """The middle and the slowest of twenty, in milliseconds."""
    run(queries[0])
    taken = sorted(1_000 * seconds(lambda query=query: run(query)) for query in queries)  # type: ignore[misc]
    return [significant(taken[len(taken) * share // 100]) for share in (50, 95)]


def _writes(store: Store, passes: int) -> dict[str, object]:
    commits = Commits()
    with (
        copy_of(store) as copied,
        commits.watched(),
        open_services(copied.url) as services,
        closing(Raw(copied, commits)) as raw,
    ):
        ours = Service(services, Creates(services, copied), commits)
        ours.one_writer(WARM_UP_CREATES)
        ours.many_writers(WARM_UP_CREATES)
        raw.insert(WARM_UP_CREATES, 1)
        forget_garbage()

        def without(run: Callable[[int], float]) -> float:
            with _no_index():
                return run(CREATES)

        rates = in_turns(
            passes,
            {
                "one_writer": lambda: ours.one_writer(CREATES),
                "one_writer_without": lambda: without(ours.one_writer),
                "eight_writers": lambda: ours.many_writers(CREATES),
                "eight_writers_without": lambda: without(ours.many_writers),
                "raw": lambda: raw.insert(CREATES, 1),
            },
        )
    sides = [side for side in rates if side != "raw"]
    return {
        "creates_per_second": middle(rates),
        "ratio_to_raw": {side: ratio(rates, side, "raw") for side in sides},
    }


@contextmanager
def _no_index() -> Iterator[None]:
    """Pages are written without the row that search needs."""
    name = "add_page_terms"
    with ExitStack() as patches:
        patches.callback(setattr, apply_pages, name, vars(apply_pages)[name])
        setattr(apply_pages, name, lambda *arguments: None)
        yield


def main() -> None:
    sizes, passes = sizes_and_passes(__doc__)
    for pages in sizes:
        measure(pages, passes)


if __name__ == "__main__":
    main()
