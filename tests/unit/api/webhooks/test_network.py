"""Connections: to exactly the address that was checked, whatever a name leads to later."""

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from ipaddress import ip_address
from typing import Any, TypeVar

import httpcore
import pytest

from api.webhooks.addresses import Address
from api.webhooks.network import (
    CheckingBackend,
    NameUnknownError,
    PrivateAddressError,
    resolve,
)

T = TypeVar("T")
PUBLIC = "93.184.215.14"


class Plain(httpcore.AsyncNetworkBackend):
    """A network that connects to nothing and notes what it was to connect to."""

    def __init__(self, *broken: str) -> None:
        self.asked: list[str] = []
        self._broken = broken

    async def connect_tcp(self, host: str, *args: Any, **more: Any) -> httpcore.AsyncNetworkStream:
        self.asked.append(host)
        if host in self._broken:
            raise httpcore.ConnectError
        return httpcore.AsyncNetworkStream()


def backend_to(
    *answers: list[str], allow_private: bool = False, broken: tuple[str, ...] = ()
) -> tuple[CheckingBackend, Plain, list[str]]:
    """A network in which each look-up of a name gets the next answer."""
    left, asked = list(answers), list[str]()

    async def look_up(host: str, port: int) -> tuple[Address, ...]:
        asked.append(host)
        return tuple(ip_address(address) for address in left.pop(0))

    backend = CheckingBackend(allow_private=allow_private, resolve=look_up)
    plain = Plain(*broken)
    backend._plain = plain  # type: ignore[assignment]
    return backend, plain, asked


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def test_the_checked_address_is_the_one_connected_to() -> None:
    """A second look-up, which could lead inside, never happens."""
    backend, plain, asked = backend_to([PUBLIC], ["127.0.0.1"])
    run(backend.connect_tcp("receiver.example", 443, 5.0))
    assert plain.asked == [PUBLIC]
    assert asked == ["receiver.example"]


def test_each_connection_is_checked_anew() -> None:
    backend, plain, _ = backend_to([PUBLIC], ["10.0.0.1"])
    run(backend.connect_tcp("receiver.example", 443, 5.0))
    with pytest.raises(PrivateAddressError):
        run(backend.connect_tcp("receiver.example", 443, 5.0))
    assert plain.asked == [PUBLIC]


def test_private_addresses_among_public_ones_are_passed_over() -> None:
    backend, plain, _ = backend_to(["10.0.0.1", "::1", PUBLIC])
    run(backend.connect_tcp("receiver.example", 443, 5.0))
    assert plain.asked == [PUBLIC]


def test_private_addresses_are_connected_to_where_they_are_allowed() -> None:
    backend, plain, _ = backend_to(["10.0.0.1"], allow_private=True)
    run(backend.connect_tcp("receiver.example", 443, 5.0))
    assert plain.asked == ["10.0.0.1"]


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    backend, plain, _ = backend_to(["1.1.1.1", PUBLIC], broken=("1.1.1.1",))
    run(backend.connect_tcp("receiver.example", 443, 5.0))
    assert plain.asked == ["1.1.1.1", PUBLIC]


def test_a_number_of_addresses_is_tried() -> None:
    addresses = [f"1.1.1.{number}" for number in range(1, 10)]
    backend, plain, _ = backend_to(addresses, broken=tuple(addresses))
    with pytest.raises(httpcore.ConnectError):
        run(backend.connect_tcp("receiver.example", 443, 5.0))
    assert plain.asked == addresses[:4]


def test_a_look_up_that_takes_too_long_is_a_time_out() -> None:
    async def never(host: str, port: int) -> tuple[Address, ...]:
        await asyncio.sleep(60)
        return ()

    backend = CheckingBackend(allow_private=False, resolve=never)
    with pytest.raises(httpcore.ConnectTimeout):
        run(backend.connect_tcp("receiver.example", 443, 0.02))


@pytest.fixture
def slow_resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    answer = threading.Event()

    def look_up(*args: Any, **more: Any) -> list[Any]:
        answer.wait(20)
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1%eth0", 443, 0, 2))] * 2

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield answer
    answer.set()


def test_a_resolver_that_hangs_holds_up_nobody_else(slow_resolver: threading.Event) -> None:
    async def work() -> tuple[Address, ...]:
        hanging = [asyncio.create_task(resolve(f"a{n}.example", 443)) for n in range(50)]
        await asyncio.sleep(0)
        assert await resolve("8.8.8.8", 443) == (ip_address("8.8.8.8"),)
        # What needs a thread of the loop still gets one.
        assert await asyncio.wait_for(asyncio.to_thread(lambda: 7), 10) == 7
        for task in hanging[1:]:
            task.cancel()
        slow_resolver.set()
        return await hanging[0]

    assert run(work()) == (ip_address("fe80::1"),)


def test_a_name_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*args: Any, **more: Any) -> list[Any]:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(NameUnknownError):
        run(resolve("nobody.invalid", 443))
    monkeypatch.undo()
    with pytest.raises(NameUnknownError):
        run(resolve("a" * 64 + ".example", 443))
