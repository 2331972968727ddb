"""Headers: who asks, what is expected, and what a commit is told."""

import pytest

from kbstore.errors import (
    GrantMissingError,
    NotFoundError,
    PreconditionRequiredError,
    UnauthenticatedError,
    ValidationError,
)
from kbstore.limits import HELD_SCOPES_MAX
from tests.backends import on_sqlite
from tests.badinput.sending import Sender
from tests.badinput.stock import COMMITS, CONDITIONAL, OF_KB, READS, Stock

pytestmark = on_sqlite
"""Refused before any database is asked."""

NO_KEYS: list[str | bytes] = [
    "",
    "Bearer",
    "Bearer ",
    "Bearer x",
    "Bearer kbs_",
    "Bearer kbs__",
    "Bearer kbs_0123456789abcdef_",
    "Bearer kbs_0123456789abcdef_wrong",
    "Basic a2JzOmtic",
    "Digest username=x",
    "bearer",
    b"Bearer \xff\xfe",
    "Bearer kbs_" + "a" * 5_000 + "_b",
    "Bearer ' or 1=1 --",
]
NO_TAGS: list[str | bytes] = [
    "abc",
    '"abc"',
    "3",
    'W/"3"',
    '"1","2"',
    '"1" "2"',
    '""',
    '"-1"',
    '"1',
    '1"',
    '"1.0"',
    '"١"',
    '"' + "9" * 16 + '"',
    '"' + "9" * 400 + '"',
    "**",
    '*, "1"',
    '"*"',
    b'"\xff"',
]
NO_SCOPES: list[str | bytes] = [
    "x",
    "org",
    "org:",
    ":acme",
    "org:acme:",
    "org:a b",
    "org:..",
    "org:$org",
    "org:acme#key",
    "org:acme/",
    b"org:\xff",
    "org:" + "a" * 400,
    ",".join(f"org:a{n}" for n in range(HELD_SCOPES_MAX + 1)),
]


@pytest.mark.parametrize("name", OF_KB)
def test_who_has_no_key_is_not_known(send: Sender, name: str) -> None:
    good = send.good(name)
    for value in NO_KEYS:
        answer = send.refused(good, UnauthenticatedError, headers={"authorization": value})
        assert answer.headers["www-authenticate"] == "Bearer"


def test_an_altered_key_is_not_known(send: Sender) -> None:
    token = send.stock.token
    good = send.good("readActiveRevision")
    for altered in (token[:-1], token + "x", token.upper(), token.swapcase(), token[4:]):
        send.refused(good, UnauthenticatedError, headers={"authorization": f"Bearer {altered}"})
    assert send(good, headers={"authorization": f"bearer  {token} "}).status == 200


@pytest.mark.parametrize("name", OF_KB)
def test_another_knowledge_base_is_not_there(
    send: Sender, name: str, services: object, url: str
) -> None:
    good = send.good(name)
    other = Stock(send.stock.kb.services, url)
    answers = [
        send.refused(good, NotFoundError, path=good.operation.path.format(kb=address, **good.path))
        for address in (other.kb.slug, "kb-never", f"knowledge-base-{other.kb.id}")
    ]
    assert len({(a.status, a.code, a.error["message"]) for a in answers}) == 1


@pytest.mark.parametrize("name", OF_KB)
def test_scopes_that_are_none_are_refused(send: Sender, name: str) -> None:
    good = send.good(name)
    for value in NO_SCOPES:
        answer = send.refused(good, ValidationError, headers={"kb-scopes": value})
        assert answer.details["field"] == "KB-Scopes"


@pytest.mark.parametrize("name", CONDITIONAL)
def test_an_expectation_has_one_form(send: Sender, name: str) -> None:
    good = send.good(name)
    send.refused(good, PreconditionRequiredError, headers={"if-match": ""})
    for value in NO_TAGS:
        answer = send.refused(good, ValidationError, headers={"if-match": value})
        assert answer.details["field"] == "If-Match"


@pytest.mark.parametrize("name", COMMITS)
@pytest.mark.parametrize("header", ["kb-message", "kb-run", "kb-tool-call", "idempotency-key"])
def test_what_a_commit_is_told_is_clean_text(send: Sender, name: str, header: str) -> None:
    good = send.good(name)
    values: list[str | bytes] = ["a\tb", "a\u0085b", b"\xff", b"\xed\xa0\x80", "é" * 1_001]
    for value in values:
        answer = send.refused(good, ValidationError, headers={header: value})
        assert answer.details["field"].lower() == header
        assert answer.details["reason"] in ("control", "notUtf8", "tooLong")


def test_an_empty_idempotency_key_is_refused(send: Sender) -> None:
    for value in (" ", "\t"):
        answer = send.refused(
            send.good("createPage"), ValidationError, headers={"idempotency-key": value}
        )
        assert answer.details["field"] == "Idempotency-Key"


@pytest.mark.parametrize("name", READS)
def test_any_tag_can_be_asked_about(send: Sender, name: str) -> None:
    """What matches nothing is no fault: the answer is the whole one."""
    good = send.good(name)
    for value in ('"x"', "x", "W/", ",,,", '"' + "9" * 4_000 + '"'):
        assert send(good, headers={"if-none-match": value}).status == 200


@pytest.mark.parametrize(
    "given", ["a b", "a;b", "a\tb", "x" * 129, "%0d%0aset-cookie: a=b", "é", b"\xff", "<script>"]
)
def test_an_odd_request_id_is_not_repeated(send: Sender, given: str | bytes) -> None:
    for name in ("readLiveness", "readActiveRevision"):
        answer = send(send.good(name), headers={"x-request-id": given})
        assert answer.status == 200
        assert answer.headers["x-request-id"] != given
        assert "set-cookie" not in answer.headers


def test_a_weak_key_is_told_what_it_lacks(send: Sender, stock: Stock) -> None:
    weak = {"authorization": f"Bearer {stock.kb.token('user:weak', ('viewer:acme',))}"}
    for name in ("readConfiguration", "replaceConfiguration"):
        send.refused(send.good(name), GrantMissingError, headers=weak)
    for name in ("editPage", "movePage", "mergePage", "deletePage", "setPin", "addNote"):
        answer = send.refused(send.good(name), headers=weak)
        assert (answer.status, answer.code) == (403, "ROLE_TOO_WEAK")
