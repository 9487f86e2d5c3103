"""A storm: requests that end in every way there is, over several workers that are killed meanwhile.

Knows: what each request does, that somebody reads the ledger all the time, and what all of it came to.
Does not know: what of that is allowed; only that a limit is never passed, which it says at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import redis
from msgspec import Struct, field

from tests.emitting import AROUND, INTO, MAXIMUM, OUT, WORD, Emitting, request
from tests.fleet import PATIENCE, Fleet, Line, key_of, ledger_keys, read_sums
from tests.proxy import wait_until

CALLERS = 48
HOLD, SWEEP, UPSTREAM = 4.0, 0.5, 2.0  # seconds: a hold without news, between two sweeps, for an answer
PAUSE = 0.002  # seconds between two samples
# How many of each there are among those 33. `left` and `gone` are clients that hang up before the first byte, at once
# and when the upstream has the request; at `stuck` they do so in the middle; `malformed` never leaves the proxy.
PAYERS = ("a:1", "a:2", "b:1", "b:2")  # team and key
KINDS = {
    "whole": 6, "stream": 6, "quiet": 2, "both": 1, "refused": 1, "limited": 1, "busy": 1, "failed": 2, "silent": 1,
    "dropped": 1, "garbled": 1, "cut": 2, "stuck": 2, "left": 2, "gone": 2, "malformed": 2,
}  # fmt: skip
STREAMED = {"stream", "cut", "stuck"}
BROKEN = (b"{", b"", b"[]", b'{"model": "m"}', b'{"model": "nobody", "messages": []}', b'{"model": "m", "messages": 7}')


class Asked(NamedTuple):
    """One request: what it is, whose, and what it is held to."""

    kind: str
    user: str
    payer: str
    body: bytes
    came: int  # tokens before its accident
    tokens: int
    micro_usd: int


class Figures(Struct):
    """What came of it. Sums by `<team>/<key>`."""

    statuses: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)  # of what was refused with 429 or 503
    strange: list[str] = field(default_factory=list)  # answers that nothing explains
    samples: int = 0
    highest: dict[str, float] = field(default_factory=dict)  # the largest share of each limit in any sample
    over: list[str] = field(default_factory=list)  # samples that were above a limit
    kills: int = 0
    unseen: Counter[str] = field(default_factory=Counter)  # held for requests that the upstream never saw
    swept: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def orgs(requests: int) -> list[dict[str, Any]]:
    """Limits at every level, some of which so many requests reach early, some late and some all the time."""
    teams = [
        {
            "name": "a", "max_budget": 5_000 * requests / 1e6,
            "keys": {"1": {"max_parallel_requests": 6}, "2": {"max_tokens": 4 * requests}},
        },
        {"name": "b", "max_parallel_requests": 20, "keys": {"1": {"max_tokens": 5 * requests}, "2": {}}},
    ]  # fmt: skip
    return [{"name": "o", "max_tokens": 22 * requests, "max_parallel_requests": 36, "teams": teams}]


def limits(said: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """By level, as `Fleet.sums` names it: the most that its spent and held tokens, micro-USD and requests may be."""
    found: dict[str, dict[str, int]] = {}

    def put(name: str, level: Mapping[str, Any]) -> None:
        sums = {"t": level.get("max_tokens"), "m": level.get("max_budget"), "o": level.get("max_parallel_requests")}
        found[name] = {at: round(most * 1e6) if at == "m" else most for at, most in sums.items() if most is not None}

    for org in said:
        put(f"{org['name']}/o:{org['name']}", org)
        for team in org["teams"]:
            put(f"{org['name']}/t:{org['name']}/{team['name']}", team)
            for key, level in team["keys"].items():
                put(f"{org['name']}/k:{org['name']}/{team['name']}/{org['name']}-{team['name']}-{key}", level)
    return found


def drawn(requests: int, seed: int) -> Iterator[Asked]:
    """So many requests; the same for the same seed."""
    dice = random.Random(seed)
    kinds, weights = list(KINDS), list(KINDS.values())
    for number in range(requests):
        (kind,) = dice.choices(kinds, weights)
        payer = dice.choice(PAYERS)
        words, cap = dice.randint(1, 20), dice.choice([None, None, dice.randint(4, MAXIMUM)])
        choices = 2 if kind == "both" else 1
        most = (cap or MAXIMUM) * choices
        came = dice.randint(1, most)
        more: dict[str, Any] = {} if cap is None else {dice.choice(["max_tokens", "max_completion_tokens"]): cap}
        if choices > 1:
            more["n"] = choices
        if kind in STREAMED or (kind not in {"left", "garbled", "both"} and dice.random() < 0.4):
            more["stream"] = True
        said = {"left": "whole", "gone": "silent", "both": "whole"}.get(kind, kind)
        user = f"{said}/{came}.{number}/{payer}"
        body = dice.choice(BROKEN) if kind == "malformed" else request(user, words, **more)
        into = AROUND + words
        yield Asked(kind, user, payer, body, came, into + most, into * INTO + most * OUT)


class Sampler:
    """Reads every sum of the ledger again and again, in a thread of its own."""

    def __init__(self, url: str, most: Mapping[str, Mapping[str, int]], figures: Figures) -> None:
        self._url, self._most, self._figures = url, most, figures
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with redis.Redis.from_url(self._url, decode_responses=True) as client:
            keys: list[str] = []
            while not self._stop.wait(PAUSE):
                if self._figures.samples % 100 == 0:
                    keys = ledger_keys(client)
                if keys:
                    self._look(read_sums(client, keys))
                self._figures.samples += 1

    def _look(self, sums: Mapping[str, Mapping[str, int]]) -> None:
        for level, most in self._most.items():
            found = sums.get(level, {})
            for name, limit in most.items():
                now = found.get(name, 0) + (found.get(f"h{name}", 0) if name != "o" else 0)
                at = f"{level} {name}"
                self._figures.highest[at] = max(self._figures.highest.get(at, 0.0), now / limit)
                if now > limit:
                    self._figures.over.append(f"{at}: {now} of {limit}")


class Storm:
    """`requests` over `workers`, of which `kills` are killed."""

    def __init__(
        self, upstream: Emitting, folder: Path, ledger: str, *, requests: int, workers: int, kills: int
    ) -> None:
        self._upstream, self._requests, self._kills = upstream, requests, kills
        said = orgs(requests)
        self.most = limits(said)
        self.fleet = Fleet(
            folder, upstream.url, ledger, said, workers=workers, hold=HOLD, sweep=SWEEP,
            general={"first_byte_timeout": UPSTREAM, "total_timeout": UPSTREAM},
        )  # fmt: skip
        self.figures = Figures()
        self._done = 0
        self._killed: set[int] = set()

    async def blow(self, seed: int) -> Figures:
        """Returns when every request is over and nothing is held any more."""
        began = time.monotonic()
        dice = random.Random(seed + 1)
        left = drawn(self._requests, seed)

        async def caller() -> None:
            for asked in left:
                await self._ask(asked)
                self._done += 1
                if self.figures.kills < self._kills * self._done // self._requests:
                    self._kill(dice)

        with self.fleet:
            await asyncio.to_thread(self.fleet.all_up)
            with Sampler(self.fleet.ledger, self.most, self.figures):
                await asyncio.gather(*(caller() for _ in range(CALLERS)))
                await asyncio.to_thread(wait_until, self._nothing_is_held, PATIENCE)
            self._count_swept()
            self.sums = self.fleet.sums()
        self.figures.seconds = time.monotonic() - began
        return self.figures

    def wrong_sums(self) -> list[str]:
        """Where it is not so that served <= settled <= served + what was swept, or charged where nobody told."""
        served, figures = self._upstream.served, self.figures
        found = []
        for level, sums in self.sums.items():
            payers = [payer for payer in PAYERS if self._pays(level, payer)]
            untold = sum(self._upstream.untold[payer] for payer in payers)
            for name, mark, price in (("t", "", 1), ("m", ":usd", OUT)):
                least = sum(served[payer + mark] for payer in payers)
                more = sum(figures.swept[payer + mark] + figures.unseen[payer + mark] for payer in payers)
                most = least + more + untold * price
                if not least <= sums[name] <= most:
                    found.append(f"{level} {name}: {sums[name]} is not from {least} to {most}")
        return found

    def _pays(self, level: str, payer: str) -> bool:
        team, key = payer.split(":")
        return level in {"o/o:o", f"o/t:o/{team}", f"o/k:o/{team}/o-{team}-{key}"}

    def _kill(self, dice: random.Random) -> None:
        self.figures.kills += 1
        alive = [pid for pid in self.fleet.pids() if pid not in self._killed]
        if alive:
            self._killed.add(pid := dice.choice(alive))
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def _ask(self, asked: Asked) -> None:
        async with Line(self.fleet.address) as line:
            line.send(key_of("o", *asked.payer.split(":")), asked.body)
            if asked.kind == "left":
                return self._ended(asked, 0, b"")
            if asked.kind == "gone":
                answer = asyncio.create_task(line.heard())
                while not self._upstream.stands(asked.user):
                    done, _ = await asyncio.wait((answer,), timeout=0.005)
                    if done:
                        break
                else:
                    answer.cancel()
                    return self._ended(asked, 0, b"")
                heard = await answer
            elif asked.kind == "stuck":
                heard = await line.heard(WORD.encode(), asked.came)
            else:
                heard = await line.heard()
            return self._ended(asked, heard.status, heard.body)

    def _ended(self, asked: Asked, status: int, body: bytes) -> None:
        figures = self.figures
        figures.statuses[str(status or "none")] += 1
        if status in {0, 504} and asked.kind != "malformed" and asked.user not in self._upstream.seen:
            figures.unseen[asked.payer] += asked.tokens
            figures.unseen[f"{asked.payer}:usd"] += asked.micro_usd
        if status in {429, 503} and asked.kind not in {"limited", "busy"}:
            figures.codes[json.loads(body)["error"]["code"]] += 1
        expected = {
            "refused": {400}, "limited": {429}, "busy": {503}, "failed": {500}, "dropped": {502}, "garbled": {200},
            "malformed": {400, 404}, "silent": set[int](),
        }  # fmt: skip
        if status not in {*expected.get(asked.kind, {200}), 0, 429, 504}:
            figures.strange.append(f"{asked.kind}: {status} {body[:300]!r}")

    def _nothing_is_held(self) -> bool:
        return all(sums.get(name, 0) == 0 for sums in self.fleet.sums().values() for name in ("ht", "hm", "o"))

    def _count_swept(self) -> None:
        """Holds that nobody settled are remembered, with all that was charged for them."""
        with redis.Redis.from_url(self.fleet.ledger, decode_responses=True) as client:
            for key in client.scan_iter("eb:ldg:1:*:h:*", count=1000):
                state, tokens, money, levels = client.hmget(key, "s", "t", "m", "k")
                if state == "swept":
                    payer = ":".join(levels.split("\n")[-1].split(":s:k:")[1].split(":")[0].split("-")[1:])
                    self.figures.swept[payer] += int(tokens)
                    self.figures.swept[f"{payer}:usd"] += int(money)
                    self.figures.swept["holds"] += 1
