"""Statements: one SQL text for many calls, lists of any length."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import bindparam, select

from kbstore.store.connection import Connection
from kbstore.store.statements import Statement
from kbstore.store.tables import events

OF_TOPICS = Statement(
    select(events.c.topic)
    .where(events.c.topic.in_(bindparam("topics", expanding=True)), events.c.position > 0)
    .order_by(events.c.topic)
    .limit(bindparam("limit"))
)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    raw = sqlite3.connect(":memory:", isolation_level=None)
    raw.execute("CREATE TABLE events (topic TEXT, position INTEGER)")
    raw.executemany("INSERT INTO events VALUES (?, 1)", [(f"t{n}",) for n in range(10)])
    yield Connection(raw)
    raw.close()


@given(st.lists(st.integers(0, 20), max_size=40, unique=True))
def test_a_list_selects_exactly_its_members(connection: Connection, chosen: list[int]) -> None:
    topics = [f"t{n}" for n in chosen]
    rows = connection.all(OF_TOPICS, {"topics": topics, "limit": 100})
    assert [row[0] for row in rows] == sorted(f"t{n}" for n in chosen if n < 10)


def test_lists_of_similar_length_share_their_sql() -> None:
    texts = {OF_TOPICS.bind({"topics": ["a"] * size, "limit": 1})[0] for size in range(5, 9)}
    assert len(texts) == 1


def test_literals_of_a_statement_are_bound_without_being_named(connection: Connection) -> None:
    assert connection.one(OF_TOPICS, {"topics": ["t3"], "limit": 1}) == ("t3",)


def test_both_back_ends_get_a_text_of_their_own() -> None:
    assert "LIMIT ?" in OF_TOPICS.sqlite
    assert "%(limit)s" in OF_TOPICS.postgresql
