"""A served knowledge base for tests: its keys, its clients, and a server that is really there."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from api.app import create_app
from api.settings import Settings
from api.wiring import Services, open_services
from kbstore.access import Caller, dump_configuration, load_configuration
from kbstore.domain.commands import Configure
from kbstore.service import CommandRequest
from kbstore.store.commits import Origin
from kbstore.texts import prepare_text

Json = Any
"""The body of an answer: tests look into it freely."""

CONFIGURATION = """
[scopes."org:acme"]
access = [{ principal = "self", role = "owner" }]
description = "The handbook of Acme"

[[scopes."org:acme".pages]]
key = "welcome"
name = "Welcome"
description = "Where to begin"
body = "# Welcome\\n\\nStart here.\\n"

[scopes."org:other"]
access = [{ principal = "self", role = "owner" }]

[scopes."team:acme:$team"]
access = [
  { principal = "self", role = "owner" },
  { principal = "org:acme", role = "viewer" },
]

[scopes."guest:$who"]
access = [{ principal = "self", role = "viewer" }]
"""


class World:
    """One knowledge base behind one server."""

    def __init__(self, services: Services, url: str, slug: str = "handbook") -> None:
        self.services = services
        self.url = url
        self.slug = slug
        origin = Origin(actor="user:admin")
        self.kb_id = services.commands.create_knowledge_base(slug, origin)
        self.configure(CONFIGURATION)
        self._clients: list[httpx.Client] = []

    def configure(self, toml: str) -> int:
        """Sets the configuration past HTTP; gives the revision."""
        text = dump_configuration(load_configuration(toml, "toml"))
        commands = self.services.commands
        request = CommandRequest(
            kb_id=self.kb_id,
            caller=Caller(principal="user:admin", grants=frozenset({"admin"})),
            command=Configure(configuration=prepare_text(text, commands.ids)),
            origin=Origin(actor="user:admin"),
        )
        return commands.execute(request).result().revision

    def token(self, *held: str, principal: str = "user:ann", grants: tuple[str, ...] = ()) -> str:
        _, token = self.services.commands.catalogue.create_key(
            self.kb_id, principal, frozenset(held), frozenset(grants)
        )
        return token

    def client(
        self, *held: str, principal: str = "user:ann", grants: tuple[str, ...] = ()
    ) -> httpx.Client:
        """A client whose addresses start at the knowledge base."""
        token = self.token(*held, principal=principal, grants=grants)
        client = httpx.Client(
            base_url=f"{self.url}/openapi/v2/knowledge-bases/{self.slug}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=20,
        )
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def serve(
    services: Services, settings: Settings | None = None, listener: socket.socket | None = None
) -> Iterator[str]:
    """The URL of a server that runs in a thread for the length of the block."""
    config = uvicorn.Config(
        create_app(services, settings), port=0, log_config=None, access_log=False, lifespan="on"
    )
    server = uvicorn.Server(config)
    sockets = None if listener is None else [listener]
    thread = threading.Thread(target=server.run, args=(sockets,), daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < deadline, "the server took too long to start"
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=20)
        assert not thread.is_alive(), "the server did not stop"


@contextmanager
def served_world(database_url: str, settings: Settings | None = None) -> Iterator[World]:
    """A new knowledge base in a database where there is none yet, served."""
    with open_services(database_url) as services, serve(services, settings) as url:
        world = World(services, url)
        try:
            yield world
        finally:
            world.close()


def create(client: httpx.Client, name: str, **fields: object) -> Json:
    """The page a create answers with."""
    response = client.post("/pages", json={"scope": "org:acme", "name": name, **fields})
    assert response.status_code == 201, response.text
    return response.json()["page"]


def code_of(response: httpx.Response) -> str:
    return str(response.json()["error"]["code"])


def details_of(response: httpx.Response) -> Json:
    return response.json()["error"].get("details", {})


def if_match(page: Json) -> dict[str, str]:
    return {"If-Match": f'"{page["version"]}"'}
