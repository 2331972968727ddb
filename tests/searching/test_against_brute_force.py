"""Searching finds what the rules say, in their order: at any revision, for any reader."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from kbstore.store.heads import read_head
from projections.lexical import index, segments, vocabulary
from projections.lexical.checkpointing import keep_checkpoints
from projections.lexical.checkpoints import Checkpoints, iterate_stretches
from projections.lexical.kept import forget_indexes
from projections.pace import Pace
from projections.read.search import Hit, NoteHit, search
from projections.snapshot import open_snapshot
from tests.backends import Databases, on_postgresql, on_sqlite
from tests.searching.brute import ranked, texts_in_sight
from tests.searching.stories import READERS, SCOPES, Story

ROUNDS = 6
STEPS_PER_ROUND = 40
QUERIES_PER_SIGHT = 8
LIMIT_MAX = 30


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tails are sealed and merged after few documents, and all ways to look up are taken."""
    monkeypatch.setattr(index, "TAIL_DOCUMENTS_MAX", 5)
    monkeypatch.setattr(index, "FAN", 3)
    monkeypatch.setattr(index, "MERGED_DOCUMENTS_MAX", 40)
    monkeypatch.setattr(index, "_ROWS_READ_MAX", 7)
    monkeypatch.setattr(vocabulary, "_FINDS_MAX", 3)
    monkeypatch.setattr(segments, "_MASK_PART", 5)
    forget_indexes()
    yield
    forget_indexes()


class Compared:
    """How many searches were compared, and how many of them found something."""

    def __init__(self) -> None:
        self.searches = 0
        self.found = 0

    def look(self, story: Story) -> None:
        """Compares searches of one reader at one revision."""
        chosen = story.random
        reader = chosen.choice(READERS)
        revision = chosen.choice((story.revision, chosen.randint(1, story.revision)))
        scopes = None
        if chosen.random() < 0.3:
            scopes = frozenset(chosen.sample(SCOPES, chosen.randint(1, 2)))
        connection = story.database.reader()
        with connection.reading():
            snapshot = open_snapshot(connection, story.kb_id, reader, revision)
            texts = texts_in_sight(snapshot, scopes)
            for _ in range(QUERIES_PER_SIGHT):
                query, limit = story.query(), chosen.randint(1, LIMIT_MAX)
                found = search(snapshot, query, scopes, limit)
                expected = ranked(texts, query)
                about = (query, reader.principal, revision, scopes)
                assert [_id(hit) for hit in found.hits] == expected[:limit], about
                assert found.total == len(expected), about
                self.searches += 1
                self.found += bool(expected)


def _id(hit: Hit) -> object:
    return hit.note_id if isinstance(hit, NoteHit) else hit.page.page_id


def begin_with_checkpoints(story: Story) -> None:
    """Later searches begin with what is kept now."""
    with story.database.connected() as target, closing(story.database.connect_reader()) as source:
        keep_checkpoints(source, target, story.kb_id, 1, Pace(1, 0), piece=1_000)
        with source.reading():
            head = read_head(source, story.kb_id)
            assert head is not None
            kept = list(iterate_stretches(Checkpoints(source, head), 0))
    assert len(kept) > 1
    assert kept[-1][0].end.revision == head.revision
    forget_indexes()


def compare(databases: Databases, seed: int, sights: int) -> Compared:
    """A story of ROUNDS, with so many sights taken after each."""
    compared = Compared()
    with databases.lent() as url, closing(Story(url, seed)) as story:
        for number in range(ROUNDS):
            for _ in range(STEPS_PER_ROUND):
                story.step()
            if number == ROUNDS // 2:
                begin_with_checkpoints(story)
            for _ in range(sights):
                compared.look(story)
    return compared


@on_sqlite
@pytest.mark.parametrize("seed", range(12))
def test_every_answer_is_that_of_the_rules(databases: Databases, seed: int) -> None:
    compared = compare(databases, seed, sights=6)
    assert compared.searches == ROUNDS * 6 * QUERIES_PER_SIGHT
    assert compared.found > compared.searches / 4


@on_postgresql
def test_every_answer_is_that_of_the_rules_on_postgresql(databases: Databases) -> None:
    assert compare(databases, 100, sights=2).found


@pytest.mark.soak
@on_sqlite
def test_many_answers_are_those_of_the_rules(databases: Databases) -> None:
    """At least 5,000 queries, each of a reader at a revision."""
    compared = [compare(databases, seed, sights=10) for seed in range(1_000, 1_011)]
    assert sum(each.searches for each in compared) >= 5_000
