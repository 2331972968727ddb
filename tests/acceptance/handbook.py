"""The 18F handbook's log read without the importer, and the store it was imported into."""

import lzma
import sqlite3
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

import httpx
import msgspec
from msgspec import Struct

from tests.acceptance.pages import Places, hash_of
from tests.acceptance.processes import ROOT, Ended, Json, command_of, done, start

LOG = ROOT.parent / "shared" / "data" / "18f-handbook.jsonl.xz"
SCOPE = "org:18f"
SLUG = "handbook"


class Imported(Struct, frozen=True):
    """A database that the handbook was imported into, with a key that reads all of it."""

    database: str
    key: str
    ended: Ended

    @property
    def path(self) -> Path:
        return Path(self.database)

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
        while head_of(connection) < revision:
            assert time.monotonic() < end, f"revision {revision} was not reached"
            time.sleep(0.02)
    finally:
        connection.close()


def head_of(connection: sqlite3.Connection) -> int:
    """The head of the only knowledge base, 0 while there is none."""
    try:
        return int(connection.execute("SELECT max(revision) FROM heads").fetchone()[0] or 0)
    except sqlite3.OperationalError:
        return 0


def read_lines() -> list[Json]:
    with lzma.open(LOG) as file:
        return [msgspec.json.decode(line, type=Json) for line in file]


def read_over_http(client: httpx.Client, revision: int) -> Places:
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
