"""Connections to receivers: a name is looked up, each address checked, and exactly the checked
one connected to, so that no second look-up can lead elsewhere."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

import httpcore

from api.webhooks.addresses import Address, is_public, parse_host

Resolve = Callable[[str, int], Awaitable[tuple[Address, ...]]]
_ADDRESSES_TRIED_MAX = 4


class PrivateAddressError(Exception):
    """A name leads to private addresses alone."""


class NameUnknownError(Exception):
    """A name leads nowhere."""


async def resolve(host: str, port: int) -> tuple[Address, ...]:
    """The addresses behind a host. Raises NameUnknownError.

    A look-up cannot be broken off, and may take as long as the system's resolver likes. So it
    has a thread of its own, which nobody waits for.
    """
    literal = parse_host(host)
    if literal is not None:
        return (literal,)
    loop = asyncio.get_running_loop()
    found: asyncio.Future[tuple[Address, ...]] = loop.create_future()

    def tell(addresses: tuple[Address, ...]) -> None:
        if not found.done():
            found.set_result(addresses)

    def look() -> None:
        addresses = _look_up(host, port)
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell, addresses)

    threading.Thread(target=look, name="kbstore-resolver", daemon=True).start()
    addresses = await found
    if not addresses:
        raise NameUnknownError(host)
    return addresses


def _look_up(host: str, port: int) -> tuple[Address, ...]:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    # An address of a link names its interface after a percent sign.
    parsed = (parse_host(str(entry[4][0]).partition("%")[0]) for entry in entries)
    return tuple(dict.fromkeys(address for address in parsed if address is not None))


class CheckingBackend(httpcore.AsyncNetworkBackend):
    """The network as httpcore uses it, without what may not be reached."""

    def __init__(self, *, allow_private: bool, resolve: Resolve = resolve) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._plain = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Raises PrivateAddressError and NameUnknownError besides what httpcore raises."""
        try:
            async with asyncio.timeout(timeout):
                return await self._connect(host, port, timeout, local_address, socket_options)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout from error

    async def _connect(
        self,
        host: str,
        port: int,
        seconds_max: float | None,
        local_address: str | None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._resolve(host, port)
        if not self._allow_private:
            addresses = tuple(address for address in addresses if is_public(address))
            if not addresses:
                raise PrivateAddressError(host)
        *others, last = addresses[:_ADDRESSES_TRIED_MAX]
        for address in others:
            share = None if seconds_max is None else seconds_max / (len(others) + 1)
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return await self._plain.connect_tcp(
                    str(address), port, share, local_address, socket_options
                )
        return await self._plain.connect_tcp(
            str(last), port, seconds_max, local_address, socket_options
        )

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
