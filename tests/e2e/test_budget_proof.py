"""Never over: many at once against little room, over several processes, one real Redis and an upstream that emits all
it may; and a storm of requests that end in every way there is, while workers are killed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.emitting import AROUND, INTO, MAXIMUM, OUT, Emitting, request
from tests.fleet import Fleet, Line, key_of, only
from tests.servers import RedisServer
from tests.storm import Storm

MANY, ROOM = 50, 3
TOKENS = AROUND + 1 + MAXIMUM  # of the smallest request without a cap
MONEY = (AROUND + 1) * INTO + MAXIMUM * OUT  # micro-USD of it
LIMITS: dict[str, dict[str, Any]] = {
    "max_tokens": {"max_tokens": (ROOM + 1) * TOKENS - 1},
    "max_budget": {"max_budget": ((ROOM + 1) * MONEY - 1) / 1e6},
    "max_parallel_requests": {"max_parallel_requests": ROOM},
    "tpm_limit": {"tpm_limit": (ROOM + 1) * TOKENS - 1},
    "rpm_limit": {"rpm_limit": ROOM},
}
LEVELS = {"max_tokens": "org", "max_budget": "team", "max_parallel_requests": "key", "tpm_limit": "team",
          "rpm_limit": "org"}  # fmt: skip


def house(limit: str, way: str) -> dict[str, Any]:
    """An organisation that has that limit, on one of its levels."""
    said, level = LIMITS[limit], LEVELS[limit]
    key = said if level == "key" else {}
    team = {"name": "t", "keys": {"k": key}, **(said if level == "team" else {})}
    return {"name": f"{limit}-{way}", "teams": [team], **(said if level == "org" else {})}


@pytest.fixture(scope="module")
def emitting() -> Iterator[Emitting]:
    with Emitting() as upstream:
        yield upstream


@pytest.fixture(scope="module", params=[2, 4], ids=["2 workers", "4 workers"])
def fleet(
    request: pytest.FixtureRequest,
    emitting: Emitting,
    redis_server: RedisServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Fleet]:
    orgs = [house(limit, way) for limit in LIMITS for way in ("whole", "stream")]
    folder = tmp_path_factory.mktemp("fleet")
    ledger = f"redis://127.0.0.1:{redis_server.port}/{request.param}"  # a database of its own
    with Fleet(folder, emitting.url, ledger, orgs, workers=request.param) as fleet:
        fleet.all_up()
        yield fleet


@pytest.mark.parametrize("way", ["whole", "stream"])
@pytest.mark.parametrize("limit", LIMITS)
async def test_of_fifty_at_once_exactly_three_pass(fleet: Fleet, emitting: Emitting, limit: str, way: str):
    org = f"{limit}-{way}"
    emitting.held = emitting.gate()
    emitting.served.clear()
    pids = fleet.pids()
    body = request(f"held/0/{org}", stream=way == "stream")
    async with AsyncExitStack() as stack:
        lines: list[Line] = []
        for at, pid in enumerate(pids):
            with only(pid, pids):
                for _ in range(MANY * at // len(pids), MANY * (at + 1) // len(pids)):
                    lines.append(await stack.enter_async_context(Line(fleet.address)))
                    await lines[-1].known()
        for line in lines:
            line.send(key_of(org, "t", "k"), body)
        answers = [asyncio.create_task(line.heard()) for line in lines]
        refused = []
        for answer in asyncio.as_completed(answers):  # the upstream answers when all the others are refused
            refused.append(await answer)
            if len(refused) == MANY - ROOM:
                break
        assert Counter(one.status for one in refused) == {429: MANY - ROOM}
        spent = "insufficient_quota" if limit in {"max_tokens", "max_budget"} else "rate_limit_exceeded"
        assert {one.code for one in refused} == {spent}
        emitting.held.open()
        passed = [one for one in await asyncio.gather(*answers) if one.status != 429]
    assert [one.status for one in passed] == [200] * ROOM
    assert emitting.served[org] == ROOM * TOKENS  # each emitted all it could
    levels = {name: sums for name, sums in fleet.sums().items() if name.startswith(f"{org}/")}
    assert len(levels) == 3
    for sums in levels.values():
        counted = 0 if limit in {"max_parallel_requests", "rpm_limit"} else ROOM
        assert sums == {"t": counted * TOKENS, "m": counted * MONEY, "ht": 0, "hm": 0, "o": 0}


# --- the storm --------------------------------------------------------------------------------------------------------

REQUESTS, WORKERS, KILLS = 600, 2, 2  # `make proof` sends 10,000 to four workers


async def test_no_sample_of_a_storm_is_above_a_limit_and_nothing_stays_held(redis_url: str, tmp_path: Path):
    with Emitting() as upstream:
        storm = Storm(upstream, tmp_path, redis_url, requests=REQUESTS, workers=WORKERS, kills=KILLS)
        figures = await storm.blow(seed=7)
        assert figures.over == []
        assert figures.strange == []
        assert storm.wrong_sums() == []
    assert figures.samples > 100
    assert figures.kills == KILLS
    assert set(figures.codes) <= {"insufficient_quota", "rate_limit_exceeded"}
    assert max(figures.highest.values()) > 0.9  # it came near
