"""Cursors that were altered, and cursors used where they do not belong."""

import msgspec
import pytest

from kbstore.errors import ValidationError
from kbstore.limits import CURSOR_CHARACTERS_MAX
from tests.badinput.sending import Answer, Sender
from tests.badinput.stock import BY_NAME, Request, Stock
from tests.badinput.test_parameters import having, with_parameter
from tests.knowledge import SCOPE, TEAM, VAULT

LISTS = having("cursor")


@pytest.fixture(scope="module")
def long(services: object, url: str, stock: Stock) -> Stock:
    """A stock in which every list goes on after its first item."""
    long = Stock(stock.kb.services, url)
    with Sender(long) as send:
        for name in ("addNote", "addNote", "editPage"):
            assert send(long.request(name)).status < 300
        for key in ("one", "two"):
            body = {"scope": SCOPE, "parent": long.page.id, "name": key, "key": key}
            body["body"] = f"See [[{long.page.id}]].\n"
            made = send(Request(name="createPage", body=body))
            assert made.status == 201
            gone = {**body, "key": f"{key}-gone"}
            page = msgspec.json.decode(send(Request(name="createPage", body=gone)).raw)["page"]
            ended = Request(
                name="deletePage", path={"pageId": page["id"]}, headers={"if-match": "*"}
            )
            assert send(ended).status == 200
    return long


def cursor_of(send: Sender, name: str) -> str:
    """A good cursor: the list has more than one item."""
    answer = send(send.good(name))
    cursor = msgspec.json.decode(answer.raw)["nextCursor"]
    assert isinstance(cursor, str), f"{name} ends too soon"
    return cursor


def asked(send: Sender, name: str, cursor: str, **more: str) -> Answer:
    good = send.good(name)
    query = with_parameter(good, "cursor", cursor)
    for parameter, value in more.items():
        query += f"&{parameter}={value}"
    return send(good, query=query)


def refused(answer: Answer, reason: str) -> None:
    assert (answer.status, answer.code) == (422, ValidationError.code), answer
    assert answer.details == {"field": "cursor", "reason": reason}


@pytest.mark.parametrize("name", LISTS)
def test_an_altered_cursor_is_malformed(long: Stock, name: str) -> None:
    with long.kb.nothing_written(), Sender(long) as send:
        cursor = cursor_of(send, name)
        assert asked(send, name, cursor).status == 200
        altered = [
            cursor[:-1],
            cursor + "A",
            cursor[::-1],
            "",
            "x",
            "A" * len(cursor),
            "%00" * len(cursor),
            "%F0%9F%98%80" * 10,
            cursor + "=",
            "+" + cursor[1:],
        ]
        for place in range(0, len(cursor), 7):
            other = "B" if cursor[place] == "A" else "A"
            altered.append(cursor[:place] + other + cursor[place + 1 :])
        for given in altered:
            refused(asked(send, name, given), "malformed")


@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_has_a_length(long: Stock, name: str) -> None:
    with Sender(long) as send:
        refused(asked(send, name, "A" * CURSOR_CHARACTERS_MAX), "malformed")
        refused(asked(send, name, "A" * (CURSOR_CHARACTERS_MAX + 1)), "outOfRange")


@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_of_another_place_is_a_mismatch(long: Stock, stock: Stock, name: str) -> None:
    with long.kb.nothing_written(), Sender(long) as send:
        cursor = cursor_of(send, name)
        # Another list.
        for other in LISTS:
            if other != name:
                refused(asked(send, other, cursor), "mismatch")
        # Another principal, and the same one with fewer scopes.
        good = send.good(name)
        query = with_parameter(good, "cursor", cursor)
        grants = ("admin", "auditor")
        twin = long.kb.token("user:twin", (SCOPE, TEAM, VAULT), grants)
        refused(send(good, query=query, headers={"authorization": f"Bearer {twin}"}), "mismatch")
        refused(send(good, query=query, headers={"kb-scopes": SCOPE}), "mismatch")
        # Another revision than the one it stands at.
        if "revision" in BY_NAME[name].parameters.__struct_fields__:
            refused(asked(send, name, cursor, revision="2"), "mismatch")
    with Sender(stock) as elsewhere:
        refused(asked(elsewhere, name, cursor), "malformed")


@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_with_other_parameters_is_a_mismatch(long: Stock, name: str) -> None:
    with Sender(long) as send:
        good = send.good(name)
        query = with_parameter(good, "cursor", cursor_of(send, name))
        if good.path:
            others = {"pageId": long.other.id, "webhookId": long.other_webhook}
            path = {placeholder: others[placeholder] for placeholder in good.path}
            other = msgspec.structs.replace(good, path=path)
            refused(send(other, query=query), "mismatch")
        changed = {"after": "0", "type": "page.edited", "newestFirst": "false"}
        for parameter, value in changed.items():
            if parameter in good.query:
                pairs = {**good.query, parameter: value}
                shaped = msgspec.structs.replace(good, query=pairs)
                query = with_parameter(shaped, "cursor", cursor_of(send, name))
                refused(send(shaped, query=query), "mismatch")
