"""Sending one message: what is read of the answer, and how connections are kept."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.settings import WebhookSettings
from api.webhooks.sending import Outcome, Sender, tls_context
from kbstore.errors import StoreError
from kbstore.limits import WEBHOOK_ANSWER_BYTES_MAX
from tests.http.receiving import Handler, Received, Receiver, hangs, receiving

SETTINGS = WebhookSettings(allow_private=True)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def send(url: str, *, times: int = 1, settings: WebhookSettings = SETTINGS) -> list[Outcome]:
    async def work() -> list[Outcome]:
        sender = Sender(settings)
        try:
            return [await sender.send(url, {"x-one": "1"}, b"body") for _ in range(times)]
        finally:
            await sender.close()

    return asyncio.run(work())


def test_what_is_sent_arrives_as_it_is(receiver: Receiver) -> None:
    assert send(f"{receiver.url}?a=b") == [Outcome(204, None)]
    (received,) = receiver.received
    assert (received.path, received.body) == ("/hook?a=b", b"body")
    assert received.headers["x-one"] == "1"
    assert received.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert received.headers["content-length"] == "4"


@pytest.mark.parametrize(("extra", "connections"), [(0, 1), (1, 3)])
def test_an_answer_is_read_up_to_a_size(receiver: Receiver, extra: int, connections: int) -> None:
    """Over it the connection is given up, but the status counts all the same."""
    ports: list[int] = []

    def behave(handler: Handler, received: Received) -> None:
        ports.append(handler.client_address[1])
        handler.answer(200, b"x" * (WEBHOOK_ANSWER_BYTES_MAX + extra))

    receiver.behaviour = behave
    assert send(receiver.url, times=3) == [Outcome(200, None)] * 3
    assert len(set(ports)) == connections


def test_an_answer_has_a_time(receiver: Receiver) -> None:
    receiver.behaviour = hangs
    hasty = replace(SETTINGS, answer_seconds_max=0.1)
    assert send(receiver.url, settings=hasty) == [Outcome(None, "timeout")]


def test_an_answer_may_ask_for_time(receiver: Receiver) -> None:
    def behave(handler: Handler, received: Received) -> None:
        handler.answer(503, b"later", Retry_After="7")

    receiver.behaviour = behave
    assert send(receiver.url) == [Outcome(503, "status", "7")]


def test_plain_http_needs_leave(receiver: Receiver) -> None:
    strict = replace(SETTINGS, allow_private=False)
    assert send(receiver.url, settings=strict) == [Outcome(None, "scheme")]
    assert receiver.received == []


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    for name, text in (("empty.pem", ""), ("text.pem", "no certificate"), ("missing.pem", None)):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(StoreError, match=name):
            tls_context(str(tmp_path / name))
