"""A reader of `/events/stream`, and what it saw."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from msgspec import Struct


class Sent(Struct, frozen=True):
    """One part of a stream; a comment has neither id nor data."""

    event: str | None
    id: int | None
    data: dict[str, object] | None


@contextmanager
def following(
    client: httpx.Client, last_event_id: int | None = None, **parameters: object
) -> Iterator[Iterator[Sent]]:
    """The parts as they come; the stream is left when the block ends."""
    headers = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
    given = {name: str(value) for name, value in parameters.items()}
    with client.stream("GET", "/events/stream", params=given, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream"
        yield _parts(response.iter_lines())


def _parts(lines: Iterator[str]) -> Iterator[Sent]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        data = fields.get("data")
        yield Sent(
            fields.get("event"),
            int(fields["id"]) if "id" in fields else None,
            None if data is None else json.loads(data),
        )
        fields = {}


def events(parts: Iterator[Sent], count: int) -> list[dict[str, object]]:
    """The next events, whatever else comes between them."""
    found: list[dict[str, object]] = []
    while len(found) < count:
        part = next(parts)
        if part.data is not None:
            assert part.event != "error", part
            assert part.id == part.data["position"]
            found.append(part.data)
    return found
