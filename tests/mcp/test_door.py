"""Who may speak MCP, and what is refused before any message is."""

from collections.abc import AsyncIterator

import msgspec
import pytest
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from api.settings import Settings
from kbstore.limits import JSON_NESTING_LEVELS_MAX
from tests.backends import on_sqlite
from tests.knowledge import KnowledgeBase
from tests.mcp.speaking import (
    ACCEPTED,
    MODERN,
    ORIGIN,
    Json,
    Make,
    Wire,
    ask,
    call_of,
    error_in,
    legacy,
    modern,
)

pytestmark = on_sqlite

# --- the key --------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "kbs_1_2", "sk-123", "kbs_ä_ö"])
def test_without_a_working_key_nothing_is_looked_at(kb: KnowledgeBase, token: str) -> None:
    async def story(wire: Wire) -> None:
        sent = {
            "origin": "https://evil.example",
            "content-type": "text/plain",
            "content-length": "9",
        }
        if token:
            sent["authorization"] = f"Bearer {token}"
        async with wire.http() as http:
            headers = [(name.encode(), value.encode("utf-8")) for name, value in sent.items()]
            refused = await http.post("/mcp?tools=nothing", content=b"{[not json", headers=headers)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        error = error_in(refused)
        assert error["code"] == INVALID_REQUEST
        assert error["data"]["error"]["code"] == "UNAUTHENTICATED"
        assert error["data"]["requestId"] == refused.headers["x-request-id"]

    ask(kb, story)


# --- the origin -----------------------------------------------------------------------------

OTHER = "https://app.example"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (ORIGIN, 200),
        ("http://localhost:8642", 200),
        ("http://[::1]:8642", 200),
        ("HTTP://LocalHost:8642", 200),
        (OTHER, 200),
        ("https://App.Example", 200),
        ("http://localhost:8643", 403),
        ("http://localhost", 403),
        ("https://localhost:8642", 403),
        ("http://rebound.example:8642", 403),
        ("http://127.0.0.1.evil.example:8642", 403),
        ("https://app.example.evil.example", 403),
        ("https://app.example:444", 403),
        ("http://app.example", 403),
        (f"{ORIGIN}/", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_only_allowed_origins_may_speak(
    kb: KnowledgeBase, make: Make, origin: str, status: int
) -> None:
    async def story(wire: Wire) -> None:
        message, headers = make()
        answer = await wire.post(kb.token(), message, {**headers, "origin": origin})
        assert answer.status_code == status
        if status == 403:
            assert error_in(answer)["message"] == "This origin is not allowed."

    ask(kb, story, Settings(allowed_origins=(OTHER,)))


def test_two_origins_are_none(kb: KnowledgeBase) -> None:
    async def story(wire: Wire) -> None:
        message, headers = modern()
        sent = [*{**ACCEPTED, **headers}.items(), ("origin", ORIGIN), ("origin", ORIGIN)]
        async with wire.http(kb.token()) as http:
            assert (await http.post("/mcp", json=message, headers=sent)).status_code == 403

    ask(kb, story)


def test_no_origin_is_allowed_from_elsewhere_by_default(kb: KnowledgeBase) -> None:
    async def story(wire: Wire) -> None:
        message, headers = modern()
        answer = await wire.post(kb.token(), message, {**headers, "origin": OTHER})
        assert answer.status_code == 403

    ask(kb, story)


def test_behind_a_proxy_the_host_may_be_any(kb: KnowledgeBase, make: Make) -> None:
    async def story(wire: Wire) -> None:
        message, headers = make()
        sent = {**headers, "host": "knowledge.acme.example"}
        assert (await wire.post(kb.token(), message, sent)).status_code == 200

    ask(kb, story)


# --- the groups -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("?tools=files", "unknown"),
        ("?tools=read,Write", "unknown"),
        ("?tools=", "empty"),
        ("?tools=,", "empty"),
        ("?tools=read&tools=write", "repeated"),
        ("?tool=read", "unknown"),
    ],
)
def test_groups_that_are_not_there_are_refused(
    kb: KnowledgeBase, make: Make, query: str, reason: str
) -> None:
    async def story(wire: Wire) -> None:
        message, headers = make()
        refused = await wire.post(kb.token(), message, headers, query)
        assert refused.status_code == 422
        error = error_in(refused)["data"]["error"]
        assert (error["code"], error["details"]["reason"]) == ("VALIDATION_ERROR", reason)
        if reason in ("unknown", "empty") and query.startswith("?tools"):
            assert error["message"].endswith("; there are knowledge, read, write, pins.")

    ask(kb, story)


# --- the method -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "TRACE"])
def test_it_takes_post_alone(kb: KnowledgeBase, method: str) -> None:
    async def story(wire: Wire) -> None:
        headers = {"accept": "text/event-stream", "mcp-session-id": "1"}
        async with wire.http(kb.token(), headers) as http:
            refused = await http.request(method, "/mcp")
            told = await http.request("OPTIONS", "/mcp")
        assert refused.status_code == 405
        assert told.status_code == 204
        for answer in (refused, told):
            assert set(answer.headers["allow"].split(", ")) == {"OPTIONS", "POST"}

    ask(kb, story)


# --- the body -------------------------------------------------------------------------------


def nested(levels: int, make: Make) -> bytes:
    """A call whose message nests so many levels: itself, its params, its arguments, lists."""
    message, _ = call_of(make, **{"from": "?"})
    lists = levels - 3
    return msgspec.json.encode(message).replace(b'"?"', b"[" * lists + b"]" * lists)


def test_a_body_is_refused_as_over_http(kb: KnowledgeBase, make: Make) -> None:
    token = kb.token()
    message, headers = call_of(make)
    whole = msgspec.json.encode(message)

    async def story(wire: Wire) -> None:
        for body, said in (
            (b"", "not valid JSON"),
            (b"{", "not valid JSON"),
            (whole.replace(b"{}", b'{"depth":NaN}', 1), "not valid JSON"),
            (whole[:-1] + b',"extra":"\xff"}', "not valid JSON"),
            (whole.replace(b'"arguments":{}', b'"arguments":{"depth":1,"depth":2}'), "twice"),
            (whole[:-1] + b',"id":2}', "twice"),
            (nested(JSON_NESTING_LEVELS_MAX + 1, make), "nests over"),
            (nested(100_000, make), "nests over"),
        ):
            refused = await wire.post(token, body, headers)
            assert refused.status_code == 400, body[:80]
            error = error_in(refused)
            assert error["code"] == PARSE_ERROR
            assert said in error["message"]
            assert error["data"]["error"]["code"] == "MALFORMED_REQUEST"
        deepest = await wire.post(token, nested(JSON_NESTING_LEVELS_MAX, make), headers)
        assert deepest.status_code == 200
        assert deepest.json()["result"]["isError"]

    ask(kb, story)


@pytest.mark.parametrize(
    "change",
    [
        {"jsonrpc": None},
        {"jsonrpc": "1.0"},
        {"method": None},
        {"method": 1},
        {"id": None},
        {"id": 1.5},
        {"id": True},
        {"id": []},
        {"params": None},
        {"params": []},
        {"method": 2, "result": {}},
    ],
)
def test_a_body_is_one_message(kb: KnowledgeBase, make: Make, change: Json) -> None:
    async def story(wire: Wire) -> None:
        message, headers = make()
        refused = await wire.post(kb.token(), {**message, **change}, headers)
        assert refused.status_code == 400
        assert error_in(refused) == {
            "code": INVALID_REQUEST,
            "message": "The body must be one JSON-RPC request or notification.",
        }

    ask(kb, story)


@pytest.mark.parametrize("body", [[], [legacy()[0]], [modern()[0]], 1, "text", None, {}])
def test_a_batch_or_no_object_is_no_message(kb: KnowledgeBase, make: Make, body: object) -> None:
    async def story(wire: Wire) -> None:
        refused = await wire.post(kb.token(), body, make()[1])
        assert refused.status_code == 400
        assert error_in(refused)["code"] == INVALID_REQUEST

    ask(kb, story)


def test_a_body_may_be_as_large_as_over_http_and_no_larger(kb: KnowledgeBase, make: Make) -> None:
    bytes_max = 6 * 1024 * 1024  # more than the SDK takes by itself

    def of_size(size: int) -> bytes:
        message, _ = call_of(make, **{"from": "?"})
        body = msgspec.json.encode(message)
        return body.replace(b"?", b"?" * (size - len(body) + 1))

    async def story(wire: Wire) -> None:
        _, headers = call_of(make)
        token = kb.token()
        largest = await wire.post(token, of_size(bytes_max), headers)
        assert largest.status_code == 200
        assert largest.json()["result"]["isError"]
        for body in (of_size(bytes_max + 1), of_size(2 * bytes_max)):
            refused = await wire.post(token, body, headers)
            assert refused.status_code == 413
            assert error_in(refused)["data"]["error"]["code"] == "REQUEST_TOO_LARGE"
        async with wire.http(token, {**ACCEPTED, **headers}) as http:
            unannounced = await http.post("/mcp", content=_pieces(of_size(bytes_max + 1)))
        assert unannounced.status_code == 413

    ask(kb, story, Settings(request_bytes_max=bytes_max))


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 1024 * 1024):
        yield body[start : start + 1024 * 1024]


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200),
        ("text/plain", 415),
        ("application/json; charset=latin-1", 415),
        ("application/jsonp", 415),
    ],
)
def test_the_body_is_json_in_utf_8(
    kb: KnowledgeBase, make: Make, media_type: str, status: int
) -> None:
    async def story(wire: Wire) -> None:
        message, headers = make()
        answer = await wire.post(kb.token(), message, {**headers, "content-type": media_type})
        assert answer.status_code == status

    ask(kb, story)


# --- what holds for every answer ------------------------------------------------------------


def test_every_answer_is_framed_and_keeps_no_session(kb: KnowledgeBase, make: Make) -> None:
    async def story(wire: Wire) -> None:
        message, headers = make()
        sent = {**headers, "x-request-id": "run-7", "mcp-session-id": "a1", "last-event-id": "4"}
        for body in (message, b"{"):
            answer = await wire.post(kb.token(), body, sent)
            assert answer.headers["x-request-id"] == "run-7"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "mcp-session-id" not in answer.headers
        first, second = [await wire.post(kb.token(), message, headers) for _ in range(2)]
        assert first.headers["x-request-id"] != second.headers["x-request-id"]

    ask(kb, story)


def test_a_notification_is_accepted_and_not_answered(kb: KnowledgeBase, make: Make) -> None:
    async def story(wire: Wire) -> None:
        message, headers = make("notifications/cancelled", requestId=1)
        del message["id"]
        answer = await wire.post(kb.token(), message, headers)
        assert (answer.status_code, answer.content) == (202, b"")

    ask(kb, story)


def test_a_method_that_is_not_there_is_not_found(kb: KnowledgeBase) -> None:
    async def story(wire: Wire) -> None:
        for method in ("prompts/list", "initialize", "tools/burn"):
            message, headers = modern(method)
            assert (await wire.post(kb.token(), message, headers)).status_code == 404
        message, headers = legacy("tools/burn")
        assert error_in(await wire.post(kb.token(), message, headers))["code"] == -32601

    ask(kb, story)


def test_a_list_comes_in_one_piece_that_keeps_a_while(kb: KnowledgeBase, make: Make) -> None:
    async def story(wire: Wire) -> None:
        message, headers = make()
        first = (await wire.post(kb.token(), message, headers)).json()["result"]
        assert "nextCursor" not in first
        if headers["mcp-protocol-version"] == MODERN:
            assert (first["ttlMs"], first["cacheScope"]) == (300_000, "private")
        message, headers = make(cursor="x")
        assert error_in(await wire.post(kb.token(), message, headers))["code"] == -32602

    ask(kb, story)
