"""What /metrics shows of the ledger.

Knows: every such metric's name and labels; a label is a limit's name or a word of the code, never an organisation, a
team or a key. What an alert watches for is there from the start: a counter that begins at 1 has never increased.
Does not know: when something happens, or what anybody has left.
"""

from __future__ import annotations

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge

from elbowroom.budget.hold import Amounts

WHAT = ("held", "settled", "overrun")
CALLS = ("hold", "renew", "settle", "release", "sweep")


class HoldMetrics:
    """One registry's."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.tokens = Counter(
            "elbowroom_ledger_tokens", "Tokens held, settled, and settled above what was held", ["what"],
            registry=registry,
        )  # fmt: skip
        self.micro_usd = Counter(
            "elbowroom_ledger_micro_usd", "Micro-USD held, settled, and settled above what was held", ["what"],
            registry=registry,
        )  # fmt: skip
        self.denied = Counter(
            "elbowroom_ledger_denied", "Requests that a limit refused, by limit", ["limit"], registry=registry
        )
        self.settlements = Counter(
            "elbowroom_ledger_settlements", "Holds that ended, by what was known and how", ["by", "state"],
            registry=registry,
        )  # fmt: skip
        self.failures = Counter(
            "elbowroom_ledger_failures", "Calls to the ledger that it did not answer", ["call"], registry=registry
        )
        self.swept = Counter(
            "elbowroom_ledger_swept", "Holds charged in full because nobody was heard of again", registry=registry
        )
        self.lost = Counter(
            "elbowroom_ledger_settlements_lost", "Settlements that the ledger never took", registry=registry
        )
        # Every process says the same of a ledger that they share, so the worst of their words is taken.
        self.up = Gauge(
            "elbowroom_ledger_up", "1 while the ledger answers what it is asked", registry=registry,
            multiprocess_mode="livemin",
        )  # fmt: skip
        self.overdue = Gauge(
            "elbowroom_ledger_holds_overdue", "Holds past their end that the last look for them could not end",
            registry=registry, multiprocess_mode="livemax",
        )  # fmt: skip
        self.open = Gauge(
            "elbowroom_ledger_holds_open", "Holds of requests under way", registry=registry, multiprocess_mode="livesum"
        )
        self._denied = cache(self.denied.labels)  # to look a child up costs the library more than to count
        self.up.set(1)
        for what in WHAT:
            self.tokens.labels(what)
            self.micro_usd.labels(what)
        for call in CALLS:
            self.failures.labels(call)

    def count(self, what: str, amounts: Amounts) -> None:
        """`what`: one of `WHAT`."""
        self.tokens.labels(what).inc(amounts.tokens)
        self.micro_usd.labels(what).inc(amounts.micro_usd)

    def refused(self, limit: str) -> None:
        """A request was, by a limit of that name."""
        self._denied(limit).inc()

    def answered(self) -> None:
        """The ledger did what it was asked."""
        self.up.set(1)

    def failed(self, call: str) -> None:
        """`call`: one of `CALLS`, which it did not answer."""
        self.up.set(0)
        self.failures.labels(call).inc()
