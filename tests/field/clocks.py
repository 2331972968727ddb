"""A server whose clock the test sets."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from api.wiring import build_services, open_database
from kbstore.clock import format_time, parse_time
from tests.asking import Client, asking_at
from tests.http.world import serve
from tests.knowledge import KnowledgeBase


class SetClock:
    """Stands still until it is set; may be set back."""

    def __init__(self, time: str) -> None:
        self.set(time)

    def set(self, time: str) -> None:
        self.micros = parse_time(time, "time")

    def now(self) -> int:
        return self.micros

    @property
    def time(self) -> str:
        return format_time(self.micros)


class Timed(Struct):
    clock: SetClock
    kb: KnowledgeBase
    ana: Client
    auditor: Client


@contextmanager
def served_at(database_url: str, time: str) -> Iterator[Timed]:
    """A knowledge base on a server of its own, whose clock shows `time`."""
    clock = SetClock(time)
    services = build_services(open_database(database_url), clock)
    try:
        with serve(services) as url:
            kb = KnowledgeBase(services)
            with asking_at(url, kb) as ask:
                auditor = ask("user:root", grants=("auditor",))
                yield Timed(clock, kb, ask("user:ana"), auditor)
    finally:
        services.close()
