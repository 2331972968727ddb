"""How much long work does at once, so that reads and writes go on beside it."""

import time

from msgspec import Struct

from kbstore.limits import (
    PACE_FILE_PAUSE_SECONDS,
    PACE_FILE_SECONDS_MAX,
    PACE_SERVER_SECONDS_MAX,
)
from kbstore.store.database import Database


class Pace(Struct, frozen=True):
    """The seconds that a transaction of the work takes, and those between two of them."""

    transaction_seconds: float
    pause_seconds: float

    def pause(self) -> None:
        if self.pause_seconds:
            time.sleep(self.pause_seconds)


def pace_of(database: Database) -> Pace:
    """A transaction locks a SQLite file against every writer, so it is short, and those who
    wait get their turn in the pause. On a server it locks nothing that a writer needs."""
    if database.is_file:
        return Pace(PACE_FILE_SECONDS_MAX, PACE_FILE_PAUSE_SECONDS)
    return Pace(PACE_SERVER_SECONDS_MAX, 0)
