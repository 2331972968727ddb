"""Receivers behind TLS: whose certificates are trusted, and what happens when they change."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
import trustme
from msgspec.structs import replace

from api.settings import Settings
from api.wiring import open_services
from tests.backends import NewUrl
from tests.http.hooks import HASTY, hook, state
from tests.http.receiving import receiving, until
from tests.http.world import World, create, serve


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def served(
    new_url: NewUrl, authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """A server that trusts one authority of its own besides the system's."""
    ca_file: Path = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    settings = Settings(webhooks=replace(HASTY, ca_file=str(ca_file)))
    with open_services(new_url()) as services, serve(services, settings) as url:
        world = World(services, url, slug=f"kb-{uuid4()}")
        yield world
        world.close()


@pytest.fixture
def owner(served: World) -> httpx.Client:
    client = served.client("org:acme")
    create(client, "Ground")
    return client


def names_itself(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def test_a_trusted_receiver_gets_its_events(owner: httpx.Client, authority: trustme.CA) -> None:
    with receiving(tls=names_itself(authority, "127.0.0.1")) as receiver:
        hook(owner, receiver.url)
        create(owner, "First")
        create(owner, "Second")
        until(lambda: receiver.named("First", "Second"))


def test_the_name_of_the_url_is_the_one_that_counts(
    owner: httpx.Client, authority: trustme.CA
) -> None:
    """The address is only what was connected to."""
    with receiving(tls=names_itself(authority, "localhost")) as receiver:
        by_name = hook(owner, f"https://localhost:{receiver.port}/hook")
        by_address = hook(owner, receiver.url)
        create(owner, "First")
        until(lambda: receiver.named("First"))
        until(lambda: state(owner, by_address)["lastError"] == "tls")
        until(lambda: state(owner, by_name)["lastStatus"] == 204)


def test_a_receiver_whose_certificate_changes(owner: httpx.Client, authority: trustme.CA) -> None:
    with receiving(tls=names_itself(authority, "127.0.0.1")) as receiver:
        port = receiver.port
        webhook = hook(owner, receiver.url)
        create(owner, "First")
        until(lambda: receiver.named("First"))
    # Another one that is trusted as well.
    with receiving(port, names_itself(authority, "127.0.0.1")) as renewed:
        create(owner, "Second")
        until(lambda: renewed.named("Second"))
    with receiving(port, names_itself(trustme.CA(), "127.0.0.1")) as stranger:
        create(owner, "Third")
        until(lambda: state(owner, webhook)["lastError"] == "tls")
        # Writes go on, and the stranger gets to know nothing.
        create(owner, "Fourth")
        assert stranger.received == []
    with receiving(port, names_itself(authority, "127.0.0.1")) as back:
        until(lambda: "Fourth" in str([each.json for each in back.received]))
        assert stranger.received == []


def test_a_receiver_without_tls_behind_an_https_url_fails(owner: httpx.Client) -> None:
    with receiving() as plain:
        webhook = hook(owner, plain.url.replace("http:", "https:"))
        create(owner, "First")
        until(lambda: state(owner, webhook)["lastError"] in ("tls", "connection"))
        assert plain.received == []
