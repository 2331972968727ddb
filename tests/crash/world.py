"""A knowledge base that real servers are started on, ended and killed over."""

from pathlib import Path

import httpx
from msgspec import Struct

from tests.acceptance.logs import SCOPE, SLUG, new_database
from tests.acceptance.processes import Json, Served, Where, invoked

CONFIGURATION = """
[scopes."org:$org"]
access = [{ principal = "self", role = "owner" }]
"""


class World(Struct, frozen=True):
    """The database, a key that may write and read everything in SCOPE, and a folder for files."""

    folder: Path
    database: Where
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def client_of(self, served: Served) -> httpx.Client:
        return served.client(SLUG, self.key)


def new_world(folder: Path, url: str | None = None) -> World:
    """A new knowledge base in a database without rows: this one, else a file in `folder`."""
    database: Where
    if url is None:
        database = new_database(folder)
    else:
        database = url
        invoked(database, "kb", "create", SLUG)
    configuration = folder / "configuration.toml"
    configuration.write_text(CONFIGURATION, "utf-8")
    invoked(database, "kb", "configure", SLUG, configuration)
    made = invoked(
        database,
        *("key", "create", "--kb", SLUG, "--principal", "user:writer"),
        *("--hold", SCOPE, "--auditor"),
    )
    return World(folder, database, str(made["key"]))


def page_names(client: httpx.Client) -> dict[str, str]:
    """Every page right below the scope page, by id with its name."""
    top = client.get("/pages", params={"ref": SCOPE}).json()["page"]["id"]
    found: dict[str, str] = {}
    cursor: dict[str, str] = {}
    while True:
        answer = client.get(f"/pages/{top}/children", params={"limit": "200", **cursor})
        assert answer.status_code == 200, answer.text
        listed: Json = answer.json()
        found.update({item["id"]: item["name"] for item in listed["items"]})
        if listed["nextCursor"] is None:
            return found
        cursor = {"cursor": listed["nextCursor"]}
