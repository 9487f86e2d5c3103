"""Sums and holds in a Redis (7 or later): the `Ledger` that instances share.

Knows: which script does what, what the server's clock says, and that a hold whose answer nobody got is to be released.
Does not know: what is held and why; how commands travel (`coalesced`), what keys are called (`levels`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from msgspec import convert, structs

from elbowroom.budget.hold import Amounts, Denied, Granted, Held, Hold, Settled, Standing, Swept
from elbowroom.budget.limits import Account
from elbowroom.budget.period import Calendar
from elbowroom.budget.sums import (
    KEPT,
    LEAST,
    LONGEST,
    SETTLED,
    TOMBSTONE,
    Sums,
    all_standing,
    checked,
    nothing_left,
    overrun,
    refusing,
)
from elbowroom.errors import InvalidConfig, LedgerUnavailable
from elbowroom_proxy.ledgerconfig import Ledger as Row
from elbowroom_proxy.stores import reading
from elbowroom_proxy.stores.coalesced import Coalesced, Declined, Unanswered
from elbowroom_proxy.stores.levels import VALUES, Levels, Lines, levels, prefix
from elbowroom_proxy.stores.owed import Owed
from elbowroom_proxy.stores.scripts import Script, Word, script
from elbowroom_proxy.stores.server import Server

log = structlog.get_logger("elbowroom")

MICRO = 1_000_000  # microseconds in a second
REMEMBERED = 100_000  # holds whose lines this process knows without asking
ACCOUNTS = 20_000  # whose keys are not put together anew
GLANCE = 1.0  # seconds
TRIES = 3  # where the answer is that the question was out of date
SWEPT_AT_ONCE = 100
AGREED = 10.0  # seconds for which it is taken that clocks go equally fast
ALL = 0.99  # of the time that a call has: the commands' own limit is near enough
SLACK = 1.0  # seconds; whether a hold is due, the server's clock says


class RedisLedger:
    """The ledger in the Redis at `url`. A hold, a renewal and a settlement return within `timeout` seconds.

    `at_once` round trips are under way at most, each with `most` commands at most.
    """

    def __init__(
        self,
        url: str,
        *,
        cluster: bool = False,
        timeout: float = 0.25,
        pause: float = 0.5,
        at_once: int = 4,
        most: int = 256,
        clock: Callable[[], float] = time.time,
        scripts: Callable[[str], Script] = script,
    ) -> None:
        self._server = Server(url, cluster=cluster, timeout=timeout, connections=at_once)
        self._commands = Coalesced(self._server.send, timeout=timeout, pause=pause, at_once=at_once, most=most)
        self._timeout = timeout
        self._clock = clock
        self._ahead = 0.0  # seconds that the server's clock is ahead of this one's, at least
        self._agreed = -AGREED  # when that was found out, by our clock
        self._calendar = Calendar(ZoneInfo)
        self._hold, self._over, self._renew = scripts("hold"), scripts("over"), scripts("renew")
        self._probe = scripts("probe")
        self._levels: dict[int, Levels] = {}  # by the identity of an account: there is one of each in a configuration
        self._lines: dict[str, Lines] = {}  # by hold
        self._seen: dict[tuple[str, str, str], tuple[float, Sums]] = {}  # when each level was last told of
        self._epochs: dict[str, int] = {}
        self._alarms: dict[str, str] = {}  # by organisation
        self._looking: asyncio.Future[None] | None = None
        self._owed = Owed(self.release, pause=pause)

    async def start(self) -> None:
        """Raises `InvalidConfig` for a server that would evict sums; one that cannot be reached may come later."""
        await self._server.look()
        if self._server.unfit is not None:
            raise InvalidConfig(f"general_settings.ledger: {self._server.unfit}")
        if self._server.unsaid is not None:
            log.warning("ledger", note=self._server.unsaid)

    async def hold(self, hold: Hold, *, seconds: float) -> Held:
        """Takes from every level or from none. Raises `ValueError` for the id of a hold that is over."""
        asked, account, place = checked(hold.amounts), hold.account, prefix(hold.account.org)
        if self._server.unfit is not None:
            raise Declined(f"The ledger cannot be used: {self._server.unfit}.")
        until = self._clock() + self._timeout
        amounts = (asked.tokens, asked.micro_usd, asked.rate_tokens)
        for _ in range(TRIES):
            known = self._known(account)
            keys = (f"{place}h:{hold.id}", f"{place}open", f"{place}epoch", *known.keys)
            times = (round((until + self._ahead) * MICRO), round(min(seconds, LONGEST) * MICRO))
            words = self._hold.known(keys, (hold.id, *times, *amounts, KEPT, known.limits, hold.requests))
            try:
                word, at, *values = await self._ask(words, self._hold, until)
            except (Unanswered, asyncio.CancelledError):
                self._owed.add(hold.id, account, seconds)
                raise
            if word == b"over":
                raise ValueError(f"the hold {hold.id} is over")
            if word in {b"yes", b"again", b"no"}:
                return self._told(hold, word, known, at, values)
            self._levels.pop(id(account), None)
            if self._clock() >= until:
                break
        raise Declined("The ledger's clock and this one's cannot be brought together.")

    async def renew(self, ident: str, account: Account, *, seconds: float) -> bool:
        """Moves the hold's end; False where there is no such open hold."""
        place = prefix(account.org)
        args = (ident, round(seconds * MICRO), LONGEST * MICRO)
        words = self._renew.known((f"{place}h:{ident}", f"{place}open"), args)
        return bool((await self._ask(words, self._renew))[0] == b"yes")

    async def settle(self, ident: str, account: Account, came_to: Amounts, *, begun: float | None = None) -> Settled:
        """Puts what it came to in place of what was held."""
        word, held = await self._ended("settle", ident, account.org, account, checked(came_to), begun)
        more = overrun(held, came_to) if word in {"settled", "late"} else Amounts()
        return convert({"state": word, "overrun": more}, Settled)

    async def release(self, ident: str, account: Account) -> None:
        """Nothing was spent."""
        await self._ended("release", ident, account.org, account, Amounts())

    async def sweep(self, org: str) -> Sequence[Swept]:
        """Charges in full, as unconfirmed, every hold of the organisation that is past its end."""
        now = round((self._now() + SLACK) * MICRO)
        swept: list[Swept] = []
        more = True
        while more:
            due = await self._commands.ask(
                ("ZRANGEBYSCORE", f"{prefix(org)}open", "-inf", now, "LIMIT", 0, SWEPT_AT_ONCE)
            )
            idents = [ident.decode() for ident in due]
            ends = [self._ended("sweep", ident, org, None, Amounts()) for ident in idents]
            found = await asyncio.gather(*ends, return_exceptions=True)
            told = [one for one in found if not isinstance(one, BaseException)]
            swept += [
                Swept(ident, one[1])
                for ident, one in zip(idents, found, strict=True)
                if not isinstance(one, BaseException) and one[0] == "swept"
            ]
            # What is not due yet by the server's own clock is not asked for again now.
            more = len(due) == SWEPT_AT_ONCE and any(word == "swept" for word, _ in told)
        return swept

    async def overdue(self, org: str) -> int:
        """How many open holds of the organisation are past their end."""
        found = await self._commands.ask(("ZCOUNT", f"{prefix(org)}open", "-inf", round(self._now() * MICRO)))
        return int(found)

    async def standing(self, account: Account) -> tuple[Standing, ...]:
        """Every limit of the account and where it stands now."""
        return all_standing(await self.sums(account))

    async def sums(self, account: Account) -> tuple[Sums, ...]:
        """What is kept of each level of the account."""
        known, at = self._known(account), self._now()
        answers = await asyncio.gather(*(self._commands.ask(words) for words in reading.questions(known, at)))
        return reading.sums(known, at, answers)

    async def rebuild(self, account: Account, spent: Sequence[Amounts], was: Sequence[Sums] | None = None) -> None:
        """Puts `spent`, one a level, in place of what its present period has spent; the alarm is over. `was`: in place
        of that.
        """
        now = self._now() if was is None else was[0].at
        lines = levels(account, self._calendar, now).present(now)
        commands: list[tuple[Word, ...]] = []
        for at, (key, ends, one) in enumerate(zip(lines.keys[1::2], lines.ends, map(checked, spent), strict=True)):
            if was is None:
                commands.append(("HSET", key, "t", one.tokens, "m", one.micro_usd, "ut", 0, "um", 0))
            elif one != was[at].spent:
                commands.append(("HINCRBY", key, "t", one.tokens - was[at].spent.tokens))
                commands.append(("HINCRBY", key, "m", one.micro_usd - was[at].spent.micro_usd))
                commands.append(("HSET", key, "ut", 0, "um", 0))
            else:
                continue
            commands.append(("EXPIREAT", key, ends + KEPT))
        commands.append(("SET", f"{prefix(account.org)}epoch", -round(self._now() * MICRO)))
        await asyncio.gather(*map(self._commands.ask, commands))
        self._forget(account)

    def glance(self, account: Account) -> tuple[Standing, ...]:
        """The limits that would refuse any request at all, by the last answer, if that is a second old at most."""
        oldest, now = time.monotonic() - GLANCE, self._now()
        found: list[Standing] = []
        for entity in account.limiting.entities:
            seen = self._seen.get((account.org, entity.kind, entity.name))
            if seen is not None and seen[0] >= oldest:
                sums = seen[1] if seen[1].entity is entity else structs.replace(seen[1], entity=entity)
                if nothing_left(sums):  # every request asks, and hardly one is refused
                    limits = refusing(all_standing((sums,), LEAST, 1))
                    # What was over since then may pass; what is more than the limit itself never does.
                    found += [
                        one
                        for one in limits
                        if one.limit == "max_parallel_requests" or one.reset > now or one.asked > one.most
                    ]
        return tuple(found)

    def faults(self) -> tuple[str, ...]:
        """What is wrong with it, in words."""
        found = [self._server.unfit, self._server.unsaid, self._commands.fault, *self._alarms.values()]
        return tuple(one for one in found if one is not None)

    async def healthy(self) -> bool:
        """Whether it would hold now; asks even while it is left alone."""
        self._commands.try_again()
        try:
            await self._ask(self._probe.known((f"{prefix('')}epoch",), ()), self._probe)
        except LedgerUnavailable:
            return False
        return self._server.unfit is None

    async def close(self) -> None:
        """What is owed is tried once more; what is under way ends by its own timeout."""
        if self._looking is not None:
            await self._looking
        await self._owed.close()
        await self._commands.close()
        await self._server.close()

    # --- what is said and heard ---------------------------------------------------------------------------------------

    def _now(self) -> float:
        """Seconds since 1970 by the server's clock, as near as that is known."""
        return self._clock() + self._ahead

    def _known(self, account: Account) -> Levels:
        known, now = self._levels.get(id(account)), self._now()
        if known is None or known.account is not account or not known.since <= now < known.until:
            if len(self._levels) >= ACCOUNTS:
                self._levels.clear()
            known = self._levels[id(account)] = levels(account, self._calendar, now)
        return known

    async def _ask(self, words: tuple[Word, ...], script: Script, until: float | None = None) -> Any:
        """A script's answer, which tells the time, too. `until`: when whoever asks has no more time, by our clock."""
        asked = self._clock()
        left = self._timeout if until is None else until - asked
        if left >= self._timeout * ALL:
            answer = await self._commands.ask(words, script)
        else:  # a second try
            try:
                async with asyncio.timeout(max(0.0, left)):
                    answer = await self._commands.ask(words, script)
            except TimeoutError:
                raise Unanswered("The ledger did not answer in time.") from None
        self._agree(answer[1] / MICRO, force=answer[0] in {b"late", b"clock"})
        if not self._server.looked and self._looking is None:
            self._looking = asyncio.ensure_future(self._server.look())
        return answer

    def _agree(self, theirs: float, *, force: bool) -> None:
        """An answer was on its way for some time, so the server's clock is further ahead than it seems. What seems the
        most is nearest, and never too much: a hold is not made after its caller has given up.
        """
        now = self._clock()
        if force or theirs - now > self._ahead or not 0 <= now - self._agreed < AGREED:
            self._ahead, self._agreed = theirs - now, now

    def _told(self, hold: Hold, word: bytes, known: Levels, at: int, values: Sequence[int]) -> Held:
        epoch, *values = values
        self._epoch(hold.account.org, epoch, at)
        levels = known.sums(at / MICRO, values)
        seen = time.monotonic()
        for sums in levels:
            self._seen[hold.account.org, sums.entity.kind, sums.entity.name] = (seen, sums)
        found = all_standing(levels, hold.amounts, hold.requests)
        if word == b"no":
            return Denied(refusing(found), found)
        if word == b"yes":
            if len(self._lines) >= REMEMBERED:
                del self._lines[next(iter(self._lines))]
            self._lines[hold.id] = known.lines(values[::VALUES])
        return Granted(found)

    def _epoch(self, org: str, epoch: int, at: int) -> None:
        """Its sums began then; below 0: somebody restated them then."""
        before = self._epochs.get(org)
        self._epochs[org] = epoch
        if before is None and epoch == at:
            log.warning("ledger_begins", org=org, note="no sums were kept of it: they begin at 0")
        elif before is not None and epoch != before:
            if epoch < 0:
                self._alarms.pop(org, None)
            else:
                self._alarms[org] = f"the sums of {org} were lost; `elbowroom budgets rebuild` restores them"
                log.error("ledger_emptied", org=org)

    async def _ended(
        self, how: str, ident: str, org: str, account: Account | None, came_to: Amounts, begun: float | None = None
    ) -> tuple[str, Amounts]:
        """What the script says of it, and what had been held."""
        place = prefix(org)
        record = f"{place}h:{ident}"
        until = self._clock() + self._timeout
        for _ in range(TRIES):
            lines = self._lines.get(ident) or await self._read(record, account)
            made = 0 if begun is None else round(begun * MICRO)
            amounts = (came_to.tokens, came_to.micro_usd, came_to.rate_tokens)
            args: tuple[Word, ...] = (
                how,
                ident,
                *amounts,
                made,
                SETTLED,
                TOMBSTONE,
                KEPT,
                "\n".join(lines.keys),
                *lines.ends,
            )
            words = self._over.known((record, f"{place}open", *lines.keys), args)
            word, _at, *held, short = await self._ask(words, self._over, until)
            self._lines.pop(ident, None)
            if word == b"lines":  # a hold that was made meanwhile, or one that is not the one we knew
                continue
            if account is not None:
                self._forget(account)
            if short:
                self._alarms[org] = f"of {org} less was held than its holds came to; `elbowroom budgets rebuild`"
                log.error("ledger_short", org=org, id=ident)
            return word.decode(), Amounts(*held)
        raise Declined("The hold changes faster than it can be read.")

    async def _read(self, record: str, account: Account | None) -> Lines:
        """Those of the hold; without one, those that the account's next hold would have."""
        kept = await self._commands.ask(("HGET", record, "k"))
        if kept is not None:
            keys = tuple(kept.decode().split("\n"))
            # Sums that are not there any more are not to be there again.
            return Lines(keys, (0,) * (len(keys) // 2))
        return Lines((), ()) if account is None else self._known(account).present(self._now())

    def _forget(self, account: Account) -> None:
        """What was seen of it has changed."""
        for entity in account.entities:
            self._seen.pop((account.org, entity.kind, entity.name), None)


def build(row: Row, clock: Callable[[], float] = time.time) -> RedisLedger:
    """What configuration calls `redis`."""
    return RedisLedger(row.url or "", cluster=row.cluster, timeout=row.timeout, clock=clock)
