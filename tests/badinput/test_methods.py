"""Methods that an address does not take, each answered in the one shape."""

from collections import defaultdict

import pytest

from tests.backends import on_sqlite
from tests.badinput.sending import Sender, check_refusal
from tests.badinput.stock import ENDING, Request

pytestmark = on_sqlite
"""Refused before any database is asked."""

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "LOCK")


def _taken() -> dict[str, set[str]]:
    """The methods of each address, and the name of one operation there."""
    taken: dict[str, set[str]] = defaultdict(set)
    for operation in ENDING:
        taken[operation.path].add(operation.method)
        if operation.method == "GET":
            taken[operation.path].add("HEAD")
    return taken


TAKEN = _taken()
NAMES = {operation.path: operation.name for operation in ENDING}


@pytest.mark.parametrize("path", TAKEN)
def test_another_method_is_not_allowed(send: Sender, path: str) -> None:
    good = send.good(NAMES[path])
    for method in METHODS:
        if method in TAKEN[path]:
            continue
        answer = send(Request(name=good.name, path=good.path, query=good.query), method=method)
        assert answer.status == 405, (method, answer)
        if method != "HEAD":
            check_refusal(answer)
            assert answer.code == "METHOD_NOT_ALLOWED"
        allowed = {name.strip() for name in answer.headers["allow"].split(",")}
        assert allowed - {"OPTIONS"} == TAKEN[path]


@pytest.mark.parametrize("path", [path for path in TAKEN if "GET" in TAKEN[path]])
def test_head_is_get_without_a_body(send: Sender, path: str) -> None:
    name = next(o.name for o in ENDING if o.path == path and o.method == "GET")
    good = send.good(name)
    whole, head = send(good), send(good, method="HEAD")
    assert head.raw == b""
    assert (head.status, head.headers["content-length"]) == (200, str(len(whole.raw)))


@pytest.mark.parametrize("path", TAKEN)
def test_options_tells_the_methods(send: Sender, path: str) -> None:
    good = send.good(NAMES[path])
    answer = send(Request(name=good.name, path=good.path), method="OPTIONS")
    assert (answer.status, answer.raw) == (204, b"")
    allowed = {name.strip() for name in answer.headers["allow"].split(",")}
    assert allowed == {*TAKEN[path], "OPTIONS"}
