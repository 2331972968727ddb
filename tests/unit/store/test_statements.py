"""Statements: one SQL text for many calls, lists of any length."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import bindparam, select

from kbstore.store.backends import open_database
from kbstore.store.connection import Connection
from kbstore.store.statements import Statement, Values
from kbstore.store.tables import events, metadata
from tests.backends import Databases, change

OF_TOPICS = Statement(
    select(events.c.topic)
    .where(events.c.topic.in_(bindparam("topics", expanding=True)), events.c.position > 0)
    .order_by(events.c.topic)
    .limit(bindparam("limit"))
)


@pytest.fixture(scope="module")
def connection(databases: Databases) -> Iterator[Connection]:
    with databases.lent() as url, open_database(url, [metadata]).connected() as opened:
        # It hides the table of that name.
        opened.command("CREATE TEMPORARY TABLE events (topic TEXT, position BIGINT)")
        for number in range(10):
            change(opened, "INSERT INTO events VALUES (?, 1)", f"t{number}")
        yield opened


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


def test_a_list_may_hold_any_letters(connection: Connection) -> None:
    odd = ["{", "}", ",", '"', "\\", "NULL", "'", "", "ä", "\n", "t4"]
    assert connection.all(OF_TOPICS, {"topics": odd, "limit": 9}) == [("t4",)]


def test_values_that_a_statement_does_not_name_are_passed_over(connection: Connection) -> None:
    values: Values = {"topics": ["t3"], "limit": 1, "other": b"x"}
    assert connection.one(OF_TOPICS, values) == ("t3",)


def test_both_back_ends_get_a_text_of_their_own() -> None:
    assert "LIMIT ?" in OF_TOPICS.sqlite
    assert "topic = ANY ($1::TEXT[] COLLATE" in OF_TOPICS.postgresql
    assert OF_TOPICS.postgresql.endswith("LIMIT $3")


def test_a_list_to_leave_out_is_refused() -> None:
    clause = select(events.c.topic).where(events.c.topic.not_in(bindparam("t", expanding=True)))
    with pytest.raises(AssertionError, match="NOT IN"):
        Statement(clause)
