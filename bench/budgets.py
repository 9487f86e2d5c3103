"""The worked example of docs/budgets.md: a day of one team, a request that is refused, and what lets it through.

Knows: the example's limits, and what its requests came to.
Does not know: how holds, sums and their words come about; it asks the ledger in memory and the command's own words.

Run as `python -m bench.budgets`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from elbowroom.budget.ahead import ahead
from elbowroom.budget.cost import cost
from elbowroom.budget.hold import Amounts, Hold
from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom.budget.usage import Usage
from elbowroom.budget.view import Level, level
from elbowroom.price import Price
from elbowroom.records import Model
from elbowroom_proxy.cli.outlook import outlook
from elbowroom_proxy.cli.standing import table
from elbowroom_proxy.stores.ledger_memory import MemoryLedger

NOON = 1_772_362_800.0  # 1 March 2026, 12:00 in Berlin
MORNING = 48  # requests that were settled by then
PRICE = Price(input=2_500_000, output=10_000_000)  # 2.50 and 10 USD a million tokens
MODEL = Model("example", "openai", "example", 128_000, 16_384, "openai_chat", "gpt-4o", "o200k_base", price=PRICE)
ACME = Account(
    "acme",
    "Europe/Berlin",
    (
        Entity("org", "acme", Limits(micro_usd=500_000_000)),
        Entity("team", "acme/support", Limits(micro_usd=1_000_000, period="1d")),
        Entity("key", "acme/support/bot", Limits(parallel=4, period="1d")),
    ),
)


async def day(ledger: MemoryLedger) -> tuple[Level, ...]:
    """What stands at noon: the morning's requests are settled, one is under way."""
    for number in range(MORNING):
        await ledger.hold(Hold(f"{number}", ACME, ahead((), MODEL, 6_000, 1_000).asked), seconds=60)
        usage = Usage(prompt=5_900, completion=400)
        await ledger.settle(f"{number}", ACME, Amounts(usage.prompt + usage.completion, cost(PRICE, usage)))
    await ledger.hold(Hold("under way", ACME, ahead((), MODEL, 6_000, 1_000).asked), seconds=60)
    return tuple(level(one) for one in await ledger.sums(ACME))


def told() -> Iterator[str]:
    """The lines that the page shows."""
    levels = asyncio.run(day(MemoryLedger(clock=lambda: NOON)))
    yield from table(levels, ACME.timezone, int(NOON))
    yield ""
    yield from outlook(ahead(levels, MODEL, 6_000, None), ACME.timezone)
    yield from outlook(ahead(levels, MODEL, 6_000, 1_000), ACME.timezone)


if __name__ == "__main__":
    print(*told(), sep="\n")
