"""What holding and settling costs: `python -m bench.ledger`. Needs redis-server on PATH.

64 callers at once hold and settle, over and over, for one key of one team of one organisation. `together`: calls of one
turn of the loop share a round trip, as in the service. `one by one`: the same calls, each in a round trip of its own.
`in memory`: the same callers with the ledger of a single process. `budgets`: an organisation with tokens a minute and
money, a team with money, a key with requests a minute and at once. `every limit`: each level has all five.

`ours` is processor time of this process a pair of hold and settlement, `redis` that of the server, in microseconds;
`ratio` is ours, to that of `together`; the last column is how many pairs a second one server could do, had it nothing
else to do. Medians of several rounds in turn, so that whatever else a machine does meets all of them.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import statistics
from typing import NamedTuple

import redis
import structlog
import uvloop

from elbowroom.budget.hold import Amounts, Granted, Hold
from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom_proxy.ports import Ledger
from elbowroom_proxy.stores.ledger_memory import MemoryLedger
from elbowroom_proxy.stores.ledger_redis import RedisLedger
from tests.servers import RedisServer

CALLERS = 64
PAIRS = 20  # a caller and round
ROUNDS = 5
PLENTY = 10**14
EVERY = Limits(rpm=PLENTY, tpm=PLENTY, parallel=PLENTY, tokens=PLENTY, micro_usd=PLENTY)


def account(org: Limits, team: Limits, key: Limits) -> Account:
    levels = (Entity("org", "acme", org), Entity("team", "acme/support", team), Entity("key", "acme/support/bot", key))
    return Account("acme", "Europe/Berlin", levels)


ACCOUNTS = {
    "budgets": account(
        Limits(tpm=PLENTY, micro_usd=PLENTY), Limits(micro_usd=PLENTY), Limits(rpm=PLENTY, parallel=PLENTY)
    ),
    "every limit": account(EVERY, EVERY, EVERY),
}


class Cost(NamedTuple):
    """Microseconds a pair."""

    ours: float
    redis: float


async def caller(ledger: Ledger, account: Account, name: str) -> None:
    for number in range(PAIRS):
        ident = f"{name}-{number}"
        held = await ledger.hold(Hold(ident, account, Amounts(4_000, 900, 3_500)), seconds=60)
        assert isinstance(held, Granted)
        await ledger.settle(ident, account, Amounts(3_200, 700, 3_000))


async def one_round(ledger: Ledger, account: Account, client: redis.Redis, name: str) -> Cost:
    gc.collect()
    theirs, ours = server_time(client), own_time()
    await asyncio.gather(*(caller(ledger, account, f"{name}-{number}") for number in range(CALLERS)))
    ours, theirs = own_time() - ours, server_time(client) - theirs
    return Cost(ours / CALLERS / PAIRS * 1e6, theirs / CALLERS / PAIRS * 1e6)


def own_time() -> float:
    """Seconds of processor time of this process, its other threads included."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def server_time(client: redis.Redis) -> float:
    """Seconds of processor time of the server."""
    used = client.info("cpu")
    return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


async def measured(server: RedisServer, account: Account) -> dict[str, Cost]:
    together = RedisLedger(server.url, timeout=30.0)
    alone = RedisLedger(server.url, timeout=30.0, at_once=CALLERS, most=1)
    kinds: dict[str, Ledger] = {"together": together, "one by one": alone, "in memory": MemoryLedger()}
    found: dict[str, list[Cost]] = {name: [] for name in kinds}
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        for number in range(ROUNDS + 1):
            for name, ledger in kinds.items():
                cost = await one_round(ledger, account, client, f"{name}-{number}")
                if number:  # the first opens the connections
                    found[name].append(cost)
    await together.close()
    await alone.close()
    return {name: Cost(*map(statistics.median, zip(*costs, strict=True))) for name, costs in found.items()}


def remembered(server: RedisServer) -> float:
    """Bytes that one settled hold takes until it is forgotten; what was measured last is still there."""
    with redis.Redis.from_url(server.url) as client:
        settled = 2 * (ROUNDS + 1) * CALLERS * PAIRS
        full = client.info("memory")["used_memory"]
        client.flushall()
        return float(full - client.info("memory")["used_memory"]) / settled


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with RedisServer() as server:
        for title, account in ACCOUNTS.items():
            found = uvloop.run(measured(server, account))
            print(f"{title:<14}{'ours':>8}{'redis':>8}{'ratio':>8}{'pairs/s a Redis':>18}")
            for name, cost in found.items():
                line = f"  {name:<12}{cost.ours:>8.0f}"
                if name != "in memory":
                    line += f"{cost.redis:>8.0f}{cost.ours / found['together'].ours:>8.1f}{1e6 / cost.redis:>18,.0f}"
                print(line)
        print(f"A settled hold takes {remembered(server):.0f} bytes until it is forgotten, an hour after its end.")


if __name__ == "__main__":
    main()
