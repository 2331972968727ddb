"""What is hidden looks like what never was: status, body and headers, byte for byte.

Only the request's id and the date may differ, and the id that was asked for is the asker's.
"""

import re
from collections.abc import Iterator
from uuid import UUID, uuid4

import msgspec
import pytest

from tests.asking import Client
from tests.badinput.sending import Answer, Headers, Sender
from tests.badinput.stock import BY_NAME, READS, Request, Stock
from tests.http.world import Json
from tests.knowledge import SCOPE, VAULT

ABOUT_PAGES = [name for name, operation in BY_NAME.items() if "{pageId}" in operation.path]
ABOUT_NOTES = [name for name, operation in BY_NAME.items() if "{noteId}" in operation.path]
NEVER = "vault:never"
VARIANTS: list[tuple[bytes | None, Headers]] = [
    (None, {}),
    (b'{"unheardOf": 1}', {}),
    (b"{}", {}),
    (None, {"if-match": ""}),
    (None, {"if-match": '"7"'}),
    (None, {"if-match": "nonsense"}),
    (None, {"idempotency-key": "once"}),
    (None, {"if-none-match": "*"}),
    (None, {"kb-message": "é" * 2_000}),
]
"""A good request and bad ones: no fault may be told before the page is seen to be there."""


class Secrets(Stock):
    """A stock with pages, notes and a history in a scope that `ben` can see nothing of."""

    def __init__(self, known: Stock) -> None:
        super().__init__(known.kb.services, known.url)
        client = Client(self.url, self.kb.slug, self.token)
        fields = {"scope": VAULT, "name": "Codes", "body": "# Codes\n"}
        page = client.ask("POST", "/pages", {**fields, "key": "codes"}).page
        client.edit(page.id, name="Numbers")
        client.move(page.id, key="moved")
        merged = client.ask("POST", "/pages", {**fields, "key": "merged"}).page
        client.merge(merged.id, page.id)
        deleted = client.ask("POST", "/pages", {**fields, "key": "deleted"}).page
        client.delete(deleted.id)
        taken = client.made("taken")
        client.move(taken.id, scope=VAULT)
        note = {"text": "A", "scope": [VAULT]}
        client.ask("POST", f"/pages/{page.id}/notes", note)
        answer = client.ask("POST", f"/pages/{self.page.id}/notes", note)
        self.hidden_note = str(msgspec.json.decode(answer.raw)["note"]["id"])
        self.hidden_pages = [self.hidden.id, page.id, merged.id, deleted.id, taken.id]
        client.close()
        self.token = self.kb.token("user:ben", (SCOPE,))


@pytest.fixture(scope="module")
def secrets(stock: Stock) -> Secrets:
    return Secrets(stock)


@pytest.fixture
def ben(secrets: Secrets) -> Iterator[Sender]:
    with secrets.kb.nothing_written(), Sender(secrets) as sender:
        yield sender


def comparable(answer: Answer, *asked: str) -> tuple[int, dict[str, str], str]:
    """The answer without the request's id and the date; what was asked for is left out."""
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name not in ("x-request-id", "date")
    }
    body = re.sub(r'"requestId":"[^"]*"', "", answer.raw.decode())
    for word in asked:
        body = body.replace(word, "-" * len(word))
    return answer.status, headers, body


def twins(
    ben: Sender, hidden: Request, missing: Request, words: tuple[str, str], **how: Json
) -> None:
    """Both requests have to get the same answer, a refusal."""
    found, absent = ben(hidden, **how), ben(missing, **how)
    assert 400 <= found.status < 500, found
    assert comparable(found, words[0]) == comparable(absent, words[1])


def put(request: Request, name: str, value: str) -> Request:
    return msgspec.structs.replace(request, path={**request.path, name: value})


@pytest.mark.parametrize("name", ABOUT_PAGES)
def test_a_hidden_page_looks_missing(ben: Sender, secrets: Secrets, name: str) -> None:
    good = ben.good(name)
    for hidden in secrets.hidden_pages:
        for raw, headers in VARIANTS:
            if raw is not None and good.operation.body is None:
                continue
            never = str(_like(hidden))
            requests = (put(good, "pageId", hidden), put(good, "pageId", never))
            twins(ben, *requests, (hidden, never), raw=raw, headers=headers)


@pytest.mark.parametrize("name", [name for name in ABOUT_PAGES if name in READS])
def test_a_hidden_page_looks_missing_at_every_revision(
    ben: Sender, secrets: Secrets, name: str
) -> None:
    good = ben.good(name)
    for hidden in secrets.hidden_pages:
        never = str(_like(hidden))
        for revision in range(1, secrets.kb.revision + 1):
            query = "&".join(f"{key}={value}" for key, value in good.query.items())
            query += f"&revision={revision}" if query else f"revision={revision}"
            requests = (put(good, "pageId", hidden), put(good, "pageId", never))
            twins(ben, *requests, (hidden, never), query=query)


@pytest.mark.parametrize("name", ABOUT_NOTES)
def test_a_hidden_note_looks_missing(ben: Sender, secrets: Secrets, name: str) -> None:
    good, never = ben.good(name), str(uuid4())
    hidden = secrets.hidden_note
    for raw, headers in VARIANTS:
        if raw is not None and good.operation.body is None:
            continue
        requests = (put(good, "noteId", hidden), put(good, "noteId", never))
        twins(ben, *requests, (hidden, never), raw=raw, headers=headers)


@pytest.mark.parametrize("path", ["", "#codes", "#moved", "#merged", "#deleted", "#taken", "#x"])
def test_a_hidden_ref_looks_missing(ben: Sender, path: str) -> None:
    good = ben.good("findPage")
    hidden, missing = f"{VAULT}{path}", f"{NEVER}{path}"
    requests = [msgspec.structs.replace(good, query={"ref": ref}) for ref in (hidden, missing)]
    found, absent = (ben(request) for request in requests)
    assert found.status == absent.status == 404
    longer = len(NEVER) - len(VAULT)
    first, second = comparable(found, hidden), comparable(absent, missing)
    assert first[2] == second[2].replace("-" * len(missing), "-" * len(hidden))
    lengths = [int(answer.headers.pop("content-length")) for answer in (absent, found)]
    assert lengths[0] - lengths[1] == longer
    assert comparable(found)[1] == comparable(absent)[1]


def test_a_hidden_scope_looks_undeclared(ben: Sender, secrets: Secrets) -> None:
    """As the scope of a new page, a stamp, an audience and the place of a move."""
    never = "x" * len("vault") + VAULT[len("vault") :]
    for name, field in (("createPage", "scope"), ("movePage", "scope")):
        good = ben.good(name)
        bodies = [{**good.body, field: scope} for scope in (VAULT, never)]
        for body in bodies:
            body.pop("parent")
        requests = [msgspec.structs.replace(good, body=body) for body in bodies]
        twins(ben, requests[0], requests[1], (VAULT, never))
    for name, field in (("addNote", "scope"), ("restampNote", "scope"), ("setPin", "audience")):
        good = ben.good(name)
        bodies = [{**good.body, field: [SCOPE, scope]} for scope in (VAULT, never)]
        requests = [msgspec.structs.replace(good, body=body) for body in bodies]
        twins(ben, requests[0], requests[1], (VAULT, never))


@pytest.mark.parametrize(
    ("name", "field"), [("createPage", "parent"), ("movePage", "parent"), ("mergePage", "into")]
)
def test_a_hidden_page_in_a_body_looks_missing(
    ben: Sender, secrets: Secrets, name: str, field: str
) -> None:
    good = ben.good(name)
    for hidden in secrets.hidden_pages:
        never = str(_like(hidden))
        requests = [
            msgspec.structs.replace(good, body={**good.body, field: page})
            for page in (hidden, never)
        ]
        twins(ben, requests[0], requests[1], (hidden, never))


def test_hidden_targets_in_a_commit_look_missing(ben: Sender, secrets: Secrets) -> None:
    good = ben.good("commit")
    for hidden in secrets.hidden_pages:
        never = str(_like(hidden))
        for op in ({"op": "edit", "name": "x"}, {"op": "delete"}, {"op": "restore", "version": 1}):
            for expected in ("any", 1, 99):
                bodies = [
                    {"operations": [{**op, "page": page, "expectedVersion": expected}]}
                    for page in (hidden, never)
                ]
                requests = [msgspec.structs.replace(good, body=body) for body in bodies]
                twins(ben, requests[0], requests[1], (hidden, never))


def test_hidden_commits_look_missing(ben: Sender, secrets: Secrets) -> None:
    """A commit that changed nothing the reader sees is as one that was never made."""
    good = ben.good("readCommit")
    head = secrets.kb.revision
    hidden = head - 1  # a note for the vault alone
    above = 10 ** (len(str(head))) - 1
    requests = (put(good, "revision", str(hidden)), put(good, "revision", str(above)))
    twins(ben, *requests, (f"Commit {hidden} ", f"Commit {above} "))


def _like(known: str) -> UUID:
    """An id that nothing has, of the same version."""
    version = UUID(known).version
    made = uuid4().int & ~(0xF << 76) | (version or 4) << 76
    return UUID(int=made)
