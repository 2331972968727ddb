"""Logs: one JSON object a line on standard error, whichever command runs."""

import logging
import sys
from functools import lru_cache
from typing import BinaryIO

import msgspec
import structlog
from structlog.typing import WrappedLogger

LEVELS = ("debug", "info", "warning", "error")


def configure_logs(level: str) -> None:
    """Sends what is logged at `level`, one of LEVELS, and above to standard error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_encode),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=_standard_error,
        # Whoever replaces the stream later finds the logs there.
        cache_logger_on_first_use=False,
    )


def _standard_error(*_: object) -> WrappedLogger:
    return _logger_to(sys.stderr.buffer)


@lru_cache(maxsize=1)
def _logger_to(stream: BinaryIO) -> WrappedLogger:
    return structlog.BytesLogger(stream)


def _encode(event: object, **_: object) -> bytes:
    return msgspec.json.encode(event, enc_hook=str)
