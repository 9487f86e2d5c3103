"""What is under way is waited for, and no longer than that."""

from __future__ import annotations

import asyncio

from elbowroom_proxy import shared
from tests.proxy import Run, config


async def test_work_that_ends_is_waited_for(running_proxy: Run):
    flow = running_proxy(config("http://127.0.0.1:9/v1")).service.flow
    done = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append(True)

    flow.work(asyncio.create_task(work()))
    await flow.drained()
    assert done
    assert not flow.working


async def test_work_that_does_not_end_is_not(running_proxy: Run, monkeypatch):
    monkeypatch.setattr(shared, "LAST_WORDS", 0.01)
    flow = running_proxy(config("http://127.0.0.1:9/v1")).service.flow
    task = asyncio.create_task(asyncio.Event().wait())
    flow.work(task)
    await flow.drained()
    assert flow.working == {task}
    task.cancel()
