"""C11: a create sent again after a lost answer made two objects; the key was ignored."""

import socket
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import httpx
import msgspec
import pytest

from api.settings import Settings
from api.wiring import open_services
from tests.asking import Answer, Client, asking_at
from tests.http.world import serve
from tests.knowledge import SCOPE, VAULT, KnowledgeBase

Send = Callable[[Client, str, str, str], Answer]
"""client, page, another page, Idempotency-Key."""

WRITES: dict[str, Send] = {
    "create": lambda c, page, other, key: c.create(None, idempotency=key, body="# New\n"),
    "create with a key": lambda c, page, other, key: c.create("new", idempotency=key),
    "edit": lambda c, page, other, key: c.ask(
        "PATCH", f"/pages/{page}", {"body": "new\n"}, match=1, key=key
    ),
    "edit of a range": lambda c, page, other, key: c.ask(
        "PATCH",
        f"/pages/{page}",
        {"body": "new", "range": {"start": {"line": 1}, "end": {"line": 1}}},
        match=1,
        key=key,
    ),
    "edit that changes nothing": lambda c, page, other, key: c.ask(
        "PATCH", f"/pages/{page}", {"body": "old\n"}, match=1, key=key
    ),
    "move": lambda c, page, other, key: c.ask(
        "POST", f"/pages/{page}/move", {"parent": other}, match=1, key=key
    ),
    "merge": lambda c, page, other, key: c.ask(
        "POST", f"/pages/{page}/merge", {"into": other}, match=1, key=key
    ),
    "delete": lambda c, page, other, key: c.ask("DELETE", f"/pages/{page}", match=1, key=key),
    "note": lambda c, page, other, key: c.ask(
        "POST", f"/pages/{page}/notes", {"text": "A fact.", "scope": [SCOPE]}, key=key
    ),
    "pin": lambda c, page, other, key: c.ask(
        "PUT", f"/pages/{page}/pins/page", {"audience": [SCOPE]}, key=key
    ),
    "commit": lambda c, page, other, key: c.ask(
        "POST",
        "/commits",
        {
            "operations": [
                {"op": "create", "scope": SCOPE, "name": "New"},
                {"op": "edit", "page": page, "expectedVersion": 1, "body": "new\n"},
            ]
        },
        key=key,
    ),
}


def told(answer: Answer) -> tuple[int, bytes, str | None, str | None]:
    """What a client sees of an answer."""
    headers = answer.headers
    return answer.status, answer.raw, headers.get("location"), headers.get("kb-revision")


@pytest.mark.parametrize("kind", WRITES)
def test_the_second_try_gets_the_first_answer_and_does_nothing(
    kb: KnowledgeBase, ana: Client, kind: str
) -> None:
    page, other = ana.made("p", body="old\n").id, ana.made("q").id
    first = WRITES[kind](ana, page, other, "k1")
    assert first.status in (200, 201)
    assert "idempotency-replayed" not in first.headers
    with kb.nothing_written():
        second = WRITES[kind](ana, page, other, "k1")
    assert second.headers["idempotency-replayed"] == "true"
    assert told(second) == told(first)


@pytest.mark.parametrize("kind", WRITES)
def test_it_works_after_a_restart(database_url: str, kind: str) -> None:
    with open_services(database_url) as services, serve(services) as address:
        kb = KnowledgeBase(services)
        with asking_at(address, kb) as ask:
            client = ask("user:ana")
            page, other = client.made("p", body="old\n").id, client.made("q").id
            first = WRITES[kind](client, page, other, "k1")
            revision = kb.revision
    with open_services(database_url) as services, serve(services) as address:
        kb = KnowledgeBase.opened(services, kb)
        with asking_at(address, kb) as ask:
            second = WRITES[kind](ask("user:ana"), page, other, "k1")
            assert kb.revision == revision
    assert second.headers["idempotency-replayed"] == "true"
    assert told(second) == told(first)


def test_the_answer_was_lost_on_the_way(kb: KnowledgeBase, ana: Client) -> None:
    """The connection is cut as soon as the request is out; whether it arrived, nobody knows."""
    for number in range(10):
        body = {"scope": SCOPE, "name": "Page", "key": f"p{number}"}
        _send_and_cut(ana, "/pages", body, f"k{number}")
        answer = ana.create(f"p{number}", name="Page", idempotency=f"k{number}")
        while answer.status == 409:
            # The first one did arrive and takes its time.
            answer.refused(409, "IDEMPOTENCY_IN_PROGRESS")
            answer = ana.create(f"p{number}", name="Page", idempotency=f"k{number}")
        assert answer.status == 201
        assert len(kb.events_of(answer.page.id)) == 1
    kb.check_tree()
    assert len(kb.tree()) == 11


def test_another_request_under_the_key_is_refused(kb: KnowledgeBase, ana: Client) -> None:
    page, other = ana.made("p", body="old\n").id, ana.made("q", body="old\n").id
    assert ana.ask("PATCH", f"/pages/{page}", {"body": "new\n"}, match=1, key="k").status == 200
    others: list[tuple[str, str, object]] = [
        ("PATCH", f"/pages/{page}", {"body": "newer\n"}),
        ("PATCH", f"/pages/{page}", {"body": "new\n", "name": "New"}),
        ("PATCH", f"/pages/{page}", {"body": "new"}),
        ("PATCH", f"/pages/{other}", {"body": "new\n"}),
        ("POST", "/pages", {"scope": SCOPE, "name": "New"}),
        ("POST", f"/pages/{page}/move", {"key": "new"}),
        ("DELETE", f"/pages/{page}", None),
    ]
    for method, path, body in others:
        with kb.nothing_written():
            refusal = ana.ask(method, path, body, match="*", key="k")
        refusal.refused(422, "IDEMPOTENCY_KEY_REUSED")


def test_what_is_no_other_request(kb: KnowledgeBase, ana: Client) -> None:
    """The expected version, the order of fields, white space, and how the KB is addressed."""
    page = ana.made("p", body="old\n").id
    edit = {"body": "new\n", "name": "New"}
    first = ana.ask("PATCH", f"/pages/{page}", edit, match=1, key="k")
    assert first.status == 200
    spaced = b'{ "name": "N\\u0065w",\n "body": "new\\n" }'
    by_id = Client(ana.base.rpartition("/openapi")[0], f"knowledge-base-{kb.id}", ana.token)
    try:
        for client, body, match in (
            (ana, edit, "*"),
            (ana, edit, 2),
            (ana, spaced, 1),
            (by_id, edit, 1),
        ):
            with kb.nothing_written():
                again = client.ask("PATCH", f"/pages/{page}", body, match=match, key="k")
            assert again.raw == first.raw
    finally:
        by_id.close()


def test_a_key_is_its_principals_own(kb: KnowledgeBase, ana: Client, ben: Client) -> None:
    assert ana.create("p", idempotency="k").status == 201
    ben.create("q", idempotency="k")
    assert sorted(place.key_fold or "" for place in kb.tree().values()) == ["", "p", "q"]


def test_a_refusal_is_not_remembered(kb: KnowledgeBase, ana: Client) -> None:
    ana.made("p")
    with kb.nothing_written():
        ana.create("p", idempotency="k").refused(409, "KEY_TAKEN")
    assert ana.create("q", idempotency="k").status == 201


def test_the_replay_is_rendered_under_todays_access(
    kb: KnowledgeBase, asking: Callable[..., Client], ana: Client
) -> None:
    page = ana.made("p").id
    both = asking("user:ana", SCOPE, VAULT)
    moved = both.ask("POST", f"/pages/{page}/move", {"scope": VAULT}, match=1, key="k")
    assert moved.page.scope == VAULT
    again = ana.ask("POST", f"/pages/{page}/move", {"scope": VAULT}, match=1, key="k")
    assert again.headers["idempotency-replayed"] == "true"
    assert again.written.page is None, "he can no longer see where it went"


@pytest.mark.parametrize("kind", ["create", "edit", "delete", "commit"])
def test_while_the_first_try_is_running(database_url: str, kind: str) -> None:
    """Of two copies that meet one waits, for a bounded time; the key then works as before."""
    settings = Settings(idempotency_wait_seconds_max=0.05)
    with (
        open_services(database_url) as services,
        serve(services, settings) as url,
    ):
        kb = KnowledgeBase(services)
        with asking_at(url, kb) as ask, ThreadPoolExecutor(2) as threads:
            client = ask("user:ana")
            page, other = client.made("p", body="old\n").id, client.made("q").id
            with kb.writer_held():
                copies = [threads.submit(WRITES[kind], client, page, other, "k") for _ in range(2)]
                (refused,), (running,) = wait(copies, return_when=FIRST_COMPLETED)
            answer = refused.result()
            answer.refused(409, "IDEMPOTENCY_IN_PROGRESS")
            assert answer.headers["retry-after"] == "1"
            first = running.result()
            assert first.status in (200, 201)
            assert told(WRITES[kind](client, page, other, "k")) == told(first)


def _send_and_cut(client: Client, path: str, body: object, key: str) -> None:
    url = httpx.URL(client.base)
    assert url.port is not None
    content = msgspec.json.encode(body)
    head = (
        f"POST {url.path}{path} HTTP/1.1\r\nHost: {url.host}\r\n"
        f"Authorization: Bearer {client.token}\r\nIdempotency-Key: {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port)) as connection:
        connection.sendall(head.encode() + content)
