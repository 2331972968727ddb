"""Requests with an `Idempotency-Key` that are being answered right now, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from kbstore.errors import IdempotencyInProgressError

RunningKey = tuple[UUID, str, str]


class RunningClaims:
    """Lets one request of a key run at a time; used from one event loop alone."""

    def __init__(self) -> None:
        self._ended: dict[RunningKey, asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, key: RunningKey, seconds_max: float) -> AsyncIterator[None]:
        """Runs the block once no other request of this key does.

        Raises IdempotencyInProgressError when the other one takes longer than `seconds_max`.
        """
        try:
            async with asyncio.timeout(seconds_max):
                while (running := self._ended.get(key)) is not None:
                    await running.wait()
        except TimeoutError:
            raise IdempotencyInProgressError(
                "The first request with this Idempotency-Key is still running."
            ) from None
        ended = self._ended[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._ended[key]
            ended.set()
