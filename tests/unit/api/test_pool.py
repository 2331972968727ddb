"""Work beside the event loop: in threads of their own, and not without bound."""

import asyncio
import threading

import pytest

from api.pool import ThreadPool
from kbstore.errors import OverloadedError


def test_work_runs_in_another_thread_and_its_refusal_comes_back() -> None:
    async def scenario() -> str:
        pool = ThreadPool(1, 1)
        name = await pool.run(lambda: threading.current_thread().name)
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 // 0)
        pool.close()
        return name

    assert asyncio.run(scenario()).startswith("kbstore-reader")


def test_over_its_bound_it_refuses_at_once() -> None:
    async def scenario() -> None:
        pool, free = ThreadPool(1, 1), threading.Event()
        waiting = [asyncio.ensure_future(pool.run(lambda: free.wait(10))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await pool.run(lambda: True)
        free.set()
        assert await asyncio.gather(*waiting) == [True, True]
        assert await pool.run(lambda: "again") == "again"
        pool.close()

    asyncio.run(scenario())


def test_who_stops_waiting_frees_no_thread_before_it_is_free() -> None:
    async def scenario() -> None:
        pool, free = ThreadPool(1, 0), threading.Event()
        left = asyncio.ensure_future(pool.run(lambda: free.wait(10)))
        await asyncio.sleep(0.01)
        left.cancel()
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await pool.run(lambda: True)
        free.set()
        pool.close()

    asyncio.run(scenario())
