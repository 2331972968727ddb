"""A client of the HTTP API with typed answers, for tests about what the API answers.

The shapes here are the contract's, written down once more: nothing is imported from the server.
"""

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import httpx
import msgspec
from msgspec import Struct

from tests.knowledge import SCOPE, KnowledgeBase

T = TypeVar("T")
Version = int | str
"""An expected version; a string goes into the header as it is."""

# Loading the system's certificates for each client would take longer than most tests.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
PREFIX = "/openapi/v2/knowledge-bases"


class Page(Struct, frozen=True, rename="camel"):
    id: str
    ref: str
    scope: str
    key: str | None
    name: str
    description: str | None
    version: int
    parent: str | None
    path: str | None
    body: str | None
    updated_by: str


class Summary(Struct, frozen=True, rename="camel"):
    """A page in a list."""

    id: str
    ref: str
    key: str | None
    version: int


class Entry(Struct, frozen=True, rename="camel"):
    """A line of a page's history."""

    revision: int
    version: int
    type: str
    actor: str
    changed: tuple[str, ...]


class Event(Struct, frozen=True, rename="camel"):
    """An event of the feed."""

    position: int
    revision: int
    type: str
    page_id: str | None
    version: int | None


class Deletion(Struct, frozen=True, rename="camel"):
    page_id: str
    ref: str
    version: int
    deletion: int


class Renamed(Struct, frozen=True):
    page: str
    before: str
    after: str


class Written(Struct, frozen=True):
    revision: int
    changed: bool
    page: Page | None = None
    renamed: tuple[Renamed, ...] = ()


class Result(Struct, frozen=True):
    kind: str
    id: str
    created: bool
    ref: str | None
    version: int | None


class Committed(Struct, frozen=True):
    revision: int
    changed: bool
    results: tuple[Result, ...]


class Part(Struct, frozen=True, rename="camel"):
    """A part of a list; the items are decoded by whoever knows what they are."""

    revision: int
    items: list[msgspec.Raw]
    next_cursor: str | None


class Refusal(Struct, frozen=True, rename="camel"):
    code: str
    message: str
    http_status: int
    details: dict[str, object] = {}


class _Read(Struct, frozen=True):
    revision: int
    page: Page


class _Refused(Struct, frozen=True):
    error: Refusal


class Answer(Struct, frozen=True):
    """One answer. Its properties expect it to be of their kind and fail otherwise."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    def read(self, kind: type[T]) -> T:
        assert self.status < 300, self.raw
        return msgspec.json.decode(self.raw, type=kind)

    @property
    def json(self) -> dict[str, object]:
        return msgspec.json.decode(self.raw, type=dict[str, object])

    @property
    def written(self) -> Written:
        return self.read(Written)

    @property
    def page(self) -> Page:
        page = self.read(Written).page
        assert page is not None, self.raw
        return page

    @property
    def revision(self) -> int:
        return self.written.revision

    @property
    def refusal(self) -> Refusal:
        assert self.status >= 400, self.raw
        refusal = msgspec.json.decode(self.raw, type=_Refused).error
        assert refusal.http_status == self.status
        return refusal

    def refused(self, status: int, code: str) -> Refusal:
        """The refusal, which has to be this one."""
        assert self.status == status, self.raw
        refusal = self.refusal
        assert refusal.code == code, self.raw
        return refusal


class Client:
    """Asks one knowledge base with one key; safe to use from several threads."""

    def __init__(self, url: str, slug: str, token: str) -> None:
        self.base = f"{url}{PREFIX}/{slug}"
        self.token = token
        self._http = httpx.Client(
            timeout=60, headers={"authorization": f"Bearer {token}"}, verify=_NO_CERTIFICATES
        )

    def close(self) -> None:
        self._http.close()

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        match: Version | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
        **more: object,
    ) -> Answer:
        """Sends a request; `match` becomes `If-Match`, `key` the `Idempotency-Key`, `query` and
        `more` the query."""
        sent = dict(headers or {})
        if match is not None:
            sent["if-match"] = f'"{match}"' if isinstance(match, int) else match
        if key is not None:
            sent["idempotency-key"] = key
        if body is not None:
            sent.setdefault("content-type", "application/json")
        content = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        given = {**(query or {}), **more}
        parameters = {name: _query_value(value) for name, value in given.items()}
        response = self._http.request(
            method, self.base + path, content=content, headers=sent, params=parameters
        )
        return Answer(response.status_code, response.headers, response.content)

    # --- writes -----------------------------------------------------------------------------

    def create(
        self, key: str | None = None, *, idempotency: str | None = None, **fields: object
    ) -> Answer:
        """Creates a page in org:acme, named like its key."""
        return self.ask("POST", "/pages", _creation(key, fields), key=idempotency)

    def made(self, key: str | None = None, **fields: object) -> Page:
        """The page that `create` makes."""
        answer = self.ask("POST", "/pages", _creation(key, fields))
        assert answer.status == 201, answer.raw
        return answer.page

    def chain(self, *keys: str) -> list[Page]:
        """Pages one below the other."""
        pages: list[Page] = []
        for key in keys:
            parent = {"parent": pages[-1].id} if pages else {}
            pages.append(self.made(key, **parent))
        return pages

    def edit(self, page: str, match: Version | None = "*", **fields: object) -> Answer:
        return self.ask("PATCH", f"/pages/{page}", fields, match=match)

    def move(self, page: str, match: Version | None = "*", **place: object) -> Answer:
        return self.ask("POST", f"/pages/{page}/move", place, match=match)

    def merge(self, page: str, into: str, match: Version | None = "*", **more: object) -> Answer:
        return self.ask("POST", f"/pages/{page}/merge", {"into": into, **more}, match=match)

    def restore(self, page: str, match: Version | None = "*", **source: object) -> Answer:
        return self.ask("POST", f"/pages/{page}/restore", source, match=match)

    def delete(self, page: str, match: Version | None = "*", *, subtree: bool = False) -> Answer:
        query = {"subtree": True} if subtree else {}
        return self.ask("DELETE", f"/pages/{page}", match=match, query=query)

    def commit(self, *operations: Mapping[str, object], **more: object) -> Answer:
        """Several operations as one commit."""
        return self.ask("POST", "/commits", {**more, "operations": list(operations)})

    # --- reads ------------------------------------------------------------------------------

    def page(self, page: str, **query: object) -> Page:
        return self.ask("GET", f"/pages/{page}", query=query).read(_Read).page

    def at(self, ref: str, **query: object) -> Answer:
        return self.ask("GET", "/pages", query=query, ref=ref)

    def page_at(self, ref: str, **query: object) -> Page:
        return self.at(ref, **query).read(_Read).page

    def part(self, path: str, **query: object) -> Part:
        return self.ask("GET", path, query=query).read(Part)

    def items(self, path: str, kind: type[T], **query: object) -> list[T]:
        """The whole list, walked by its cursors."""
        return [msgspec.json.decode(item, type=kind) for item in self._walk(path, query)]

    def children(self, page: str, **query: object) -> list[Summary]:
        return self.items(f"/pages/{page}/children", Summary, **query)

    def history(self, page: str, **query: object) -> list[Entry]:
        return self.items(f"/pages/{page}/history", Entry, **query)

    def deletions(self, **query: object) -> list[Deletion]:
        return self.items("/deletions", Deletion, **query)

    def events(self, after: int = 0, **query: object) -> list[Event]:
        return self.items("/events", Event, after=after, **query)

    def _walk(self, path: str, query: Mapping[str, object]) -> Iterator[msgspec.Raw]:
        part = self.part(path, **query)
        yield from part.items
        while part.next_cursor is not None:
            part = self.part(path, **query, cursor=part.next_cursor)
            yield from part.items


Ask = Callable[..., Client]


@contextmanager
def asking_at(url: str, kb: KnowledgeBase) -> Iterator[Ask]:
    """Makes clients: `ask("user:ben", "viewer:acme", grants=("auditor",))`, closed at the end.

    Without a scope they hold org:acme.
    """
    clients: list[Client] = []

    def make(principal: str = "user:ana", *held: str, grants: tuple[str, ...] = ()) -> Client:
        client = Client(url, kb.slug, kb.token(principal, held or (SCOPE,), grants))
        clients.append(client)
        return client

    try:
        yield make
    finally:
        for client in clients:
            client.close()


def _creation(key: str | None, fields: Mapping[str, object]) -> dict[str, object]:
    body = {"scope": SCOPE, "name": key or "Page", **fields}
    return body if key is None else {**body, "key": key}


def _query_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
