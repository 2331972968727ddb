"""The example in `docs/how-to/webhooks.md`, run against a real delivery."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from markdown_it import MarkdownIt

from tests.http.hooks import HASTY, hook
from tests.http.receiving import Received, Receiver, answers, takes, until
from tests.http.world import World, create

PAGE = Path(__file__).parents[2] / "docs/how-to/webhooks.md"
Verify = Callable[[str, Mapping[str, str], bytes], None]


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    tokens = MarkdownIt("commonmark").parse(PAGE.read_text("utf-8"))
    (code,) = [token.content for token in tokens if token.info == "python"]
    names: dict[str, Any] = {}
    exec(compile(code, PAGE.name, "exec"), names)
    return names


@pytest.fixture
def delivery(hasty_world: World, receiver: Receiver) -> tuple[str, Received]:
    owner: httpx.Client = hasty_world.client("org:acme")
    secret = hook(owner, receiver.url)["secret"]
    create(owner, "Signed", body="# Ä \n")
    until(lambda: receiver.received != [])
    return secret, receiver.received[0]


def test_a_delivery_is_verified(example: dict[str, Any], delivery: tuple[str, Received]) -> None:
    secret, received = delivery
    example["verify"](secret, received.headers, received.body)
    # Several signatures stand there while a secret is changed, by the specification.
    more = f"v1a,b3RoZXI= {received.headers['webhook-signature']}"
    example["verify"](secret, {**received.headers, "webhook-signature": more}, received.body)


def test_what_was_altered_is_refused(
    example: dict[str, Any], delivery: tuple[str, Received]
) -> None:
    secret, received = delivery
    verify: Verify = example["verify"]
    headers, body = received.headers, received.body
    later = str(int(headers["webhook-timestamp"]) + 1)
    signature = headers["webhook-signature"]
    altered = [
        (secret, headers, body + b" "),
        (secret, headers, body.replace(b"Signed", b"Forged")),
        (secret, {**headers, "webhook-id": "msg_other"}, body),
        (secret, {**headers, "webhook-timestamp": later}, body),
        (secret, {**headers, "webhook-signature": ""}, body),
        (secret, {**headers, "webhook-signature": signature.replace("v1,", "v2,")}, body),
        ("whsec_" + "A" * 43 + "=", headers, body),
    ]
    for case in altered:
        with pytest.raises(ValueError, match="signature"):
            verify(*case)


def test_an_old_delivery_is_refused(
    example: dict[str, Any], delivery: tuple[str, Received], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, received = delivery
    sent = int(received.headers["webhook-timestamp"])
    tolerance = example["TOLERANCE_SECONDS"]
    for moment, is_old in (
        (sent + tolerance, False),
        (sent + tolerance + 1, True),
        (sent - tolerance, False),
        (sent - tolerance - 1, True),
    ):
        monkeypatch.setattr(example["time"], "time", lambda moment=moment: moment)
        if is_old:
            with pytest.raises(ValueError, match="too old"):
                example["verify"](secret, received.headers, received.body)
        else:
            example["verify"](secret, received.headers, received.body)
    monkeypatch.undo()


def test_each_attempt_is_signed_with_its_own_time(
    example: dict[str, Any], hasty_world: World, receiver: Receiver
) -> None:
    receiver.behaviour = answers(500)
    owner = hasty_world.client("org:acme")
    secret = hook(owner, receiver.url)["secret"]
    create(owner, "Twice")
    until(lambda: len(receiver.received) == HASTY.attempts_max)
    receiver.behaviour = takes
    for received in receiver.received:
        example["verify"](secret, received.headers, received.body)
    assert len({received.id for received in receiver.received}) == 1
