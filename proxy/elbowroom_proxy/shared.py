"""What all requests of one process share.

Knows: the parts, by what they are for, and which work is still under way.
Does not know: what a request does with any of them (`flow`), or how they were built (`app`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from elbowroom.account.trace import Aside, Facts
from elbowroom.budget.limits import Account
from elbowroom.clean.known import Known
from elbowroom.count.counter import Counter
from elbowroom.decide.signature import LabelKey
from elbowroom.errors import KeysUnavailable
from elbowroom.needs import Answer, AsideNeed, Need
from elbowroom.read.catalog import Catalog
from elbowroom.read.policy import Policy
from elbowroom.records import Principal
from elbowroom_proxy.asides import Purse, nobody
from elbowroom_proxy.books import Books
from elbowroom_proxy.calibration import Calibration
from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.ports import TraceSink, Upstream
from elbowroom_proxy.principal import Identify
from elbowroom_proxy.shadow import SKIPPED, Proposal
from elbowroom_proxy.texts import Keeper

LAST_WORDS = 2.0  # seconds that clients who do not read get to take an error, when the server is shutting down


def nobodys(_: Principal) -> Account | None:
    """Nobody is charged for anything."""
    return None


def nothing_killed() -> bool:
    """Where there is no switch."""
    return False


def nobody_watches(_: Proposal, __: Facts) -> str:
    """Where nothing is worked out beside a request."""
    return SKIPPED


class Shared(Struct, kw_only=True):
    """What all requests share that begin under one configuration. It never changes: a new configuration is a new one,
    and a request keeps the one that it began with.
    """

    catalog: Catalog
    policy: Policy
    identify: Identify
    counters: Mapping[str, Counter]  # by model name
    upstreams: Mapping[str, Upstream]  # by model name
    count: Callable[[Need, set[str]], Awaitable[Answer]]  # the set takes one request's degradations
    known: Known
    nonce_key: bytes
    hash_key: bytes
    sink: TraceSink
    books: Books | None = None  # kept by the ledger, which outlives a configuration; None: nothing is limited
    metrics: Metrics
    aside: Callable[[AsideNeed, list[Aside], Purse | None], Awaitable[Answer]] = nobody  # the list is told of the call
    count_endpoints: frozenset[str] = frozenset()  # the models whose providers can be asked to count
    calibration: Calibration = msgspec.field(default_factory=Calibration)
    label_keys: Mapping[str, LabelKey] = {}  # by `kid`: what retrievers sign access labels with
    rerankers: Mapping[str, tuple[str, ...]] = {}  # by name: labels of documents that it accepts, where somebody said
    clock: Callable[[], float] = time.time  # seconds since 1970: what records and labels are dated by
    keeper: Keeper | None = None  # None: no text is kept beside a record
    ping_interval: float | None = None  # seconds
    accounts: Callable[[Principal], Account | None] = nobodys  # raises `InvalidApiKey` for who has just gone
    cohort_key: bytes = b""  # keys the places in a rollout
    policies: Mapping[str, Policy] = {}  # beside the default one, by name
    killed: Callable[[], bool] = nothing_killed
    propose: Callable[[Proposal, Facts], str] = nobody_watches  # what became of it
    max_body_bytes: int = 32 << 20
    working: set[asyncio.Task[Any]] = msgspec.field(default_factory=set)

    def policy_of(self, principal: Principal) -> Policy:
        """The principal's own, else the default one. Raises `KeysUnavailable` where keys have just been swapped, and
        this is a request of the configuration before.
        """
        found = self.policy if principal.policy is None else self.policies.get(principal.policy)
        if found is None:
            raise KeysUnavailable("The configuration has just changed. Send the request again.")
        return found

    async def idle(self) -> None:
        """Returns when nothing is under way, however long that takes."""
        while self.working:
            await asyncio.wait(self.working)

    def work(self, task: asyncio.Task[Any]) -> None:
        """`drained` waits for it."""
        self.working.add(task)
        task.add_done_callback(self.working.discard)

    async def drained(self) -> None:
        """Returns when nothing is under way, so that every record is with the sink; `LAST_WORDS` at the latest."""
        if self.working:
            await asyncio.wait(self.working, timeout=LAST_WORDS)
