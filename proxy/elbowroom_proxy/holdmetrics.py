"""What /metrics shows of the ledger.

Knows: every such metric's name and labels; a label is a limit's name or a word of the code, never an organisation, a
team or a key.
Does not know: when something happens, or what anybody has left.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from elbowroom.budget.hold import Amounts


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

    def count(self, what: str, amounts: Amounts) -> None:
        """`what`: held, settled or overrun."""
        self.tokens.labels(what).inc(amounts.tokens)
        self.micro_usd.labels(what).inc(amounts.micro_usd)
