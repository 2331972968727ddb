"""Query parameters: strict, and refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import field

from api.parameters import ListAt, Parameters, Version, parse_parameters
from kbstore.errors import ValidationError
from kbstore.limits import CURSOR_CHARACTERS_MAX, LIST_ITEMS_MAX, REVISION_MAX


class Sample(ListAt, frozen=True, kw_only=True):
    newest_first: bool = False
    from_version: Version = field(name="from", default=0)
    ref: str | None = None


def refusal(query: bytes) -> tuple[object, object]:
    with pytest.raises(ValidationError) as raised:
        parse_parameters(query, Sample)
    return raised.value.details["field"], raised.value.details["reason"]


def test_every_kind_is_read() -> None:
    query = b"revision=7&limit=3&newestFirst=true&from=2&ref=org%3Aacme%23a%2Fb+c"
    assert parse_parameters(query, Sample) == Sample(
        revision=7, limit=3, newest_first=True, from_version=2, ref="org:acme#a/b c"
    )


def test_nothing_given_is_nothing_asked() -> None:
    assert parse_parameters(b"", Sample) == Sample()


@pytest.mark.parametrize(
    ("query", "name", "reason"),
    [
        (b"page=1", "page", "unknown"),
        (b"newest_first=true", "newest_first", "unknown"),
        (b"limit=1&limit=1", "limit", "repeated"),
        (b"ref=%FF", "query", "notUtf8"),
        (b"ref=\xff", "query", "notUtf8"),
        (b"limit=", "limit", "notAnInteger"),
        (b"limit=ten", "limit", "notAnInteger"),
        (b"limit=1.0", "limit", "notAnInteger"),
        (b"limit=%2B1", "limit", "notAnInteger"),
        (b"limit=01", "limit", "notAnInteger"),
        (b"limit=%20" + b"1", "limit", "notAnInteger"),
        (b"limit=1_0", "limit", "notAnInteger"),
        (b"limit=%D9%A1", "limit", "notAnInteger"),
        (b"limit=" + b"9" * 5_000, "limit", "notAnInteger"),
        (b"limit=0", "limit", "outOfRange"),
        (b"limit=-1", "limit", "outOfRange"),
        (b"limit=%d" % (LIST_ITEMS_MAX + 1), "limit", "outOfRange"),
        (b"revision=%d" % (REVISION_MAX + 1), "revision", "outOfRange"),
        (b"newestFirst=True", "newestFirst", "notABoolean"),
        (b"newestFirst=1", "newestFirst", "notABoolean"),
        (b"newestFirst", "newestFirst", "notABoolean"),
        (b"cursor=" + b"c" * (CURSOR_CHARACTERS_MAX + 1), "cursor", "outOfRange"),
        (b"&".join(b"a%d=1" % n for n in range(65)), "query", "tooMany"),
    ],
)
def test_what_is_wrong_is_named(query: bytes, name: str, reason: str) -> None:
    assert refusal(query) == (name, reason)


@pytest.mark.parametrize(
    "query",
    [
        b"limit=%d" % LIST_ITEMS_MAX,
        b"limit=1",
        b"revision=%d" % REVISION_MAX,
        b"revision=0",
        b"cursor=" + b"c" * CURSOR_CHARACTERS_MAX,
    ],
)
def test_the_limits_themselves_are_allowed(query: bytes) -> None:
    parse_parameters(query, Sample)


def test_a_required_parameter_is_missed() -> None:
    class Needs(Parameters, frozen=True, kw_only=True):
        ref: str

    with pytest.raises(ValidationError) as raised:
        parse_parameters(b"", Needs)
    assert raised.value.details == {"field": "ref", "reason": "missing"}


@given(st.binary(max_size=60))
def test_no_query_is_a_defect(query: bytes) -> None:
    try:
        parse_parameters(query, Sample)
    except ValidationError as error:
        assert "field" in error.details
