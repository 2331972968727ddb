"""Times: naive refused, all others in UTC microseconds (C42)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbstore.clock import format_time, parse_time
from kbstore.errors import ValidationError


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00.000000Z"),
        ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00.000000Z"),
        ("2026-03-01t10:00:00.123456-11:30", "2026-03-01T21:30:00.123456Z"),
    ],
)
def test_a_time_with_a_zone_is_one_moment(given_: str, shown: str) -> None:
    assert format_time(parse_time(given_, "at")) == shown


@pytest.mark.parametrize(
    ("given_", "reason"),
    [
        ("2026-03-01T10:00:00", "zoneMissing"),
        ("2026-03-01", "notATime"),
        ("yesterday", "notATime"),
        ("", "notATime"),
        ("2026-13-01T10:00:00Z", "notATime"),
        ("2026-W10-1T10:00:00Z", "notATime"),
        ("20260301T100000.5Z", "notATime"),
        ("2026-03-01T10:00:00 Z", "notATime"),
        ("2026-03-01T10:00Z", "notATime"),
        ("2026-03-01T10Z", "notATime"),
        ("2026-03-01T10:00:00+02", "notATime"),
        ("2026-03-01T10:00:00+02:60", "notATime"),
        ("2026-03-01T10:00:00+02:00:30", "notATime"),
        ("2026-03-01T10:00:00Z\0", "notATime"),
        ("1" * 10_000, "notATime"),
    ],
)
def test_what_names_no_moment_is_refused(given_: str, reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_time(given_, "asOf")
    assert refused.value.details["field"] == "asOf"
    assert refused.value.details["reason"] == reason


@given(st.integers(0, 4_102_444_800_000_000))
def test_what_is_shown_is_read_back(micros: int) -> None:
    assert parse_time(format_time(micros), "at") == micros
