"""C54: a dense page took quadratic time and the connection dropped; a huge one ended the process.

Counted are executed lines and calls of our Python and the parser's, not time.
"""

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import httpx
import pytest
from msgspec import Struct

from api.settings import Settings
from api.wiring import open_services
from kbstore.limits import BODY_BYTES_MAX, REQUEST_BYTES_MAX
from kbstore.text import analyse
from kbstore.text.diff import merge_lines, unified_diff
from tests.asking import Answer, Client, asking_at
from tests.http.world import serve
from tests.knowledge import KnowledgeBase

HEADINGS, BOLD_RUNS, TABLE_ROWS = 2_647, 7_000, 1_100
PAGE_BYTES = 766_000


def dense_page() -> str:
    """Headings, bold runs and table rows, as many as the page that brought a server down."""
    parts = ["# A dense page\n"]
    bold = 0
    for number in range(1, HEADINGS):
        runs = (BOLD_RUNS * number) // (HEADINGS - 1) - bold
        bold += runs
        words = " and ".join(f"**run {bold - run}**" for run in range(runs))
        parts.append(f"\n{'#' * (2 + number % 3)} Heading {number}\n\nText with {words} here.\n")
        if number % 24 == 0:
            parts.append("\n| key | value |\n| --- | --- |\n")
            parts += [f"| {row} | cell [[org:acme#{row}]] |\n" for row in range(10)]
    text = "".join(parts)
    filler = "Words that fill the page without any markup in them.\n"
    return text + "\n" + filler * ((PAGE_BYTES - len(text)) // len(filler))


def test_the_page_that_was_too_dense_is_written_and_read(ana: Client) -> None:
    body = dense_page()
    assert body.count("**") == 2 * BOLD_RUNS
    assert body.count("cell") >= TABLE_ROWS - 10
    page = ana.made("dense", body=body)
    assert page.body == body
    found = analyse(body)
    assert len(found.outline) == HEADINGS
    assert found.outline[-1].text == f"Heading {HEADINGS - 1}"
    edited = body.replace("Heading 1300\n", "Heading 1300, edited\n")
    assert ana.edit(page.id, 1, body=edited).page.version == 2
    last = body.count("\n") + 1
    middle = {"start": {"line": last // 2}, "end": {"line": last // 2}}
    assert ana.edit(page.id, 2, body="one line", range=middle).page.version == 3
    assert ana.ask("GET", f"/pages/{page.id}/diff", query={"from": 1, "to": 3}).status == 200
    assert ana.edit(page.id, 1, body="mine\n").refused(409, "VERSION_CONFLICT").details["diff"]


TraceFunction = Callable[[FrameType, str, object], "TraceFunction"]
Kind = Callable[[int], str]
KINDS: dict[str, Kind] = {
    "headings": lambda n: "# Heading\n" * n,
    "setext headings": lambda n: "Heading\n=======\n" * n,
    "bold runs": lambda n: "**bold** " * n,
    "open bold runs": lambda n: "**bold " * n,
    "nested emphasis": lambda n: "*a **b " * n,
    "underscores": lambda n: "_a __b " * n,
    "open brackets": lambda n: "[" * n,
    "open wiki links": lambda n: "[[a " * n,
    "wiki links": lambda n: "[[org:acme#a/b]] " * n,
    "links": lambda n: "[a](b.md) " * n,
    "half links": lambda n: "[a](b " * n,
    "images in links": lambda n: "[![a](b) " * n,
    "reference links": lambda n: "[a][b] " * n,
    "link definitions": lambda n: "".join(f"[r{i}]: /u{i}\n" for i in range(n)),
    "backticks": lambda n: "`a " * n,
    "backtick runs": lambda n: "".join("`" * (i % 50 + 1) + " " for i in range(n)),
    "angle brackets": lambda n: "<a " * n,
    "comments that do not end": lambda n: "<!-- " * n,
    "fences": lambda n: "```\ncode\n```\n" * n,
    "an open fence": lambda n: "```\n" + "code # not a heading\n" * n,
    "quotes": lambda n: "> quoted\n" * n,
    "list items": lambda n: "- item\n" * n,
    "numbered items": lambda n: "".join(f"{i}. item\n" for i in range(n)),
    "loose items": lambda n: "- item\n\n" * n,
    "table rows": lambda n: "| a | b |\n| - | - |\n" + "| 1 | 2 |\n" * n,
    "a wide table": lambda n: "|" + "a|" * n + "\n|" + "-|" * n + "\n",
    "pipes": lambda n: "a|b\n" * n,
    "one long line": lambda n: "word " * n,
    "empty lines": lambda n: "\n" * n,
    "escapes": lambda n: "\\* " * n,
    "entities": lambda n: "&amp; " * n,
    "rules": lambda n: "---\n" * n,
    "front matter that does not end": lambda n: "---\n" + "a: b\n" * n,
    "front matter": lambda n: "---\n" + "".join(f"k{i}: v\n" for i in range(n // 2)) + "---\n",
    "front matter over its limit": lambda n: "---\n" + "key: value\n" * 3 * n + "---\n",
    "html blocks": lambda n: "<div>\n" * n,
    "CJK": lambda n: "文字" * n,
    "combining marks": lambda n: "e" + "\u0301" * n,
}
"""Markdown of which a part is said n times."""

SMALL, TIMES = 400, 4
LINEAR_MAX = 1.5
"""How much more than linear is still linear: constants, and tables that grow."""


class Work(Struct):
    lines: int = 0


@contextmanager
def counting() -> Iterator[Work]:
    """Counts the lines of Python that run in the block."""
    work = Work()

    def line(frame: FrameType, event: str, argument: object) -> TraceFunction:
        work.lines += 1
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        yield work
    finally:
        sys.settrace(before)


def lines_run(do: Callable[[], object]) -> int:
    with counting() as work:
        do()
    return work.lines


@pytest.mark.parametrize("name", KINDS)
def test_analysis_takes_as_many_steps_as_there_is_text(name: str) -> None:
    small, large = KINDS[name](SMALL), KINDS[name](SMALL * TIMES)
    analyse(small)
    few, many = lines_run(lambda: analyse(small)), lines_run(lambda: analyse(large))
    assert many <= few * TIMES * LINEAR_MAX + 1_000, f"{few} lines became {many}"


@pytest.mark.parametrize("name", ["headings", "table rows", "bold runs", "one long line"])
def test_comparing_takes_a_bounded_number_of_steps(name: str) -> None:
    """Two bodies that have hardly a line in common, and a merge of both."""

    def compare(size: int) -> None:
        base = KINDS[name](size)
        theirs = base.replace("a", "x").replace("e", "y").replace("\n", "!\n")
        mine = base.replace("a", "v").replace("e", "w").replace("\n", "?\n")
        unified_diff(base, theirs, "base", "theirs")
        merge_lines(base, mine, theirs)

    compare(10)
    few, many = lines_run(lambda: compare(SMALL)), lines_run(lambda: compare(SMALL * TIMES))
    assert many <= few * TIMES * LINEAR_MAX + 1_000, f"{few} lines became {many}"


# --- hard limits ----------------------------------------------------------------------------


@pytest.fixture
def small_server(tmp_path: Path) -> Iterator[tuple[KnowledgeBase, Client]]:
    """A server that takes requests up to 10,000 bytes."""
    with (
        open_services(f"sqlite:///{tmp_path}/kb.sqlite") as services,
        serve(services, Settings(request_bytes_max=10_000)) as url,
    ):
        kb = KnowledgeBase(services)
        with asking_at(url, kb) as ask:
            yield kb, ask("user:ana")


def request_of(size: int) -> bytes:
    head = b'{"scope": "org:acme", "name": "Page", "body": "'
    return head + b"x" * (size - len(head) - 2) + b'"}'


def test_a_request_may_be_as_large_as_the_limit(
    small_server: tuple[KnowledgeBase, Client],
) -> None:
    kb, client = small_server
    assert client.ask("POST", "/pages", request_of(10_000)).status == 201
    with kb.nothing_written():
        refusal = client.ask("POST", "/pages", request_of(10_001)).refused(413, "REQUEST_TOO_LARGE")
    assert refusal.details["limit"] == 10_000


@pytest.mark.parametrize(
    "body",
    [b"{" * 10_001, b"\xff" * 10_001, b"[" + b"[]," * 5_000, b"nul" * 5_000],
    ids=["brackets", "no UTF-8", "lists", "no JSON"],
)
@pytest.mark.parametrize("path", ["/pages", "/commits"])
def test_what_is_too_large_is_refused_before_it_is_parsed(
    small_server: tuple[KnowledgeBase, Client], path: str, body: bytes
) -> None:
    """The answer is 413, although none of it is JSON."""
    kb, client = small_server
    with kb.nothing_written():
        client.ask("POST", path, body).refused(413, "REQUEST_TOO_LARGE")


def test_an_announced_length_is_enough(ana: Client) -> None:
    """40 MB are refused by their length; none of them has to arrive."""
    answer = _announce(ana, REQUEST_BYTES_MAX + 1)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"REQUEST_TOO_LARGE" in answer


def test_without_a_length_it_is_counted_as_it_comes(
    small_server: tuple[KnowledgeBase, Client],
) -> None:
    kb, client = small_server

    def endless() -> Iterator[bytes]:
        for _ in range(200):
            yield b" " * 1_000

    with kb.nothing_written(), httpx.Client() as http:
        try:
            response = http.post(
                f"{client.base}/pages",
                content=endless(),
                headers={
                    "authorization": f"Bearer {client.token}",
                    "content-type": "application/json",
                },
            )
        except httpx.TransportError:
            # The server answered and closed while the rest was still being sent.
            pass
        else:
            answer = Answer(response.status_code, response.headers, response.content)
            answer.refused(413, "REQUEST_TOO_LARGE")
    # It goes on serving.
    assert client.made("p").version == 1


@pytest.mark.parametrize("letter", ["x", "é", "文"])
def test_a_body_over_its_limit_is_a_field_over_its_limit(
    kb: KnowledgeBase, ana: Client, letter: str
) -> None:
    """Counted in bytes of UTF-8, at n and at n + 1."""
    count, rest = divmod(BODY_BYTES_MAX, len(letter.encode()))
    fits = letter * count + "x" * rest
    assert len(fits.encode()) == BODY_BYTES_MAX
    page = ana.made("p")
    operation = {"op": "edit", "page": page.id, "expectedVersion": 1, "body": fits + "x"}
    with kb.nothing_written():
        for answer in (
            ana.edit(page.id, 1, body=fits + "x"),
            ana.create("q", body=fits + "x"),
            ana.commit(operation),
        ):
            details = answer.refused(422, "VALIDATION_ERROR").details
            assert str(details["field"]).endswith("body")
            assert details["limit"] == BODY_BYTES_MAX
    assert ana.edit(page.id, 1, body=fits).page.version == 2


def _announce(client: Client, length: int) -> bytes:
    """The answer to the head of a request alone."""
    url = httpx.URL(client.base)
    assert url.port is not None
    with socket.create_connection((url.host, url.port), timeout=30) as connection:
        connection.sendall(
            f"POST {url.path}/pages HTTP/1.1\r\nHost: {url.host}\r\n"
            f"Authorization: Bearer {client.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {length}\r\n\r\n".encode()
        )
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
    return received
