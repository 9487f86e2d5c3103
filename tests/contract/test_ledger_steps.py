"""Holds, renewals, settlements, releases, sweeps and moments in any order: a ledger keeps what a list would keep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest
import redis
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from msgspec import Struct

from elbowroom.budget.hold import Amounts, Granted, Hold
from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom.budget.period import span
from elbowroom.budget.sums import LEAST, LONGEST
from elbowroom_proxy.ports import Ledger
from tests.ledgers import OPEN, Clock

ZONE = "Asia/Kathmandu"
ORG = Entity("org", "acme", Limits(rpm=12, tokens=900, micro_usd=300, period="1d"))
TEAM = Entity("team", "acme/a", Limits(tpm=500, parallel=4, tokens=400, period="1h"))
KEY = Entity("key", "acme/a/k", Limits(rpm=5, tpm=300, micro_usd=90, period="1h"))
OTHER = Entity("team", "acme/b", Limits(parallel=2))
ACCOUNTS = (
    Account("acme", ZONE, (ORG, TEAM, KEY)),
    Account("acme", ZONE, (ORG, TEAM)),
    Account("acme", ZONE, (ORG, OTHER)),
)

# To explain a failure takes minutes more than to find a small one.
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)

amounts = st.builds(Amounts, st.integers(0, 200), st.integers(0, 60), st.integers(0, 150))


class Entry(Struct):
    """One hold, or what came without one."""

    account: Account
    held: Amounts
    made: float
    end: float
    state: str = "open"
    charged: Amounts = Amounts()
    ended: float = 0.0
    let_through: bool = True  # it was a request of its minute
    rate: int = 0


class Steps(RuleBasedStateMachine):
    """The list, and a ledger beside it."""

    ledger: Ledger
    clock: Clock
    opened: Callable[[], tuple[Ledger, Clock]]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.entries: dict[str, Entry] = {}
        self.fresh = True  # nothing has happened since the last answer

    @initialize()
    def open(self):
        self.ledger, self.clock = self.opened()
        self.runner.run(self.ledger.start())

    # --- the list -----------------------------------------------------------------------------------------------------

    def kept(self, entity: Entity) -> tuple[Amounts, Amounts, Amounts, int, int, int]:
        """Spent, held, unconfirmed, open, requests and tokens of the last minute."""
        now = self.clock()
        period = span(entity.limits.period, ZoneInfo(ZONE), now).start
        own = [one for one in self.entries.values() if entity in one.account.entities]
        own_now = [one for one in own if span(entity.limits.period, ZoneInfo(ZONE), one.made).start == period]
        minute = [one for one in own if one.let_through and int(one.made) >= int(now) - 60]

        def total(found: list[Amounts]) -> Amounts:
            return Amounts(sum(one.tokens for one in found), sum(one.micro_usd for one in found))

        limited = entity.limits.rpm is not None or entity.limits.tpm is not None
        return (
            total([one.charged for one in own_now]),
            total([one.held for one in own_now if one.state == "open"]),
            total([one.charged for one in own_now if one.state == "swept"]),
            sum(one.state == "open" for one in own),
            len(minute) if limited else -1,
            sum(one.rate for one in minute) if limited else -1,
        )

    def has_room(self, account: Account, asked: Amounts) -> bool:
        for entity in account.entities:
            spent, held, _, live, requests, rate = self.kept(entity)
            limits = entity.limits
            pairs = (
                (limits.rpm, requests + 1),
                (limits.tpm, rate + asked.rate_tokens),
                (limits.parallel, live + 1),
                (limits.tokens, spent.tokens + held.tokens + asked.tokens),
                (limits.micro_usd, spent.micro_usd + held.micro_usd + asked.micro_usd),
            )
            if any(most is not None and sum_ > most for most, sum_ in pairs):
                return False
        return True

    # --- what happens -------------------------------------------------------------------------------------------------

    @rule(account=st.sampled_from(ACCOUNTS), asked=amounts, seconds=st.sampled_from([0, 1, 30, 3_000]))
    def hold(self, account, asked, seconds):
        ident = f"h{len(self.entries)}"
        room = self.has_room(account, asked)
        glance = self.ledger.glance(account) if self.fresh else ()
        if glance:
            assert not self.has_room(account, LEAST)
        answer = self.runner.run(self.ledger.hold(Hold(ident, account, asked), seconds=seconds))
        assert isinstance(answer, Granted) is room
        if room:
            now = self.clock()
            self.entries[ident] = Entry(account, asked, now, now + seconds, rate=asked.rate_tokens)
        self.fresh = True

    @rule(data=st.data())
    def hold_again(self, data):
        if ident := self.some(data, "open"):
            entry = self.entries[ident]
            answer = self.runner.run(self.ledger.hold(Hold(ident, entry.account, entry.held), seconds=1))
            assert isinstance(answer, Granted)

    @rule(data=st.data(), seconds=st.sampled_from([0, 60, 2 * LONGEST]))
    def renew(self, data, seconds):
        if ident := self.some(data):
            entry = self.entries[ident]
            renewed = self.runner.run(self.ledger.renew(ident, entry.account, seconds=seconds))
            assert renewed is (entry.state == "open")
            if renewed:
                entry.end = min(self.clock() + seconds, entry.made + LONGEST)

    @rule(data=st.data(), share=st.floats(0, 1.3))
    def settle(self, data, share):
        if ident := self.some(data):
            entry = self.entries[ident]
            came_to = Amounts(
                int(entry.held.tokens * share), int(entry.held.micro_usd * share), int(entry.held.rate_tokens * share)
            )
            settled = self.runner.run(self.ledger.settle(ident, entry.account, came_to))
            said = {"open": "settled", "swept": "late", "released": "unknown", "settled": "again"}[entry.state]
            assert settled.state == said
            if said == "again":
                return
            if entry.state == "open" and int(entry.made) >= int(self.clock()) - 60:
                entry.rate = came_to.rate_tokens
            charged = Amounts(came_to.tokens, came_to.micro_usd)
            if entry.state == "released":  # nobody knows any more where it was held, so it is charged now
                now = self.clock()
                late = self.entries[f"l{len(self.entries)}"] = Entry(entry.account, Amounts(), now, now)
                late.let_through = False
                self.over(late, "forgotten", charged)
                charged = Amounts()
            self.over(entry, "settled", charged)

    @rule(account=st.sampled_from(ACCOUNTS), came_to=amounts)
    def settle_what_nobody_held(self, account, came_to):
        ident, now = f"u{len(self.entries)}", self.clock()
        assert self.runner.run(self.ledger.settle(ident, account, came_to)).state == "unknown"
        self.entries[ident] = Entry(account, Amounts(), now, now, let_through=False)
        self.over(self.entries[ident], "settled", Amounts(came_to.tokens, came_to.micro_usd))

    @rule(data=st.data())
    def release(self, data):
        if ident := self.some(data):
            entry = self.entries[ident]
            self.runner.run(self.ledger.release(ident, entry.account))
            if entry.state == "open" and int(entry.made) >= int(self.clock()) - 60:
                entry.rate = 0
            if entry.state in {"open", "swept"}:
                self.over(entry, "released", Amounts())

    @rule()
    def sweep(self):
        due = {ident for ident, one in self.entries.items() if one.state == "open" and one.end <= self.clock()}
        swept = self.runner.run(self.ledger.sweep("acme"))
        assert {one.id for one in swept} == due
        for one in swept:
            entry = self.entries[one.id]
            assert one.amounts == entry.held
            self.over(entry, "swept", Amounts(entry.held.tokens, entry.held.micro_usd))

    @rule(seconds=st.sampled_from([0.3, 1.0, 29.7, 60.0, 61.0, 2_400.0]))
    def wait(self, seconds):
        self.clock.move(seconds)
        self.fresh = False

    def some(self, data: st.DataObject, *states: str) -> str | None:
        """One of them, be it long over; not so long that it may be forgotten."""
        found = [
            ident
            for ident, one in self.entries.items()
            if (one.state in states if states else one.state != "forgotten")
            and (one.state == "open" or self.clock() - one.ended < 3_000)
        ]
        return data.draw(st.sampled_from(found)) if found else None

    def over(self, entry: Entry, state: str, charged: Amounts) -> None:
        entry.state, entry.charged, entry.ended = state, charged, self.clock()

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def the_ledger_keeps_what_the_list_says(self):
        for account in (ACCOUNTS[0], ACCOUNTS[2]) if self.entries else ():
            for one in self.runner.run(self.ledger.sums(account)):
                spent, held, unconfirmed, live, requests, rate = self.kept(one.entity)
                assert (one.spent, one.held, one.unconfirmed, one.open) == (spent, held, unconfirmed, live)
                assert requests in {-1, one.requests}
                assert rate in {-1, one.rate_tokens}
        assert not self.entries or self.ledger.faults() == ()

    def teardown(self):
        try:
            if self.entries:
                self.clock.move(LONGEST)
                self.sweep()
                for account in ACCOUNTS:
                    for one in self.runner.run(self.ledger.sums(account)):
                        assert (one.held, one.open) == (Amounts(), 0)
        finally:
            self.runner.run(self.ledger.close())
            self.runner.close()


@pytest.mark.parametrize("name", sorted(OPEN))
def test_every_ledger_keeps_what_a_list_would(name: str, redis_url: str):
    class Of(Steps):
        def opened(self) -> tuple[Ledger, Clock]:
            with redis.Redis.from_url(redis_url) as client:
                client.flushall()
            return OPEN[name](redis_url)

    run_state_machine_as_test(Of, settings=settings(max_examples=25, stateful_step_count=40, phases=PHASES))
