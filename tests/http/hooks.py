"""Webhooks as tests make and look at them."""

import httpx

from api.settings import Settings, WebhookSettings
from tests.backends import change
from tests.http.world import Json, World

HASTY = WebhookSettings(
    allow_private=True,
    attempts_max=3,
    backoff_seconds_min=0.05,
    backoff_seconds_max=0.2,
    connect_seconds_max=2.0,
    answer_seconds_max=2.0,
    lease_seconds=6.0,
    record_seconds=0.05,
    poll_seconds=0.1,
)
"""Does what the limits say in a fraction of the time."""

SETTINGS = Settings(webhooks=HASTY)


def hook(client: httpx.Client, url: object, **fields: object) -> Json:
    """A new webhook, with its secret."""
    response = client.post("/webhooks", json={"url": url, **fields})
    assert response.status_code == 201, response.text
    made = response.json()
    return {**made["webhook"], "secret": made["secret"]}


def state(client: httpx.Client, webhook: Json) -> Json:
    response = client.get(f"/webhooks/{webhook['id']}")
    assert response.status_code == 200, response.text
    return response.json()["webhook"]


def dead_letters(client: httpx.Client, webhook: Json) -> list[Json]:
    response = client.get(f"/webhooks/{webhook['id']}/dead-letters")
    assert response.status_code == 200, response.text
    items: list[Json] = response.json()["items"]
    return items


def redeliver(client: httpx.Client, webhook: Json, position: int) -> httpx.Response:
    return client.post(f"/webhooks/{webhook['id']}/dead-letters/{position}/redeliver")


def forget_webhooks(world: World) -> None:
    """Ends what a server that goes on living would go on doing for a test's webhooks."""
    with world.services.database.connected() as connection:
        change(connection, "DELETE FROM webhooks WHERE kb_id = ?", world.kb_id.bytes)
