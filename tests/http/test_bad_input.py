"""Bad input: a 4xx with a stable code, never a defect, and nothing written."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from api.settings import Settings
from kbstore.limits import (
    BODY_BYTES_MAX,
    DESCRIPTION_TOKENS_MAX,
    KEY_CODE_POINTS_MAX,
    NAME_CODE_POINTS_MAX,
    NOTE_TOKENS_MAX,
    OPERATIONS_PER_COMMIT_MAX,
    REQUEST_BYTES_MAX,
)
from tests.backends import on_sqlite
from tests.http.world import World, code_of, details_of, if_match, served_world

JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def nothing_is_written(owner: httpx.Client) -> Iterator[None]:
    """Tests whose requests are all refused leave the head where it was."""
    head = owner.get("/revisions/active").json()
    yield
    assert owner.get("/revisions/active").json() == head


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "MALFORMED_REQUEST"),
        (b"{", 400, "MALFORMED_REQUEST"),
        (b"not json", 400, "MALFORMED_REQUEST"),
        (b'{"name": "\xff"}', 400, "MALFORMED_REQUEST"),
        (b'{"scope": "org:acme", "name": "\\ud800"}', 400, "MALFORMED_REQUEST"),
        (b"[" * 10_000 + b"]" * 10_000, 400, "MALFORMED_REQUEST"),
        (b'{"name":' * 10_000 + b"1" + b"}" * 10_000, 400, "MALFORMED_REQUEST"),
        (b'{"scope": "org:acme", "name": 1e999}', 400, "MALFORMED_REQUEST"),
        (b'{"scope": "org:acme", "name": NaN}', 400, "MALFORMED_REQUEST"),
        (b"[]", 422, "VALIDATION_ERROR"),
        (b"null", 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme"}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme", "name": 1}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme", "name": ["A"]}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme", "name": "A", "titel": "B"}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme", "name": "A\\u0000"}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme", "name": "A", "body": "\\u0000"}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme", "name": ""}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme", "name": "A", "key": "a/b"}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme", "name": "A", "key": ".."}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:acme", "name": "A", "parent": "x"}', 422, "VALIDATION_ERROR"),
        (b'{"scope": "org:nowhere", "name": "A"}', 404, "NOT_FOUND"),
        (b'{"scope": "nonsense", "name": "A"}', 422, "VALIDATION_ERROR"),
    ],
    ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else None,
)
def test_a_wrong_body_is_refused(owner: httpx.Client, body: bytes, status: int, code: str) -> None:
    response = owner.post("/pages", content=body, headers=JSON)
    assert (response.status_code, code_of(response)) == (status, code), response.text
    assert response.json()["requestId"] == response.headers["x-request-id"]
    assert response.json()["error"]["httpStatus"] == status


@pytest.mark.parametrize(
    "content_type",
    [None, "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"],
)
def test_another_content_type_is_refused(owner: httpx.Client, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    body = b'{"scope": "org:acme", "name": "A"}'
    response = owner.post("/pages", content=body, headers=headers)
    assert (response.status_code, code_of(response)) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_an_oversize_request_is_refused_before_it_is_parsed(owner: httpx.Client) -> None:
    response = owner.post("/pages", content=b"{" * (REQUEST_BYTES_MAX + 1), headers=JSON)
    assert (response.status_code, code_of(response)) == (413, "REQUEST_TOO_LARGE")
    at_the_limit = owner.post("/pages", content=b" " * REQUEST_BYTES_MAX, headers=JSON)
    assert code_of(at_the_limit) == "MALFORMED_REQUEST"


def test_an_oversize_request_without_a_length_is_refused(owner: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(33):
            yield b" " * 1024 * 1024

    try:
        response = owner.post("/pages", content=chunks(), headers=JSON)
    except httpx.WriteError:
        return  # The server answered and closed while the client was still sending.
    assert (response.status_code, code_of(response)) == (413, "REQUEST_TOO_LARGE")


def test_no_route_and_no_method_have_the_envelope(world: World, owner: httpx.Client) -> None:
    for url in ("/nothing", f"{world.url}/", f"{world.url}/favicon.ico", f"{world.url}/a%00b"):
        response = owner.get(url)
        assert (response.status_code, code_of(response)) == (404, "NOT_FOUND")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.json()["requestId"] == response.headers["x-request-id"]
    wrong = owner.put("/pages")
    assert (wrong.status_code, code_of(wrong)) == (405, "METHOD_NOT_ALLOWED")
    allowed = {method.strip() for method in wrong.headers["allow"].split(",")}
    assert {"GET", "HEAD", "POST"} <= allowed


@pytest.mark.parametrize(
    ("field", "longest", "more"),
    [
        ("key", "k" * KEY_CODE_POINTS_MAX, "k"),
        ("name", "n" * NAME_CODE_POINTS_MAX, "n"),
        ("description", "d" * 4 * DESCRIPTION_TOKENS_MAX, "d"),
        ("body", "b" * BODY_BYTES_MAX, "b"),
    ],
)
def test_a_field_over_its_limit_is_refused_by_name(
    owner: httpx.Client, field: str, longest: str, more: str
) -> None:
    page = {"scope": "org:acme", "name": "A"}
    over = owner.post("/pages", json={**page, field: longest + more})
    assert (over.status_code, code_of(over)) == (422, "VALIDATION_ERROR")
    assert (details_of(over)["field"], details_of(over)["reason"]) == (field, "tooLong")
    dry = {"dryRun": True, "operations": [{"op": "create", **page, field: longest}]}
    assert owner.post("/commits", json=dry).status_code == 200


def test_a_note_and_a_commit_have_limits(owner: httpx.Client) -> None:
    page = owner.get("/pages", params={"ref": "org:acme"}).json()["page"]
    for length, status in ((4 * NOTE_TOKENS_MAX, 200), (4 * NOTE_TOKENS_MAX + 1, 422)):
        note = {"op": "addNote", "page": page["id"], "text": "n" * length, "scope": ["org:acme"]}
        response = owner.post("/commits", json={"dryRun": True, "operations": [note]})
        assert response.status_code == status, response.text
    create_one = {"op": "create", "scope": "org:acme", "name": "A"}
    for count, status in ((OPERATIONS_PER_COMMIT_MAX, 200), (OPERATIONS_PER_COMMIT_MAX + 1, 422)):
        body = {"dryRun": True, "operations": [create_one] * count}
        assert owner.post("/commits", json=body).status_code == status


@pytest.mark.parametrize("query", ["ref=a&ref=b", "ref=%FF", "ref=a&page=1", "", "ref=a&limit=3"])
def test_a_wrong_query_is_refused(owner: httpx.Client, query: str) -> None:
    response = owner.get(f"/pages?{query}")
    assert (response.status_code, code_of(response)) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize("ref", ["", "#", "a" * 5_000, "org:acme#" + "x/" * 3_000, "\0", "%"])
def test_text_that_is_no_ref_names_nothing(owner: httpx.Client, ref: str) -> None:
    assert code_of(owner.get("/pages", params={"ref": ref})) == "NOT_FOUND"


def raw_exchange(url: str, request: bytes) -> bytes:
    """What a server answers to these very bytes, until it closes."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    return answer


@on_sqlite
def test_a_slow_body_is_given_up(database_url: str) -> None:
    with served_world(database_url, Settings(request_body_seconds_max=0.2)) as slow:
        request = (
            f"POST /openapi/v2/knowledge-bases/{slow.slug}/pages HTTP/1.1\r\n"
            f"Host: localhost\r\nAuthorization: Bearer {slow.token('org:acme')}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        answer = raw_exchange(slow.url, request.encode())
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"REQUEST_TIMEOUT"' in answer


def test_headers_that_are_not_text_are_refused(world: World) -> None:
    request = (
        f"GET /openapi/v2/knowledge-bases/{world.slug}/scopes HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {world.token('org:acme')}\r\nConnection: close\r\n"
    ).encode() + b"If-None-Match: \xff\r\n\r\n"
    answer = raw_exchange(world.url, request)
    assert answer.startswith(b"HTTP/1.1 422 ")


def test_a_stale_or_missing_version_writes_nothing(owner: httpx.Client) -> None:
    page = owner.get("/pages", params={"ref": "org:acme#welcome"}).json()["page"]
    stale = owner.patch(f"/pages/{page['id']}", json={"body": "x"}, headers={"If-Match": '"9"'})
    assert stale.status_code == 409
    moved = owner.post(f"/pages/{page['id']}/move", json={"key": "k"}, headers=if_match(page))
    assert code_of(moved) == "PAGE_DECLARED"
