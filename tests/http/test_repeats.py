"""Answers that are kept: the same while nothing is written, and never a moment longer."""

import httpx

from api.settings import Settings
from api.wiring import open_services
from tests.http.world import World, create, serve, served_world


def test_a_kept_answer_is_the_same_answer(owner: httpx.Client) -> None:
    page = create(owner, "A", body="text")
    first, second = (owner.get(f"/pages/{page['id']}") for _ in range(2))
    assert first.content == second.content
    varying = {"x-request-id", "date"}
    kept = {name: value for name, value in second.headers.items() if name not in varying}
    assert kept == {name: value for name, value in first.headers.items() if name not in varying}
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


def test_what_another_process_writes_is_seen_at_once(database_url: str) -> None:
    with served_world(database_url) as world:
        client = world.client("org:acme")
        page = create(client, "0")
        path = f"/pages/{page['id']}"
        with open_services(database_url) as services, serve(services) as url:
            other = httpx.Client(
                base_url=f"{url}/openapi/v2/knowledge-bases/{world.slug}", headers=client.headers
            )
            with other:
                for number in range(1, 20):
                    writer, reader = (client, other) if number % 2 else (other, client)
                    reader.get(path)
                    writer.patch(path, json={"name": str(number)}, headers={"If-Match": "*"})
                    assert reader.get(path).json()["page"]["name"] == str(number)


def test_a_revoked_key_stops_at_once(world: World, owner: httpx.Client) -> None:
    page = create(owner, "A")
    token = world.token("org:acme")
    url = f"{owner.base_url}pages/{page['id']}"
    headers = {"Authorization": f"Bearer {token}"}
    assert [httpx.get(url, headers=headers).status_code for _ in range(2)] == [200, 200]
    world.services.commands.catalogue.revoke_key(token.split("_")[1])
    assert httpx.get(url, headers=headers).status_code == 401


def test_answers_are_kept_apart_by_who_asks(world: World, owner: httpx.Client) -> None:
    page = create(owner, "A")
    path = f"/pages/{page['id']}"
    for _ in range(2):
        assert owner.get(path).status_code == 200
        assert owner.get(path, headers={"KB-Scopes": "org:other"}).status_code == 404
        assert world.client("org:other", principal="user:eve").get(path).status_code == 404
        assert httpx.get(f"{owner.base_url}pages/{page['id']}").status_code == 401


def test_nothing_needs_to_be_kept(database_url: str) -> None:
    with served_world(database_url, Settings(answer_cache_bytes=0)) as world:
        client = world.client("org:acme")
        page = create(client, "A")
        first, second = (client.get(f"/pages/{page['id']}") for _ in range(2))
        assert first.content == second.content
