"""Header and body name one protocol revision, or the message is refused."""

import asyncio
import base64
from collections.abc import Mapping

import httpx2
import pytest
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_PROTOCOL_VERSION,
)

from tests.backends import on_sqlite
from tests.knowledge import KnowledgeBase
from tests.mcp.speaking import (
    ACCEPTED,
    LEGACY,
    MODERN,
    Json,
    error_in,
    legacy,
    modern,
    running,
)

pytestmark = on_sqlite

VERSION = "mcp-protocol-version"


def answer_to(
    kb: KnowledgeBase, message: Json, headers: Mapping[str, str] | list[tuple[str, str]]
) -> httpx2.Response:
    async def run() -> httpx2.Response:
        async with running(kb.services) as wire, wire.http(kb.token(), ACCEPTED) as http:
            return await http.post("/mcp", json=message, headers=headers)

    return asyncio.run(run())


def refused(response: httpx2.Response, code: int) -> Json:
    """The error of a request that the protocol refuses."""
    assert response.status_code == 400, response.text
    error = error_in(response)
    assert error["code"] == code
    return error


def test_a_modern_message_without_the_header_is_refused(kb: KnowledgeBase) -> None:
    message, headers = modern()
    del headers[VERSION]
    refused(answer_to(kb, message, headers), HEADER_MISMATCH)


@pytest.mark.parametrize("other", [LEGACY, "2025-03-26", "2027-01-01", "", "x"])
def test_a_header_that_differs_from_the_body_is_refused(kb: KnowledgeBase, other: str) -> None:
    message, headers = modern("tools/call", name="knowledge_list", arguments={})
    refused(answer_to(kb, message, {**headers, VERSION: other}), HEADER_MISMATCH)


@pytest.mark.parametrize("version", [None, 1, {}, "2024-01-01", LEGACY])
def test_a_body_that_differs_from_the_header_is_refused(kb: KnowledgeBase, version: object) -> None:
    message, headers = modern(version=version)
    refused(answer_to(kb, message, {**headers, VERSION: MODERN}), HEADER_MISMATCH)


@pytest.mark.parametrize(VERSION.replace("-", "_"), ["2027-01-01", "1999-12-31"])
def test_an_unknown_revision_is_told_which_there_are(
    kb: KnowledgeBase, mcp_protocol_version: str
) -> None:
    message, headers = modern(version=mcp_protocol_version)
    error = refused(answer_to(kb, message, headers), UNSUPPORTED_PROTOCOL_VERSION)
    assert error["data"] == {"supported": [MODERN], "requested": mcp_protocol_version}


def test_an_unknown_revision_of_an_older_message_is_refused(kb: KnowledgeBase) -> None:
    message, headers = legacy()
    refused(answer_to(kb, message, {**headers, VERSION: "1999-12-31"}), INVALID_PARAMS)


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_header_stands_once(kb: KnowledgeBase, version: str) -> None:
    message, headers = modern(version=version)
    twice = [*headers.items(), (VERSION, version)]
    refused(answer_to(kb, message, twice), HEADER_MISMATCH)


@pytest.mark.parametrize("other", [LEGACY, "2025-06-18", MODERN])
def test_an_older_message_names_one_revision(kb: KnowledgeBase, other: str) -> None:
    message, headers = legacy()
    refused(answer_to(kb, message, [*headers.items(), (VERSION, other)]), INVALID_PARAMS)


@pytest.mark.parametrize("version", [LEGACY, "2025-06-18", None])
def test_older_revisions_are_served_without_a_handshake(
    kb: KnowledgeBase, version: str | None
) -> None:
    message, headers = legacy()
    del headers[VERSION]
    given = {} if version is None else {VERSION: version}
    assert answer_to(kb, message, {**headers, **given}).json()["result"]["tools"]


@pytest.mark.parametrize("asked", [LEGACY, "2025-06-18", "2027-01-01"])
def test_a_handshake_settles_on_a_revision_that_there_is(kb: KnowledgeBase, asked: str) -> None:
    message, _ = legacy(
        "initialize",
        protocolVersion=asked,
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )
    result = answer_to(kb, message, {}).json()["result"]
    assert result["protocolVersion"] == (asked if asked != "2027-01-01" else LEGACY)


def test_a_legacy_body_under_a_modern_header_lacks_its_envelope(kb: KnowledgeBase) -> None:
    message, headers = legacy()
    error = refused(
        answer_to(kb, message, {**headers, VERSION: MODERN, "mcp-method": "tools/list"}),
        INVALID_PARAMS,
    )
    assert "_meta" in error["message"]


@pytest.mark.parametrize(
    ("mcp_name", "status"),
    [
        ("knowledge_list", 200),
        ("knowledge_list ", 200),
        ("knowledge_list \t ", 200),
        (" knowledge_list", 200),
        ("knowledge_read", 400),
        ("Knowledge_list", 400),
        ("", 400),
    ],
)
def test_the_name_in_the_header_is_the_one_in_the_body(
    kb: KnowledgeBase, mcp_name: str, status: int
) -> None:
    message, headers = modern("tools/call", name="knowledge_list", arguments={})
    response = answer_to(kb, message, {**headers, "mcp-name": mcp_name})
    assert response.status_code == status
    if status == 400:
        refused(response, HEADER_MISMATCH)


def test_other_routing_headers_are_held_against_the_body(kb: KnowledgeBase) -> None:
    message, headers = modern("tools/call", name="knowledge_list", arguments={})
    for name in ("mcp-name", "mcp-method"):
        without = {key: value for key, value in headers.items() if key != name}
        refused(answer_to(kb, message, without), HEADER_MISMATCH)
        refused(answer_to(kb, message, [*headers.items(), (name, headers[name])]), HEADER_MISMATCH)
    refused(answer_to(kb, message, {**headers, "mcp-method": "tools/list"}), HEADER_MISMATCH)


def test_a_name_in_other_letters_is_sent_as_base64(kb: KnowledgeBase) -> None:
    name = "Wissen löschen"
    message, headers = modern("tools/call", name=name, arguments={})
    encoded = base64.b64encode(name.encode()).decode()
    # It gets as far as the tools: there is none of this name.
    error = refused(
        answer_to(kb, message, {**headers, "mcp-name": f"=?base64?{encoded}?="}), INVALID_PARAMS
    )
    assert name in error["message"]
    for wrong in (encoded, "=?base64?****?=", "=?base64?d3Jvbmc=?="):
        refused(answer_to(kb, message, {**headers, "mcp-name": wrong}), HEADER_MISMATCH)


@pytest.mark.parametrize("meta", [{}, {"progressToken": 1}, {"other.example/key": MODERN}])
def test_a_body_that_names_no_revision_is_of_an_older_one(kb: KnowledgeBase, meta: Json) -> None:
    message, headers = legacy(_meta=meta)
    assert answer_to(kb, message, headers).json()["result"]["tools"]


def test_a_body_may_name_an_older_revision_that_its_header_names_too(kb: KnowledgeBase) -> None:
    message, headers = modern(version=LEGACY)
    assert answer_to(kb, message, headers).json()["result"]["tools"]
