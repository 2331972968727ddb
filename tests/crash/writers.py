"""Clients that write to a server for as long as it lives, and remember what it answered."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from uuid import UUID

import httpx
from msgspec import Struct

from tests.acceptance.logs import SCOPE
from tests.acceptance.processes import Json

PAGES_EDITED_MAX = 4
BATCH = 3
HEALED_SECONDS_MAX = 120
"""No database of a test stays away for longer, on the slowest machine."""

_PAUSE_SECONDS = 0.02
_UNAVAILABLE = ("DATABASE_UNAVAILABLE", "OVERLOADED")


class Sent(Struct, frozen=True):
    """A request under its `Idempotency-Key`, and what to remember once it is acknowledged."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json
    names: tuple[str, ...]
    remember: Callable[[Json], None]


class Known(Struct):
    """A page as its last acknowledged write left it."""

    version: int
    body: str


class Writer:
    """One client. Pages have no key, so that a request done twice makes two of them."""

    def __init__(self, number: int, seed: int) -> None:
        self.pages: dict[str, Known] = {}
        self.names: dict[str, str] = {}
        self.revisions: list[int] = []
        self.pending: Sent | None = None
        self.acknowledged = 0
        self.replayed = 0
        self.put_off: Counter[str] = Counter()
        self.done_though_put_off = 0
        self.put_off_seconds_max = 0.0
        self._number = number
        self._random = Random(seed * 100 + number)
        self._made = 0

    def run(
        self,
        open_client: Callable[[], httpx.Client],
        ready: threading.Barrier,
        stop: threading.Event | None = None,
    ) -> None:
        """Sends one request after the other until told to stop; without that, until the server
        is gone."""
        with open_client() as client:
            self._settle(client)
            ready.wait()
            try:
                while stop is None or not stop.is_set():
                    self.pending = self._next()
                    self._send(client, self.pending)
            except httpx.TransportError:
                if stop is not None:
                    raise

    def settle(self, open_client: Callable[[], httpx.Client]) -> None:
        """Sends what was never acknowledged again, under the same key."""
        with open_client() as client:
            self._settle(client)

    def _settle(self, client: httpx.Client) -> None:
        if self.pending is not None:
            self._send(client, self.pending)

    def _send(self, client: httpx.Client, sent: Sent) -> None:
        answer, was_put_off = self._answered(client, sent)
        assert answer.status_code in (200, 201), answer.text
        value: Json = answer.json()
        assert value["changed"] is True
        is_replayed = answer.headers.get("Idempotency-Replayed") == "true"
        self.acknowledged += 1
        self.replayed += is_replayed
        self.done_though_put_off += is_replayed and was_put_off
        self.revisions.append(value["revision"])
        sent.remember(value)
        self.pending = None
        if self._random.random() < 0.1:
            self._send_again(client, sent, value)

    def _answered(self, client: httpx.Client, sent: Sent) -> tuple[httpx.Response, bool]:
        """The answer of a service that can give one, and whether it had to be asked again."""
        started = time.monotonic()
        was_put_off = False
        while True:
            answer = client.request(sent.method, sent.path, json=sent.body, headers=sent.headers)
            if answer.status_code != 503:
                return answer, was_put_off
            self.put_off[put_off_code(answer)] += 1
            was_put_off = True
            self.put_off_seconds_max = max(self.put_off_seconds_max, time.monotonic() - started)
            assert self.put_off_seconds_max < HEALED_SECONDS_MAX, "the service does not heal"
            time.sleep(_PAUSE_SECONDS)

    def _send_again(self, client: httpx.Client, sent: Sent, value: Json) -> None:
        again, _ = self._answered(client, sent)
        assert again.headers["Idempotency-Replayed"] == "true", again.text
        assert again.json()["revision"] == value["revision"]

    def _next(self) -> Sent:
        kind = self._random.random()
        if kind < 0.4 and self.pages:
            return self._edit(self._random.choice(sorted(self.pages)))
        return self._create() if kind < 0.8 else self._create_several()

    def _create(self) -> Sent:
        name, body = self._name(), "first\n"

        def remember(value: Json) -> None:
            page = value["page"]
            self.names[page["id"]] = name
            if len(self.pages) < PAGES_EDITED_MAX:
                self.pages[page["id"]] = Known(1, body)

        given: Json = {"scope": SCOPE, "name": name, "body": body}
        return Sent("POST", "/pages", self._headers(), given, (name,), remember)

    def _create_several(self) -> Sent:
        names = tuple(self._name() for _ in range(BATCH))

        def remember(value: Json) -> None:
            ids = [result["id"] for result in value["results"]]
            self.names.update(zip(ids, names, strict=True))

        operations = [{"op": "create", "scope": SCOPE, "name": name} for name in names]
        given: Json = {"operations": operations}
        return Sent("POST", "/commits", self._headers(), given, names, remember)

    def _edit(self, page: str) -> Sent:
        known = self.pages[page]
        body = f"{known.body}{self._random.random()}\n"

        def remember(value: Json) -> None:
            assert value["page"]["version"] == known.version + 1
            self.pages[page] = Known(known.version + 1, body)

        headers = self._headers(**{"If-Match": f'"{known.version}"'})
        return Sent("PATCH", f"/pages/{page}", headers, {"body": body}, (), remember)

    def _headers(self, **more: str) -> dict[str, str]:
        return {"Idempotency-Key": str(UUID(int=self._random.getrandbits(128))), **more}

    def _name(self) -> str:
        self._made += 1
        return f"writer {self._number} page {self._made}"


def put_off_code(answer: httpx.Response) -> str:
    """The code of an answer that puts its caller off, which says why and until when."""
    assert answer.status_code == 503, answer.text
    code = str(answer.json()["error"]["code"])
    assert code in _UNAVAILABLE, answer.text
    assert int(answer.headers["Retry-After"]) >= 1
    return code
