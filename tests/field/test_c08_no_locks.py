"""C8: locks ran out while their holder still worked, and waiting clients spun without end."""

import socket
from functools import partial

import httpx

from tests.asking import Ask, Client
from tests.knowledge import KnowledgeBase
from tests.together import racing

WRITERS = 20


def append(client: Client, page: str, line: str, tries_max: int) -> int:
    """Adds a line as a well-behaved client does: read, write, and on a conflict do it again.

    Gives the number of tries; each refusal means that somebody else got through.
    """
    for number in range(1, tries_max + 1):
        read = client.page(page)
        answer = client.edit(page, read.version, body=f"{read.body}{line}\n")
        if answer.status == 200:
            return number
        answer.refused(409, "VERSION_CONFLICT")
    raise AssertionError("a writer got no turn")


def test_twenty_writers_on_one_page_all_get_through(
    kb: KnowledgeBase, asking: Ask, ana: Client
) -> None:
    page = ana.made("p", body="").id
    clients = [asking(f"agent:{number}") for number in range(WRITERS)]
    with racing(WRITERS) as together:
        tries = together.run(
            [
                # Whoever loses lost to one of the other 19, each of whom writes once.
                partial(append, client, page, f"line {number}", WRITERS)
                for number, client in enumerate(clients)
            ]
        )
    assert all(isinstance(number, int) for number in tries)
    body = ana.page(page).body
    assert body is not None
    assert sorted(body.splitlines()) == sorted(f"line {number}" for number in range(WRITERS))
    assert len(kb.events_of(page)) == WRITERS + 1


def test_a_client_that_read_and_never_came_back_holds_nobody_up(
    kb: KnowledgeBase, ana: Client, ben: Client
) -> None:
    page = ana.made("p", body="one\n").id
    assert ben.page(page).version == 1
    _cut_off_write(ben, page)
    before = len(kb.events_of(page))
    assert ana.edit(page, 1, body="two\n").page.version == 2
    assert len(kb.events_of(page)) == before + 1


def test_the_loser_is_told_at_once_and_may_give_up(
    kb: KnowledgeBase, ana: Client, ben: Client
) -> None:
    """A refusal leaves nothing that would have to be released or would run out."""
    page = ana.made("p", body="one\n").id
    ana.edit(page, 1, body="two\n")
    for _ in range(5):
        with kb.nothing_written():
            ben.edit(page, 1, body="mine\n").refused(409, "VERSION_CONFLICT")
    assert ana.edit(page, 2, body="three\n").page.version == 3


def _cut_off_write(client: Client, page: str) -> None:
    """The head of a PATCH and half of its body, then the connection ends."""
    url = httpx.URL(client.base)
    assert url.port is not None
    with socket.create_connection((url.host, url.port)) as connection:
        connection.sendall(
            f"PATCH {url.path}/pages/{page} HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {client.token}\r\nContent-Type: application/json\r\n"
            'If-Match: "1"\r\nContent-Length: 100\r\n\r\n{"body": "half'.encode()
        )
