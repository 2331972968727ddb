"""`/events/stream`: events as they come, once each and in order, under today's access."""

import socket
import threading
import time
from contextlib import ExitStack, closing
from itertools import islice
from urllib.parse import urlsplit

import httpx
import pytest

from api.settings import Settings
from api.wiring import open_services
from tests.backends import NewUrl
from tests.http.following import events, following
from tests.http.world import World, code_of, create, serve


def listed(client: httpx.Client, **parameters: str) -> list[dict[str, object]]:
    answer = client.get("/events", params={"limit": "200", **parameters}).json()
    assert answer["nextCursor"] is None
    items: list[dict[str, object]] = answer["items"]
    return items


def test_a_stream_from_the_start_is_the_list_of_events(owner: httpx.Client) -> None:
    for number in range(5):
        create(owner, f"Page {number}", body="text")
    whole = listed(owner)
    with following(owner, after=0) as parts:
        assert events(parts, len(whole)) == whole


def test_without_a_place_a_stream_begins_with_what_is_to_come(owner: httpx.Client) -> None:
    create(owner, "Before")
    with following(owner) as parts:
        first = next(parts)
        assert (first.event, first.data) == (None, None)
        assert first.id is not None
        page = create(owner, "After")
        (event,) = events(parts, 1)
    assert (event["pageId"], event["type"]) == (page["id"], "page.created")
    assert event["position"] == first.id + 1


def test_a_reader_goes_on_after_the_last_event_it_saw(owner: httpx.Client) -> None:
    create(owner, "First")
    with following(owner, after=0) as parts:
        seen = events(parts, 1)
    for number in range(3):
        create(owner, f"Missed {number}")
    position = seen[-1]["position"]
    assert isinstance(position, int)
    whole = listed(owner)
    with following(owner, last_event_id=position, after=0) as parts:
        seen += events(parts, len(whole) - 1)
    assert seen == whole


def test_what_a_reader_may_not_see_is_passed_over(world: World, owner: httpx.Client) -> None:
    other = world.client("org:other", principal="user:eve")
    with following(other, after=0) as parts:
        next(parts)
        create(owner, "Hidden")
        shown = other.post("/pages", json={"scope": "org:other", "name": "Shown"}).json()["page"]
        found = events(parts, 1)
        while found[-1]["pageId"] != shown["id"]:
            found += events(parts, 1)
    assert found == listed(other)


def test_a_stream_may_be_of_one_page_type_or_actor(owner: httpx.Client) -> None:
    page = create(owner, "A", body="x")
    create(owner, "B")
    owner.patch(f"/pages/{page['id']}", json={"body": "y"}, headers={"If-Match": "*"})
    with following(owner, after=0, pageId=page["id"], type="page.edited") as parts:
        (event,) = events(parts, 1)
    assert (event["pageId"], event["type"]) == (page["id"], "page.edited")


def test_a_key_that_is_revoked_ends_its_stream(world: World, owner: httpx.Client) -> None:
    token = world.token("org:acme", principal="user:bob")
    client = httpx.Client(base_url=owner.base_url, headers={"Authorization": f"Bearer {token}"})
    with client, following(client) as parts:
        next(parts)
        world.services.commands.catalogue.revoke_key(token.split("_")[1])
        create(owner, "Secret")
        last = next(parts)
        assert last.event == "error"
        assert last.data is not None
        assert last.data["code"] == "UNAUTHENTICATED"
        assert list(parts) == []


def test_access_that_is_taken_away_hides_what_comes(world: World, owner: httpx.Client) -> None:
    acme = 'access = [{ principal = "self", role = "owner" }%s]\n[scopes."guest:$who"]\n'
    closed = '[scopes."org:acme"]\n' + acme % ""
    opened = '[scopes."org:acme"]\n' + acme % ', { principal = "guest:bob", role = "viewer" }'
    create(owner, "Before")
    guest = world.client("guest:bob", principal="user:bob")
    world.configure(opened)
    with following(guest) as parts:
        next(parts)
        seen = create(owner, "Seen")
        assert events(parts, 1)[0]["pageId"] == seen["id"]
        world.configure(closed)
        create(owner, "Hidden while it came")
        time.sleep(0.5)
        world.configure(opened)
        last = create(owner, "Seen again")
        assert events(parts, 1)[0]["pageId"] == last["id"]


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "9" * 30])
def test_a_last_event_id_that_is_none_is_refused(owner: httpx.Client, given: str) -> None:
    answer = owner.get("/events/stream", headers={"Last-Event-ID": given})
    assert (answer.status_code, code_of(answer)) == (422, "VALIDATION_ERROR")


def test_without_a_key_there_is_no_stream(owner: httpx.Client) -> None:
    answer = httpx.get(f"{owner.base_url}events/stream")
    assert (answer.status_code, code_of(answer)) == (401, "UNAUTHENTICATED")


def test_a_stream_that_has_nothing_to_say_beats(new_url: NewUrl) -> None:
    with (
        open_services(new_url()) as services,
        serve(services, Settings(heartbeat_seconds=0.05)) as url,
    ):
        world = World(services, url)
        with following(world.client("org:acme")) as parts:
            next(parts)
            beats = [next(parts) for _ in range(3)]
        world.close()
    assert all((beat.event, beat.id, beat.data) == (None, None, None) for beat in beats)


def test_what_a_reader_does_not_see_puts_no_heartbeat_off(new_url: NewUrl) -> None:
    with (
        open_services(new_url()) as services,
        serve(services, Settings(heartbeat_seconds=0.2)) as url,
        closing(World(services, url)) as world,
    ):
        writer, reader = world.client("org:other"), world.client("org:acme")
        done = threading.Event()

        def write() -> None:
            while not done.is_set():
                create(writer, "Hidden", scope="org:other")
                time.sleep(0.02)

        writing = threading.Thread(target=write)
        with following(reader) as parts:
            next(parts)
            writing.start()
            try:
                beats = [next(parts) for _ in range(3)]
            finally:
                done.set()
                writing.join()
        assert all((beat.event, beat.id, beat.data) == (None, None, None) for beat in beats)


def test_a_revoked_key_ends_its_stream_by_the_next_heartbeat(new_url: NewUrl) -> None:
    with (
        open_services(new_url()) as services,
        serve(services, Settings(heartbeat_seconds=0.2)) as url,
        closing(World(services, url)) as world,
    ):
        reader = world.client("org:acme")
        with following(reader) as parts:
            next(parts)
            token = reader.headers["Authorization"].split("_")[1]
            services.commands.catalogue.revoke_key(token)
            last = [part for part in islice(parts, 5) if part.event is not None]
        assert [part.event for part in last] == ["error"]


def test_a_commit_wakes_as_many_streams_as_there_may_be(new_url: NewUrl) -> None:
    """All of them read at once then, with room for few: none is refused for that."""
    settings = Settings(reader_threads=1, short_reader_threads=1, waiting_reads_max=4)
    with (
        open_services(new_url()) as services,
        serve(services, settings) as url,
        closing(World(services, url)) as world,
        ExitStack() as opened,
    ):
        owner = world.client("org:acme")
        create(owner, "First")
        streams = [opened.enter_context(following(owner)) for _ in range(40)]
        for parts in streams:
            next(parts)
        create(owner, "Seen by all")
        for parts in streams:
            (event,) = events(parts, 1)
            assert event["type"] == "page.created"


def test_there_are_only_so_many_streams(new_url: NewUrl) -> None:
    with open_services(new_url()) as services, serve(services, Settings(streams_max=2)) as url:
        world = World(services, url)
        client = world.client("org:acme")
        with following(client) as one:
            next(one)
            with following(client) as two:
                next(two)
                refused = client.get("/events/stream")
                assert (refused.status_code, code_of(refused)) == (503, "OVERLOADED")
        deadline = time.monotonic() + 10
        while client.head("/events/stream").status_code == 503:
            assert time.monotonic() < deadline, "a stream that was left still counts"
            time.sleep(0.01)
        world.close()


def test_a_reader_that_takes_nothing_is_let_go(
    new_url: NewUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server keeps no more than a connection's buffers for it, and not for long."""
    monkeypatch.setattr("api.streams.STREAM_SEND_SECONDS_MAX", 0.3)
    listener = socket.socket()
    # The system would keep a few megabytes for a connection.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    listener.bind(("127.0.0.1", 0))
    with (
        listener,
        open_services(new_url()) as services,
        serve(services, Settings(streams_max=1), listener) as url,
    ):
        world = World(services, url)
        client = world.client("org:acme")
        page = create(client, "A", description="d" * 300)
        for _ in range(5):
            operations = [
                {
                    "op": "edit",
                    "page": page["id"],
                    "expectedVersion": "any",
                    "description": f"{number}" + "d" * 300,
                }
                for number in range(200)
            ]
            answer = client.post("/commits", json={"operations": operations})
            assert answer.status_code in (200, 201), answer.text
        address = urlsplit(str(client.base_url))
        assert address.hostname is not None
        deaf = socket.create_connection((address.hostname, address.port or 80))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        request = (
            f"GET {address.path}events/stream?after=0 HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: {client.headers['Authorization']}\r\n\r\n"
        )
        deaf.sendall(request.encode())
        with deaf:
            deadline = time.monotonic() + 20
            while client.head("/events/stream").status_code == 503:
                assert time.monotonic() < deadline, "it was not let go"
                time.sleep(0.05)
        world.close()


@pytest.mark.parametrize(
    "query",
    ["after=x", "after=-1", "limit=5", "revision=1", "pageId=x", "type=a&type=b"],
)
def test_a_parameter_that_is_none_is_refused(owner: httpx.Client, query: str) -> None:
    answer = owner.get(f"/events/stream?{query}")
    assert (answer.status_code, code_of(answer)) == (422, "VALIDATION_ERROR")


def test_a_stream_takes_no_other_method(owner: httpx.Client) -> None:
    assert owner.post("/events/stream", json={}).status_code == 405
    head = owner.head("/events/stream")
    assert (head.status_code, head.content) == (200, b"")
