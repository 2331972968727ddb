"""Requests of one `Idempotency-Key`: one at a time, and nobody waits for ever."""

import asyncio
from uuid import UUID

import pytest

from api.running import RunningClaims, RunningKey
from kbstore.errors import IdempotencyInProgressError

KEY: RunningKey = (UUID(int=1), "user:ann", "k1")
OTHER: RunningKey = (UUID(int=1), "user:ann", "k2")


def test_one_after_the_other() -> None:
    async def scenario() -> list[str]:
        claims, log = RunningClaims(), list[str]()

        async def run(name: str) -> None:
            async with claims.turn(KEY, 1):
                log.append(f"{name} in")
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                log.append(f"{name} out")

        await asyncio.gather(run("a"), run("b"), run("c"))
        return log

    log = asyncio.run(scenario())
    assert log == [
        f"{name} {way}" for name in (log[0][0], log[2][0], log[4][0]) for way in ("in", "out")
    ]
    assert {line[0] for line in log} == {"a", "b", "c"}


def test_another_key_does_not_wait() -> None:
    async def scenario() -> None:
        claims = RunningClaims()
        async with claims.turn(KEY, 0.01), claims.turn(OTHER, 0.01):
            pass

    asyncio.run(scenario())


def test_waiting_ends() -> None:
    async def scenario() -> None:
        claims = RunningClaims()
        async with claims.turn(KEY, 0.01):
            with pytest.raises(IdempotencyInProgressError):
                async with claims.turn(KEY, 0.01):
                    raise AssertionError("two at a time")
        async with claims.turn(KEY, 0.01):
            pass

    asyncio.run(scenario())


def test_a_failure_lets_the_next_one_in() -> None:
    async def scenario() -> None:
        claims = RunningClaims()
        with pytest.raises(ValueError, match="refused"):
            async with claims.turn(KEY, 0.01):
                raise ValueError("refused")
        async with claims.turn(KEY, 0.01):
            pass

    asyncio.run(scenario())
