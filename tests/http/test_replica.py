"""A read replica: it answers reads, and whatever state it is in, no answer is older for it."""

from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from api.wiring import Services, build_services, locate_replica, open_database
from kbstore.store.connection import Connection
from tests.backends import PostgresServer, postgres_server
from tests.http.world import World, code_of, create, serve
from tests.replicas import pause, replica_of, resume

ANY = {"If-Match": "*"}


class Reader:
    """Counts how often a replica was asked for its connection."""

    def __init__(self, services: Services, patch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        assert services.replica is not None
        reader = services.replica.reader

        def counted() -> Connection:
            self.asked += 1
            return reader()

        patch.setattr(services.replica, "reader", counted)


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    with postgres_server() as primary, replica_of(primary) as replica:
        yield primary, replica


@pytest.fixture
def served(servers: tuple[PostgresServer, PostgresServer]) -> Iterator[World]:
    primary, replica = servers
    url = primary.new_database()
    replicated = url.replace(str(primary.folder), str(replica.folder))
    services = build_services(open_database(url), replica=locate_replica(replicated))
    with closing(services), serve(services) as address:
        world = World(services, address)
        yield world
        world.close()


def test_reads_go_to_the_replica_and_writes_do_not(
    served: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = served.client("org:acme")
    page = create(client, "A", body="one")
    reader = Reader(served.services, monkeypatch)
    create(client, "B")
    assert reader.asked == 0
    shown = client.get(f"/pages/{page['id']}").json()
    assert shown["page"]["body"] == "one"
    assert reader.asked > 0


def test_a_read_sees_every_write_that_was_answered(served: World) -> None:
    client = served.client("org:acme")
    page = create(client, "0")
    for number in range(1, 100):
        written = client.patch(
            f"/pages/{page['id']}", json={"name": str(number)}, headers={"If-Match": "*"}
        ).json()
        shown = client.get(f"/pages/{page['id']}").json()
        assert (shown["revision"], shown["page"]["name"]) == (written["revision"], str(number))
        pinned = client.get(f"/pages/{page['id']}?revision={written['revision'] - 1}").json()
        assert pinned["page"]["name"] == str(number - 1)


def test_from_a_replica_that_lags_nothing_old_is_answered(
    served: World, servers: tuple[PostgresServer, PostgresServer]
) -> None:
    acme = '[scopes."org:acme"]\naccess = [{ principal = "self", role = "owner" }%s]\n'
    guests = '[scopes."guest:$who"]\n'
    client = served.client("org:acme")
    guest = served.client("guest:bob", principal="user:bob")
    page = create(client, "Old")
    served.configure(acme % ', { principal = "guest:bob", role = "viewer" }' + guests)
    assert guest.get(f"/pages/{page['id']}").status_code == 200
    pause(servers[1])
    try:
        written = client.patch(
            f"/pages/{page['id']}", json={"name": "New"}, headers={"If-Match": "*"}
        ).json()
        revision = written["revision"]
        for query in ("", f"?minRevision={revision}", f"?revision={revision}"):
            shown = client.get(f"/pages/{page['id']}{query}").json()
            assert (shown["revision"], shown["page"]["name"]) == (revision, "New")
        # Who may see what is never older either, at old revisions too.
        served.configure(acme % "" + guests)
        hidden = guest.get(f"/pages/{page['id']}?revision={revision - 1}")
        assert (hidden.status_code, code_of(hidden)) == (404, "NOT_FOUND")
        token = client.headers["Authorization"].split("_")[1]
        served.services.commands.catalogue.revoke_key(token)
        assert client.get("/revisions/active").status_code == 401
    finally:
        resume(servers[1])


def test_a_database_that_is_a_replica_no_more_is_not_asked(
    servers: tuple[PostgresServer, PostgresServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was promoted and written to, so its revisions are of another history."""
    primary = servers[0]
    with replica_of(primary) as replica:
        url = primary.new_database()
        replicated = url.replace(str(primary.folder), str(replica.folder))
        services = build_services(open_database(url), replica=locate_replica(replicated))
        with closing(services), serve(services) as address, closing(World(services, address)) as a:
            client = a.client("org:acme")
            page = create(client, "Ours")
            assert client.get(f"/pages/{page['id']}").status_code == 200
            replica.run("SELECT pg_promote()")
            diverged = build_services(open_database(replicated))
            with (
                closing(diverged),
                serve(diverged) as elsewhere,
                httpx.Client(
                    base_url=str(client.base_url).replace(address, elsewhere),
                    headers=client.headers,
                    timeout=20,
                ) as there,
            ):
                for number in range(5):
                    theirs = {"name": f"Theirs {number}"}
                    edited = there.patch(f"/pages/{page['id']}", json=theirs, headers=ANY)
                    assert edited.status_code == 200
            for _ in range(3):
                assert client.get(f"/pages/{page['id']}").json()["page"]["name"] == "Ours"
                create(client, "More")
            monkeypatch.setattr("api.reads._REPLICA_PAUSE_SECONDS", 0.0)
            create(client, "More")
            assert client.get(f"/pages/{page['id']}").json()["page"]["name"] == "Ours"


def test_a_replica_that_is_gone_is_done_without_and_used_again(
    served: World,
    servers: tuple[PostgresServer, PostgresServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.reads._REPLICA_PAUSE_SECONDS", 0.0)
    client = served.client("org:acme")
    page = create(client, "A")
    assert client.get(f"/pages/{page['id']}").status_code == 200
    servers[1].stop("immediate")
    try:
        for number in range(5):
            answer = client.get(f"/pages/{page['id']}?revision={answer_revision(client)}")
            assert answer.json()["page"]["name"] == "A", number
    finally:
        servers[1].start()
    reader = Reader(served.services, monkeypatch)
    create(client, "B")
    assert client.get(f"/pages/{page['id']}").status_code == 200
    assert reader.asked > 0


def answer_revision(client: object) -> int:
    revision = client.get("/revisions/active").json()["revision"]  # type: ignore[attr-defined]
    assert isinstance(revision, int)
    return revision
