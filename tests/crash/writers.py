"""Clients that write to a server for as long as it lives, and remember what it answered."""

import threading
from collections.abc import Callable
from random import Random
from uuid import UUID

import httpx
from msgspec import Struct

from tests.acceptance.logs import SCOPE
from tests.acceptance.processes import Json

PAGES_EDITED_MAX = 4
BATCH = 3


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
        self.replayed = 0
        self.pending: Sent | None = None
        self.acknowledged = 0
        self._number = number
        self._random = Random(seed * 100 + number)
        self._made = 0

    def run(self, open_client: Callable[[], httpx.Client], ready: threading.Barrier) -> None:
        """Sends one request after the other until the server is gone."""
        with open_client() as client:
            self._settle(client)
            ready.wait()
            try:
                while True:
                    self.pending = self._next()
                    self._send(client, self.pending)
            except httpx.TransportError:
                return

    def settle(self, open_client: Callable[[], httpx.Client]) -> None:
        """Sends what was never acknowledged again, under the same key."""
        with open_client() as client:
            self._settle(client)

    def _settle(self, client: httpx.Client) -> None:
        if self.pending is not None:
            self._send(client, self.pending)

    def _send(self, client: httpx.Client, sent: Sent) -> None:
        answer = client.request(sent.method, sent.path, json=sent.body, headers=sent.headers)
        assert answer.status_code in (200, 201), answer.text
        value: Json = answer.json()
        assert value["changed"] is True
        self.acknowledged += 1
        self.replayed += answer.headers.get("Idempotency-Replayed") == "true"
        self.revisions.append(value["revision"])
        sent.remember(value)
        self.pending = None
        if self._random.random() < 0.1:
            self._send_again(client, sent, value)

    def _send_again(self, client: httpx.Client, sent: Sent, value: Json) -> None:
        again = client.request(sent.method, sent.path, json=sent.body, headers=sent.headers)
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
