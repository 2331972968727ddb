"""Time: UTC microseconds since the epoch inside, RFC 3339 with a zone outside."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from kbstore.errors import ValidationError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
    r"(?:Z|[+-][0-9]{2}:[0-5][0-9])?"
)


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
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def micros_of(moment: datetime) -> int:
    """UTC microseconds of a date-time that has a zone."""
    return (moment - EPOCH) // _MICROSECOND


def parse_time(value: str, field: str) -> int:
    """UTC microseconds of an RFC 3339 time; a time without a zone is refused (422)."""
    # RFC 3339 allows "t" and "z", the library does not. The library allows weeks, times
    # without seconds or colons, an offset of 99 minutes and even text after a NUL, RFC 3339
    # does not.
    upper = value.upper()
    if _TIME.fullmatch(upper) is None:
        raise _invalid(value, field, "notATime")
    try:
        moment = datetime.fromisoformat(upper)
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
