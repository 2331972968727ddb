"""How long to wait before an event is sent once more."""

from email.utils import parsedate_to_datetime

from kbstore.clock import micros_of

_RETRY_AFTER_CHARACTERS_MAX = 40


def backoff_seconds(attempts: int, seconds_min: float, seconds_max: float, chance: float) -> float:
    """The wait after so many attempts: doubled with each one, up to a maximum.

    `chance`, from 0 to 1, takes up to half of it away, so that those who failed together do not
    come again together.
    """
    assert attempts >= 1
    doubled = seconds_min * 2.0 ** min(attempts - 1, 64)
    return min(seconds_max, doubled) * (1 - chance / 2)


def retry_after_seconds(value: str | None, now: int) -> float:
    """The seconds that a `Retry-After` asks for, 0 where it asks for none that can be read;
    `now` in UTC microseconds."""
    if value is None or len(value) > _RETRY_AFTER_CHARACTERS_MAX:
        return 0.0
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return 0.0
    if moment.tzinfo is None:
        return 0.0
    return max(0.0, (micros_of(moment) - now) / 1_000_000)
