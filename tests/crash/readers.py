"""Clients that read while a database is lost: what they are shown never gets older, and one
that follows the events sees each of them once."""

import threading
import time
from collections.abc import Callable, Iterator

import httpx
import msgspec

from tests.crash.writers import put_off_code

OpenClient = Callable[[], httpx.Client]

_PAUSE_SECONDS = 0.005


class Reader:
    """Reads the newest revision all the while."""

    def __init__(self) -> None:
        self.answered = 0
        self._revision = 0

    def run(self, open_client: OpenClient, stop: threading.Event) -> None:
        with open_client() as client:
            while not stop.is_set():
                answer = client.get("/revisions/active")
                if answer.status_code == 200:
                    revision = answer.json()["revision"]
                    assert revision >= self._revision
                    self._revision = revision
                    self.answered += 1
                else:
                    put_off_code(answer)
                time.sleep(_PAUSE_SECONDS)


class Follower:
    """Follows every event from the first one on, until it has seen that at `goal`."""

    def __init__(self) -> None:
        self.goal: int | None = None
        self.positions: list[int] = []
        self.streams = 0
        self._last_id = "0"

    def run(self, open_client: OpenClient) -> None:
        with open_client() as client:
            while not self._is_done():
                given = {"Last-Event-ID": self._last_id}
                with client.stream("GET", "/events/stream", headers=given) as answer:
                    if answer.status_code == 200:
                        self.streams += 1
                        self._follow(answer.iter_lines())
                    else:
                        answer.read()
                        put_off_code(answer)
                time.sleep(_PAUSE_SECONDS)

    def _is_done(self) -> bool:
        goal = self.goal
        return goal is not None and bool(self.positions) and self.positions[-1] >= goal

    def _follow(self, lines: Iterator[str]) -> None:
        """Until the stream's end, which it tells, or the goal."""
        fields: dict[str, str] = {}
        for line in lines:
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
                continue
            if fields.get("event") == "error":
                error = msgspec.json.decode(fields["data"], type=dict[str, object])
                assert error["code"] == "DATABASE_UNAVAILABLE", error
                return
            self._last_id = fields.get("id", self._last_id)
            if "data" in fields:
                self.positions.append(int(fields["id"]))
            fields = {}
            if self._is_done():
                return
        raise AssertionError("the stream ended without a word")
