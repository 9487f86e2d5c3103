"""What is under way is waited for, and no longer than that."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from elbowroom.errors import KeysUnavailable
from elbowroom.records import Principal
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


async def test_idle_waits_however_long_it_takes(running_proxy: Run):
    flow = running_proxy(config("http://127.0.0.1:9/v1")).service.flow
    await flow.idle()
    first, second = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await first.wait()
        flow.work(asyncio.create_task(second.wait()))

    flow.work(asyncio.create_task(work()))
    idle = asyncio.create_task(flow.idle())
    for event in (first, second):
        await asyncio.sleep(0)
        assert not idle.done()
        event.set()
    await idle
    assert not flow.working


def test_a_principal_has_its_own_policy_or_the_default_one(running_proxy: Run, tmp_path: Path):
    (tmp_path / "brief.yaml").write_text("id: brief\n")
    general: dict[str, Any] = {"policies": {"brief": str(tmp_path / "brief.yaml")}}
    flow = running_proxy(config("http://127.0.0.1:9/v1", **general)).service.flow
    assert flow.policy_of(Principal()) is flow.policy
    assert flow.policy_of(Principal(policy="brief")).id == "brief"
    with pytest.raises(KeysUnavailable):  # its keys are those of the next configuration
        flow.policy_of(Principal(policy="new"))


def test_by_itself_nothing_is_killed_and_nothing_worked_out_beside_a_request():
    assert not shared.nothing_killed()
    assert shared.nobody_watches(None, None) == "skipped"  # type: ignore[arg-type]  # looks at neither
