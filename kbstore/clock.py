"""Time: UTC microseconds since the epoch inside, RFC 3339 with a zone outside."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from kbstore.errors import ValidationError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TIME_CHARACTERS_MIN = len("2026-03-01T10:00Z")
_TIME_CHARACTERS_MAX = len("2026-03-01T10:00:00.123456789+02:00")


class Clock(Protocol):
    """Where `committedAt` comes from; injected, so that a test can repeat a history exactly."""

    def now(self) -> int:
        """UTC microseconds since the epoch."""
        ...


class SystemClock:
    def now(self) -> int:
        return time.time_ns() // 1_000


def format_time(micros: int) -> str:
    """RFC 3339 in UTC with microseconds: `2026-03-01T10:00:00.000000Z`."""
    moment = EPOCH + timedelta(microseconds=micros)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment.year >= 1000 else moment.isoformat()


def micros_of(moment: datetime) -> int:
    """UTC microseconds of a date-time that has a zone."""
    return (moment - EPOCH) // _MICROSECOND


def parse_time(value: str, field: str) -> int:
    """UTC microseconds of an RFC 3339 time; a time without a zone is refused (422)."""
    if not _TIME_CHARACTERS_MIN <= len(value) <= _TIME_CHARACTERS_MAX:
        raise _invalid(value, field, "notATime")
    try:
        # RFC 3339 allows "t" and "z", the library does not.
        moment = datetime.fromisoformat(value.upper())
    except ValueError:
        raise _invalid(value, field, "notATime") from None
    if moment.tzinfo is None:
        raise _invalid(value, field, "zoneMissing")
    try:
        return micros_of(moment)
    except OverflowError:
        raise _invalid(value, field, "outOfRange") from None


def _invalid(value: str, field: str, reason: str) -> ValidationError:
    message = f"{field} must be an RFC 3339 time with a zone, such as 2026-03-01T10:00:00Z."
    return ValidationError(message, field=field, reason=reason, given=value[:64])
