"""The 18F handbook's log read without the importer, and the store it was imported into."""

import lzma
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import httpx
import msgspec
from msgspec import Struct

from api.wiring import open_database
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.heads import read_head
from kbstore.store.texts import TextReader
from projections.scope_pages import ScopePage, scope_pages
from tests.acceptance.processes import ROOT, Ended, Json, command_of, done, start, url_of
from tests.oplog_model import State

LOG = ROOT.parent / "shared" / "data" / "18f-handbook.jsonl.xz"
SCOPE = "org:18f"
SLUG = "handbook"

Place = Mapping[str, tuple[UUID, str | None]]
"""Each page's path with its id and the SHA-256 of its body, None where it only groups."""


class Imported(Struct, frozen=True):
    """A database that the handbook was imported into, with a key that reads all of it."""

    database: Path
    key: str
    ended: Ended

    @property
    def report(self) -> Json:
        return self.ended.json

    @property
    def revisions(self) -> dict[int, int]:
        return {int(n): revision for n, revision in self.report["revisions"].items()}


def new_handbook(database: Path) -> str:
    """An empty knowledge base; gives a key that reads everything in it."""
    done(database, "kb", "create", SLUG)
    made = done(
        database,
        *("key", "create", "--kb", SLUG, "--principal", "user:reader"),
        *("--hold", SCOPE, "--auditor"),
    )
    return str(made["key"])


def start_import(database: Path) -> "subprocess.Popen[str]":
    return start(command_of(database, "import", SLUG, LOG, "--scope", SCOPE))


def await_revision(database: Path, revision: int, seconds: float) -> None:
    """Returns once another process has brought the head that far."""
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    end = time.monotonic() + seconds
    try:
        while connection.execute("SELECT max(revision) FROM heads").fetchone()[0] < revision:
            assert time.monotonic() < end, f"revision {revision} was not reached"
            time.sleep(0.05)
    finally:
        connection.close()


def read_lines() -> list[Json]:
    with lzma.open(LOG) as file:
        return [msgspec.json.decode(line, type=Json) for line in file]


class Store:
    """The pages of the imported scope, read from the database at any revision."""

    def __init__(self, imported: Imported) -> None:
        self._database = open_database(url_of(imported.database))
        self._reader = self._database.reader()
        found = find_knowledge_base(self._reader, SLUG)
        assert found is not None
        head = read_head(self._reader, found.kb_id)
        assert head is not None
        self.head = head
        texts = TextReader(self._reader, found.kb_id)
        self._hash = lru_cache(None)(lambda ref: hash_of(texts.text(ref)))
        self.text = texts.text

    def close(self) -> None:
        self._database.close()

    def places(self, revision: int) -> Place:
        return {
            path: (page.page_id, self._hash(page.body.text) if page.body else None)
            for path, page in self._walk(revision)
        }

    def state(self, revision: int) -> State:
        return files_of(self.places(revision))

    def bodies(self, revision: int) -> dict[str, str]:
        """Each file's path with the body of its page."""
        return {
            f"{path}.md": self.text(page.body.text)
            for path, page in self._walk(revision)
            if page.body is not None
        }

    def _walk(self, revision: int) -> Iterator[tuple[str, ScopePage]]:
        paths: dict[UUID, str] = {}
        for page in scope_pages(self._reader, self.head, SCOPE, revision):
            if page.parent_id is None:
                paths[page.page_id] = ""
                assert page.body is None
                continue
            above = paths[page.parent_id]
            path = paths[page.page_id] = f"{above}/{page.key}" if above else f"{page.key}"
            yield path, page


def files_of(places: Place) -> State:
    return frozenset((f"{path}.md", body) for path, (_, body) in places.items() if body is not None)


def read_over_http(client: httpx.Client, revision: int) -> Place:
    """The whole tree at a revision: its children lists walked, its bodies read page by page."""
    at = {"revision": revision}
    top = get(client, "/pages", {"ref": SCOPE, **at})["page"]
    found: dict[str, tuple[UUID, str | None]] = {}
    folders = [top["id"]]
    while folders:
        folder = folders.pop()
        cursor: dict[str, str] = {}
        while True:
            listed = get(client, f"/pages/{folder}/children", {"limit": 200, **at, **cursor})
            for item in listed["items"]:
                if item["children"]:
                    folders.append(item["id"])
                page = get(client, f"/pages/{item['id']}", at)["page"]
                assert page["ref"] == f"{SCOPE}#{page['path']}"
                body = None if page["body"] is None else hash_of(page["body"])
                found[page["path"]] = (UUID(page["id"]), body)
            if listed["nextCursor"] is None:
                break
            cursor = {"cursor": listed["nextCursor"]}
    return found


def get(client: httpx.Client, path: str, parameters: Mapping[str, str | int]) -> Json:
    answer = client.get(path, params=dict(parameters))
    assert answer.status_code == 200, answer.text
    value: Json = msgspec.json.decode(answer.content)
    assert value["revision"] == parameters.get("revision", value["revision"])
    return value


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()
