"""Query parameters and addresses: unknown, repeated, of the wrong form, badly encoded."""

from functools import cache
from uuid import uuid4

import msgspec
import pytest

from api.routes.registry import contract
from kbstore.errors import (
    NotFoundError,
    RevisionNotReachedError,
    RevisionNotRetainedError,
    ValidationError,
)
from kbstore.limits import LIST_ITEMS_MAX, REVISION_MAX
from tests.backends import on_sqlite
from tests.badinput.sending import Answer, Sender, check_refusal
from tests.badinput.stock import BY_NAME, OF_KB, READS, Request
from tests.http.world import Json

pytestmark = on_sqlite
"""Refused before any database is asked."""

NO_INTEGERS = ["", "x", "1.5", "1e3", "0x10", "%2B1", "%201", "1%20", "01", "%D9%A3", "1_0", "null"]
HUGE = ["9" * 19, "9" * 400, str(REVISION_MAX + 1), "-1", "-" + "9" * 400]
NO_BOOLEANS = ["", "1", "0", "True", "yes", "null"]
NO_TIMES = [
    "",
    "x",
    "now",
    "2026-03-01",
    "2026-03-01T10:00:00",
    "2026-13-01T10:00:00Z",
    "2026-02-30T10:00:00Z",
    "2026-03-01T25:00:00Z",
    "2026-03-01T10:00:00%2B99:00",
    "1e400",
    "0",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",
    "2026-03-01T10:00:00Z%00",
    "x" * 5_000,
]


@cache
def parameters(name: str) -> list[Json]:
    """The query parameters of an operation, as the contract has them."""
    operation = BY_NAME[name]
    paths = msgspec.json.decode(contract())["paths"]
    described = paths[operation.path][operation.method.lower()]["parameters"]
    return [parameter for parameter in described if parameter["in"] == "query"]


def of_type(kind: str) -> list[tuple[str, str]]:
    return [
        (name, parameter["name"])
        for name in BY_NAME
        for parameter in parameters(name)
        if parameter["schema"].get("type") == kind
    ]


def having(parameter: str) -> list[str]:
    """The operations that take a parameter."""
    return [name for name in BY_NAME if any(p["name"] == parameter for p in parameters(name))]


def with_parameter(request: Request, name: str, value: str) -> str:
    """The query of the good request with one parameter as it stands."""
    others = [f"{key}={given}" for key, given in request.query.items() if key != name]
    return "&".join([*others, f"{name}={value}"]).replace("#", "%23")


def refused_for(answer: Answer, field: str) -> None:
    assert answer.details["field"] == field, answer
    assert answer.details["reason"], answer


@pytest.mark.parametrize("name", BY_NAME)
def test_an_unknown_parameter_is_named(send: Sender, name: str) -> None:
    good = send.good(name)
    for parameter in ("unheardOf", "Limit", "limit[]", "revision.", "a" * 60):
        query = with_parameter(good, parameter, "1")
        refused_for(send.refused(good, ValidationError, query=query), parameter)
    send.refused(good, ValidationError, query=with_parameter(good, "%00", "1"))


@pytest.mark.parametrize("name", OF_KB)
def test_a_parameter_that_stands_twice_is_named(send: Sender, name: str) -> None:
    good = send.good(name)
    for parameter in parameters(name):
        key = parameter["name"]
        value = good.query.get(key, "1" if parameter["schema"]["type"] == "integer" else "true")
        query = f"{with_parameter(good, key, value)}&{key}={value}".replace("#", "%23")
        refused_for(send.refused(good, ValidationError, query=query), key)


@pytest.mark.parametrize(("name", "parameter"), of_type("integer"))
def test_what_is_no_integer_is_named(send: Sender, name: str, parameter: str) -> None:
    good = send.good(name)
    for value in [*NO_INTEGERS, *HUGE]:
        query = with_parameter(good, parameter, value)
        refused_for(send.refused(good, ValidationError, query=query), parameter)


@pytest.mark.parametrize(("name", "parameter"), of_type("boolean"))
def test_what_is_no_boolean_is_named(send: Sender, name: str, parameter: str) -> None:
    good = send.good(name)
    for value in NO_BOOLEANS:
        query = with_parameter(good, parameter, value)
        refused_for(send.refused(good, ValidationError, query=query), parameter)


@pytest.mark.parametrize("name", OF_KB)
def test_a_query_in_a_broken_encoding_is_refused(send: Sender, name: str) -> None:
    good = send.good(name)
    for query in ("%ff=1", "limit=%ff", "a=%c3%28", "%ed%a0%80=1", "&".join(["a=1"] * 65)):
        send.refused(good, ValidationError, query=query)


@pytest.mark.parametrize("name", having("revision"))
def test_revisions_that_cannot_be_read(send: Sender, name: str) -> None:
    good = send.good(name)
    head = send.stock.kb.revision
    query = with_parameter(good, "revision", "0")
    send.refused(good, RevisionNotRetainedError, query=query)
    for revision in (head + 1, REVISION_MAX):
        query = with_parameter(good, "revision", str(revision))
        answer = send.refused(good, RevisionNotReachedError, query=query)
        assert answer.details["activeContentRevision"] == head
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", [*having("asOf"), *having("time")])
def test_times_that_name_no_state(send: Sender, name: str) -> None:
    good = send.good(name)
    field = "time" if name == "readRevisionAt" else "asOf"
    for value in NO_TIMES:
        query = with_parameter(good, field, value)
        refused_for(send.refused(good, ValidationError, query=query), field)
    query = with_parameter(good, field, "2001-01-01T00:00:00Z")
    send.refused(good, RevisionNotRetainedError, query=query)
    if field == "asOf":
        both = with_parameter(good, field, f"{send.stock.time}&revision=1")
        refused_for(send.refused(good, ValidationError, query=both), field)


@pytest.mark.parametrize("name", having("limit"))
def test_a_limit_has_ends(send: Sender, name: str) -> None:
    good = send.good(name)
    for value in (1, LIST_ITEMS_MAX):
        assert send(good, query=with_parameter(good, "limit", str(value))).status == 200
    for value in (0, LIST_ITEMS_MAX + 1):
        query = with_parameter(good, "limit", str(value))
        refused_for(send.refused(good, ValidationError, query=query), "limit")


def test_a_revision_that_is_still_to_come_is_not_waited_for(send: Sender) -> None:
    waiting = [n for n in READS if "min_revision" in BY_NAME[n].parameters.__struct_fields__]
    assert len(waiting) > 10
    for name in waiting:
        good = send.good(name)
        answer = send(good, query=with_parameter(good, "minRevision", str(REVISION_MAX)))
        assert answer.code == "PROJECTION_BEHIND"
        assert answer.headers["retry-after"]


# --- addresses ------------------------------------------------------------------------------

ODD_IDS = [
    "x",
    "%00",
    "%zz",
    "%",
    "%ff%fe",
    "%ed%a0%80",
    "..",
    "%2e%2e",
    "%2e%2e%2f%2e%2e",
    "a%2Fb",
    "%0d%0aset-cookie:%20a=b",
    "null",
    "0",
    "-1",
    "9" * 400,
    "{}",
    "[]",
    "'%20or%201=1--",
    "x" * 2_000,
    "00000000-0000-0000-0000-00000000000g",
    "{00000000-0000-7000-8000-000000000000}",
    "urn:uuid:00000000-0000-7000-8000-000000000000",
]


@pytest.mark.parametrize("name", OF_KB)
@pytest.mark.parametrize("odd", ODD_IDS)
def test_odd_addresses_are_not_found(send: Sender, name: str, odd: str) -> None:
    good = send.good(name)
    for part in ("kb", *good.path):
        filled = {"kb": send.stock.kb.slug, **good.path, part: odd}
        answer = send(good, path=good.operation.path.format(**filled))
        check_refusal(answer)
        assert answer.status in (404, 405) or part == "kind", answer
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("name", OF_KB)
def test_an_id_that_nothing_has_is_not_found(send: Sender, name: str) -> None:
    good = send.good(name)
    for part in good.path:
        if part == "kind":
            continue
        unknown = str(REVISION_MAX) if part == "revision" else str(uuid4())
        request = msgspec.structs.replace(good, path={**good.path, part: unknown})
        send.refused(request, NotFoundError)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "//",
        "/openapi",
        "/openapi/v2",
        "/openapi/v2/knowledge-bases",
        "/openapi/v2/knowledge-bases/",
        "/openapi/v3/openapi.json",
        "/openapi/v2/openapi.json/",
        "/health",
        "/health/live/../ready",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/favicon.ico",
        "/" + "a/" * 500,
    ],
)
def test_an_address_without_a_route_is_not_found(send: Sender, path: str) -> None:
    answer = send(send.good("readLiveness"), path=path)
    if answer.status != 200:
        check_refusal(answer)
        assert answer.code == NotFoundError.code
    else:
        assert path.rstrip("/").endswith(("openapi.json", "ready"))
