"""A knowledge base with something of everything, and one good request for each operation.

Bad requests are made from the good ones, one fault at a time: what is refused is the fault.
"""

from collections.abc import Callable, Mapping
from uuid import UUID

import msgspec
from msgspec import Struct

from api.openapi import is_body_optional
from api.operations import Operation
from api.routes.registry import OPERATIONS
from api.wiring import Services
from kbstore.access import dump_configuration, load_configuration
from kbstore.store.dead_letters import DeadLetter, insert_letter
from tests.asking import Client
from tests.http.world import Json
from tests.knowledge import CONFIGURATION, SCOPE, TEAM, VAULT, KnowledgeBase

ENDING = [operation for operation in OPERATIONS if not operation.is_stream]
"""What does not end is asked for by tests of its own."""
BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in ENDING}
WITH_BODY = [operation.name for operation in ENDING if operation.body is not None]
NEEDS_BODY = [
    operation.name
    for operation in ENDING
    if operation.body is not None and not is_body_optional(operation)
]
COMMITS = [operation.name for operation in ENDING if operation.commits]
CONDITIONAL = [
    operation.name
    for operation in ENDING
    if operation.rules is not None and operation.rules.is_conditional
]
READS = [
    operation.name for operation in ENDING if operation.needs_key and operation.method == "GET"
]
OF_KB = [operation.name for operation in ENDING if operation.needs_key]


class Request(Struct, frozen=True, kw_only=True):
    """`path` fills the operation's placeholders; a `body` of None sends none."""

    name: str
    path: dict[str, str] = {}
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    body: Json = None

    @property
    def operation(self) -> Operation:
        return BY_NAME[self.name]

    @property
    def raw(self) -> bytes:
        return b"" if self.body is None else msgspec.json.encode(self.body)


class Stock:
    """What requests find, and a key that may do everything."""

    def __init__(self, services: Services, url: str) -> None:
        self.kb = KnowledgeBase(services)
        self.url = url
        self.token = self.kb.token("user:root", (SCOPE, TEAM, VAULT), ("admin", "auditor"))
        client = Client(url, self.kb.slug, self.token)
        parent, child = client.chain("guide", "steps")
        self.page = client.edit(parent.id, body="# Guide\n\nSee [[Steps]].\n").page
        self.child = client.made("details", parent=child.id, body="One\nTwo\nThree\n")
        self.other = client.made("other", body="See [[guide]].\n")
        self.away = client.made("away")
        gone = client.made("gone")
        client.delete(gone.id)
        self.gone = gone.id
        note = client.ask("POST", f"/pages/{self.page.id}/notes", {"text": "A", "scope": [SCOPE]})
        self.note = str(msgspec.json.decode(note.raw)["note"]["id"])
        pin = {"audience": [SCOPE]}
        client.ask("PUT", f"/pages/{self.page.id}/pins/page", pin)
        active = msgspec.json.decode(client.ask("GET", "/revisions/active").raw)
        self.time = str(active["committedAt"])
        self.hidden = client.ask("POST", "/pages", {"scope": VAULT, "name": "Codes"}).page
        made = [client.ask("POST", "/webhooks", _WEBHOOK).raw for _ in range(2)]
        webhooks = [str(msgspec.json.decode(raw)["webhook"]["id"]) for raw in made]
        self.webhook: str = webhooks[0]
        self.other_webhook: str = webhooks[1]
        with services.database.connected() as connection:
            connection.begin_write()
            for letter in _LETTERS:
                insert_letter(connection, self.kb.id, UUID(self.webhook), letter)
            connection.commit()
        client.close()

    def request(self, name: str) -> Request:
        """A good request of the operation."""
        return _GOOD[name](self)

    def path_of(self, request: Request) -> str:
        """The address, its placeholders filled in as they stand."""
        return request.operation.path.format(kb=self.kb.slug, **request.path)

    def headers_of(self, request: Request) -> dict[str, str]:
        headers = dict(request.headers)
        if request.operation.needs_key:
            headers["authorization"] = f"Bearer {self.token}"
        if request.body is not None:
            headers["content-type"] = "application/json"
        return headers


# Of this type no event comes any more: nothing is sent.
_WEBHOOK: dict[str, Json] = {
    "url": "https://receiver.invalid/",
    "types": ["knowledge_base.created"],
}
_LETTERS = tuple(
    DeadLetter(position=n, attempts=10, failed_at=1, last_status=None, last_error="timeout")
    for n in (1, 2)
)
_Make = Callable[[Stock], Request]


def _page(name: str, **more: Json) -> _Make:
    def make(stock: Stock) -> Request:
        body = more.get("body")
        return Request(
            name=name,
            path={"pageId": stock.page.id},
            query=more.get("query", {}),
            headers=more.get("headers", {}),
            body=body(stock) if callable(body) else body,
        )

    return make


def _plain(name: str, **query: str) -> _Make:
    return lambda stock: Request(name=name, query=query)


def _pin(name: str, body: Json) -> _Make:
    def make(stock: Stock) -> Request:
        return Request(name=name, path={"pageId": stock.page.id, "kind": "list"}, body=body)

    return make


def _note(name: str, body: Json = None) -> _Make:
    return lambda stock: Request(name=name, path={"noteId": stock.note}, body=body)


def _tool(name: str, arguments: Json) -> _Make:
    return lambda stock: Request(name=name, body=arguments)


def _webhook(name: str, **query: str) -> _Make:
    return lambda stock: Request(name=name, path={"webhookId": stock.webhook}, query=query)


def _operations(stock: Stock) -> list[Json]:
    """One of each operation that a commit can hold."""
    page, any_version = stock.page.id, {"expectedVersion": "any"}
    return [
        {"op": "create", "scope": SCOPE, "key": "made", "name": "Made", "body": "x\n"},
        {"op": "edit", "page": page, "name": "Named", **any_version},
        {"op": "move", "page": stock.other.id, "parent": "$0", **any_version},
        {"op": "merge", "page": stock.away.id, "into": "$0", **any_version},
        {"op": "delete", "page": stock.child.id, **any_version},
        {"op": "restore", "page": stock.gone, **any_version},
        {"op": "addNote", "page": page, "text": "A fact", "scope": [SCOPE]},
        {"op": "restampNote", "note": stock.note, "scope": [SCOPE]},
        {"op": "removeNote", "note": stock.note},
        {"op": "pin", "page": page, "kind": "list", "audience": [SCOPE], "depth": 2},
        {"op": "unpin", "page": page, "kind": "list"},
    ]


_ANY = {"if-match": "*"}
_JSON_CONFIGURATION = msgspec.json.decode(
    dump_configuration(load_configuration(CONFIGURATION, "toml"))
)
_GOOD: dict[str, _Make] = {
    "createPage": lambda stock: Request(
        name="createPage",
        body={
            "scope": SCOPE,
            "parent": stock.page.id,
            "key": "new",
            "name": "New",
            "description": "What is new",
            "body": "# New\n",
        },
    ),
    "findPage": _plain("findPage", ref=f"{SCOPE}#guide"),
    "readPage": _page("readPage"),
    "editPage": _page("editPage", headers=_ANY, body={"name": "Named", "body": "x\n"}),
    "movePage": _page("movePage", headers=_ANY, body=lambda s: {"parent": s.other.id, "key": "k"}),
    "mergePage": _page("mergePage", headers=_ANY, body=lambda s: {"into": s.other.id}),
    "restorePage": _page("restorePage", headers=_ANY, body={"version": 1}),
    "deletePage": _page("deletePage", headers=_ANY, query={"subtree": "true"}),
    "listChildren": _page("listChildren", query={"limit": "1"}),
    "listNotes": _page("listNotes", query={"limit": "1"}),
    "listPins": _page("listPins"),
    "listBacklinks": _page("listBacklinks", query={"limit": "1"}),
    "listHistory": _page("listHistory", query={"limit": "1", "newestFirst": "true"}),
    "readDiff": _page("readDiff", query={"from": "1", "to": "2"}),
    "addNote": _page("addNote", body={"text": "A fact", "scope": [SCOPE], "when": "2026-10-29"}),
    "readNote": _note("readNote"),
    "restampNote": _note("restampNote", {"scope": [SCOPE]}),
    "removeNote": _note("removeNote"),
    "setPin": _pin("setPin", {"audience": [SCOPE], "depth": 2}),
    "removePin": _pin("removePin", {"audience": [SCOPE]}),
    "listCommits": _plain("listCommits", after="1", limit="1"),
    "readCommit": lambda stock: Request(name="readCommit", path={"revision": "3"}),
    "listEvents": _plain("listEvents", after="1", limit="1", type="page.created"),
    "listDeletions": _plain("listDeletions", limit="1"),
    "commit": lambda stock: Request(
        name="commit", body={"message": "Several", "operations": _operations(stock)}
    ),
    "readActiveRevision": _plain("readActiveRevision"),
    "readRevisionAt": lambda stock: Request(name="readRevisionAt", query={"time": stock.time}),
    "listScopes": _plain("listScopes", limit="1"),
    "readConfiguration": _plain("readConfiguration"),
    "replaceConfiguration": lambda stock: Request(
        name="replaceConfiguration", headers=_ANY, body=_JSON_CONFIGURATION
    ),
    "createWebhook": lambda stock: Request(name="createWebhook", body={**_WEBHOOK, "after": 0}),
    "listWebhooks": _plain("listWebhooks", limit="1"),
    "readWebhook": _webhook("readWebhook"),
    "deleteWebhook": _webhook("deleteWebhook"),
    "listDeadLetters": _webhook("listDeadLetters", limit="1"),
    "redeliver": lambda stock: Request(
        name="redeliver", path={"webhookId": stock.webhook, "position": "1"}
    ),
    "readContext": _plain("readContext"),
    "listTools": _plain("listTools"),
    "knowledge_list": _tool("knowledge_list", {"from": SCOPE, "depth": 2, "limit": 1}),
    "knowledge_search": _tool(
        "knowledge_search", {"query": "guide steps", "scope": [SCOPE], "limit": 1}
    ),
    "knowledge_read": _tool(
        "knowledge_read", {"page": f"{SCOPE}#guide", "match": ["guide"], "from": {"line": 1}}
    ),
    "knowledge_activity": _tool("knowledge_activity", {"order": "oldest", "since": 1, "limit": 1}),
    "knowledge_page": _tool(
        "knowledge_page",
        {
            "op": "write",
            "page": f"{SCOPE}#guide/steps/details",
            "body": "Zwei\n",
            "range": {"start": {"line": 2}, "end": {"line": 2}},
            "expectedVersion": 1,
        },
    ),
    "knowledge_note": _tool(
        "knowledge_note",
        {"op": "add", "page": f"{SCOPE}#guide", "text": "A fact", "scope": [SCOPE]},
    ),
    "knowledge_pin": _tool(
        "knowledge_pin",
        {"op": "pin", "page": f"{SCOPE}#guide", "audience": [SCOPE], "kind": "list", "depth": 2},
    ),
    "readLiveness": _plain("readLiveness"),
    "readReadiness": _plain("readReadiness"),
    "readContract": _plain("readContract"),
}
