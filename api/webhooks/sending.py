"""Sending one message and telling how it went, within limits of time and size."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import cast

import httpcore
from msgspec import Struct

from api.settings import WebhookSettings
from api.webhooks.network import CheckingBackend, NameUnknownError, PrivateAddressError, Resolve
from api.webhooks.network import resolve as resolve_name
from kbstore.errors import StoreError

_KEEPALIVE_SECONDS = 5.0
_BODY_SECONDS_MAX = 1.0
_CAUSES_MAX = 8


class Outcome(Struct, frozen=True):
    """How an attempt went: `error` is None when the message was taken, else one word.

    `status` is the answer's, None when there was none that could be read in time.
    """

    status: int | None
    error: str | None
    retry_after: str | None = None


class Sender:
    """Sends to receivers over connections that are kept for a moment; use it from one event
    loop. `resolve` looks names up."""

    def __init__(self, settings: WebhookSettings, resolve: Resolve = resolve_name) -> None:
        self._settings = settings
        self._backend = CheckingBackend(allow_private=settings.allow_private, resolve=resolve)
        self._opening = asyncio.Lock()
        self._pool: httpcore.AsyncConnectionPool | None = None

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Posts the body. Never raises for what a receiver does."""
        if not (self._settings.allow_private or url.lower().startswith("https:")):
            return Outcome(None, "scheme")
        pool = await self._opened()
        try:
            return await self._post(pool, url, headers, body)
        except (TimeoutError, httpcore.TimeoutException):
            return Outcome(None, "timeout")
        except PrivateAddressError:
            return Outcome(None, "privateAddress")
        except NameUnknownError:
            return Outcome(None, "nameUnknown")
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            return Outcome(None, "tls" if _is_of_tls(error) else "connection")

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    async def _post(
        self,
        pool: httpcore.AsyncConnectionPool,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
    ) -> Outcome:
        posting = pool.stream(
            "POST",
            url,
            headers=[(name.encode(), value.encode()) for name, value in headers.items()],
            content=body,
            extensions={"timeout": {"connect": self._settings.connect_seconds_max}},
        )
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._settings.answer_seconds_max):
                response = await stack.enter_async_context(posting)
            await self._drop_body(response)
            return _outcome(response)

    async def _drop_body(self, response: httpcore.Response) -> None:
        """Reads a short body, so that the connection can be used again.

        What the receiver says has been heard: a body that is long or never ends does not unsay
        it, but ends the connection.
        """
        left = self._settings.answer_bytes_max
        try:
            async with (
                asyncio.timeout(_BODY_SECONDS_MAX),
                aclosing(cast(AsyncGenerator[bytes, None], response.aiter_stream())) as chunks,
            ):
                async for chunk in chunks:
                    left -= len(chunk)
                    if left < 0:
                        return
        except (TimeoutError, httpcore.NetworkError, httpcore.ProtocolError):
            return

    async def _opened(self) -> httpcore.AsyncConnectionPool:
        async with self._opening:
            if self._pool is None:
                # Reading the system's certificates takes longer than a request should wait.
                context = await asyncio.to_thread(tls_context, self._settings.ca_file)
                self._pool = httpcore.AsyncConnectionPool(
                    ssl_context=context,
                    max_connections=self._settings.deliveries_max,
                    keepalive_expiry=_KEEPALIVE_SECONDS,
                    network_backend=self._backend,
                )
        return self._pool


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Who is trusted to name receivers: whom the system trusts, and who stands in the file.

    Raises StoreError for a file that holds no certificates.
    """
    context = ssl.create_default_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise StoreError(f"{ca_file} cannot be read as certificates: {error}.") from error
    return context


def _outcome(response: httpcore.Response) -> Outcome:
    status = response.status
    if 200 <= status < 300:
        return Outcome(status, None)
    error = "redirect" if 300 <= status < 400 else "status"
    return Outcome(status, error, _header(response.headers, b"retry-after"))


def _header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), None)


def _is_of_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    for _ in range(_CAUSES_MAX):
        if cause is None:
            return False
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
