"""Readers of `/events/stream` that are cut off at random, and go on where they were."""

import asyncio
import ssl
from collections.abc import Sequence
from random import Random

import httpx

from tests.asking import PREFIX

CUT_OFF_EVENTS_MAX = 100
CUT_OFF_SECONDS_MAX = 4.0

_MORE_SECONDS = 0.3

# Loading the system's certificates for each client would take longer than following.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Follower:
    """One reader. It keeps what it saw of all its streams, in the order in which it saw it."""

    def __init__(self, urls: Sequence[str], slug: str, token: str, seed: int) -> None:
        self.positions: list[int] = []
        self.streams = 0
        self._last_id: str | None = None
        self._addresses = [f"{url}{PREFIX}/{slug}/events/stream" for url in urls]
        self._token = token
        self._random = Random(seed)

    async def follow(self) -> None:
        """Follows until it is cancelled, from one stream to the next, each at any of the
        servers."""
        headers = {"Authorization": f"Bearer {self._token}"}
        async with httpx.AsyncClient(
            headers=headers, timeout=60, verify=_NO_CERTIFICATES, trust_env=False
        ) as client:
            while True:
                self.streams += 1
                try:
                    async with asyncio.timeout(self._random.uniform(0, CUT_OFF_SECONDS_MAX)):
                        await self._follow_one(client, self._random.randint(1, CUT_OFF_EVENTS_MAX))
                except TimeoutError:
                    pass

    async def _follow_one(self, client: httpx.AsyncClient, events_max: int) -> None:
        """One stream, left after so many events: what came with the last one is dropped."""
        given = {} if self._last_id is None else {"Last-Event-ID": self._last_id}
        address = self._random.choice(self._addresses)
        seen = 0
        id_: str | None = None
        is_event = False
        async with client.stream("GET", address, params={"after": "0"}, headers=given) as answer:
            assert answer.status_code == 200, await answer.aread()
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    id_ = value
                elif name == "data":
                    is_event = True
                elif name == "event":
                    assert value != "error", "the stream was ended"
                elif not line and id_ is not None:
                    self._last_id = id_
                    if is_event:
                        self.positions.append(int(id_))
                        seen += 1
                    id_, is_event = None, False
                    if seen == events_max:
                        return
        raise AssertionError("the server ended the stream")


async def settled(followers: Sequence[Follower], goals: Sequence[int], seconds_max: float) -> None:
    """Returns once each has seen the event at its goal, and nothing else came for a moment."""
    async with asyncio.timeout(seconds_max):
        while any(
            goal not in follower.positions for follower, goal in zip(followers, goals, strict=True)
        ):
            await asyncio.sleep(0.05)
    await asyncio.sleep(_MORE_SECONDS)
