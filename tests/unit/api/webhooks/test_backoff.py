"""The wait between attempts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.webhooks.backoff import backoff_seconds, retry_after_seconds
from kbstore.clock import parse_time
from kbstore.limits import WEBHOOK_BACKOFF_SECONDS_MAX, WEBHOOK_BACKOFF_SECONDS_MIN

NOW = parse_time("2026-10-21T07:28:00Z", "now")


def test_each_wait_is_twice_the_one_before_up_to_a_maximum() -> None:
    waits = [
        backoff_seconds(n, WEBHOOK_BACKOFF_SECONDS_MIN, WEBHOOK_BACKOFF_SECONDS_MAX, 0.0)
        for n in range(1, 13)
    ]
    assert waits[:9] == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0, 1280.0]
    assert waits[9:] == [2560.0, 3600.0, 3600.0]


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_chance_takes_at_most_half_of_it(attempts: int, chance: float) -> None:
    whole = backoff_seconds(attempts, 5.0, 3_600.0, 0.0)
    assert whole / 2 <= backoff_seconds(attempts, 5.0, 3_600.0, chance) <= whole <= 3_600.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0.0),
        ("120", 120.0),
        ("0", 0.0),
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0.0),
        ("Wed, 21 Oct 2026 07:28:30 -0000", 0.0),
        ("soon", 0.0),
        ("Mon, 99999999999 Jan 1 0:0:0 GMT", 0.0),
        ("-5", 0.0),
        ("1.5", 0.0),
        ("٣", 0.0),
        ("", 0.0),
        ("9" * 41, 0.0),
    ],
)
def test_what_a_receiver_asks_for(value: str | None, seconds: float) -> None:
    assert retry_after_seconds(value, NOW) == seconds


@given(st.text(max_size=60))
def test_any_text_is_read(value: str) -> None:
    assert retry_after_seconds(value, NOW) >= 0.0
