"""From exceptions to answers: the envelope, its headers, and nothing said by accident."""

import json
from typing import Any

import pytest
from eventsourcing.persistence import OperationalError

from api.errors import error_answer, refusal_of
from kbstore.errors import (
    DatabaseInUseError,
    KBStoreError,
    NotFoundError,
    OverloadedError,
    RequestTooLargeError,
    RevisionNotReachedError,
    UnauthenticatedError,
    ValidationError,
)


def told(error: BaseException) -> tuple[int, Any, dict[bytes, bytes]]:
    answer = error_answer(error, "id-1")
    return answer.status, json.loads(answer.body), dict(answer.headers)


def test_a_refusal_is_told_with_its_details() -> None:
    status, body, headers = told(ValidationError("Wrong.", field="name", reason="empty"))
    assert status == 422
    assert body == {
        "error": {
            "code": "VALIDATION_ERROR",
            "message": "Wrong.",
            "httpStatus": 422,
            "details": {"field": "name", "reason": "empty"},
        },
        "requestId": "id-1",
    }
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"cache-control"] == b"private, no-cache"


@pytest.mark.parametrize(
    ("error", "header", "value"),
    [
        (OverloadedError("Busy."), b"retry-after", b"1"),
        (UnauthenticatedError("Who?"), b"www-authenticate", b"Bearer"),
        (RequestTooLargeError("Big."), b"connection", b"close"),
        (RevisionNotReachedError("Not yet."), b"cache-control", b"no-store"),
    ],
)
def test_some_refusals_have_headers_of_their_own(
    error: KBStoreError, header: bytes, value: bytes
) -> None:
    assert told(error)[2][header] == value


@pytest.mark.parametrize(
    "error",
    [RuntimeError("inside"), KBStoreError("inside"), DatabaseInUseError("inside"), OSError()],
)
def test_a_defect_is_told_without_its_words(error: Exception) -> None:
    status, body, _ = told(error)
    assert (status, body["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert "inside" not in json.dumps(body)


def test_a_broken_database_is_unavailable() -> None:
    status, body, headers = told(OperationalError("disk I/O error"))
    assert (status, body["error"]["code"]) == (503, "DATABASE_UNAVAILABLE")
    assert headers[b"retry-after"] == b"1"
    assert "disk" not in json.dumps(body)


def test_a_refusal_stays_what_it_is() -> None:
    error = NotFoundError("Not found.")
    assert refusal_of(error) is error
