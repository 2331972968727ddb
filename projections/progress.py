"""How long-running work tells how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int | None], None]
"""Called with how much is done and how much there is to do, None while that is not known."""


def no_progress(done: int, total: int | None) -> None:
    """For callers that do not ask."""
