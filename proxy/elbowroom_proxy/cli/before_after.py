"""`elbowroom demo --before-after`: what is sent of twelve retrieved chunks, with a choice and without.

Knows: the file of samples, and which numbers stand in the table.
Does not know: how the choice is made; the engine makes both, in the modes `passthrough` and `enforce`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, structs

from elbowroom.account.evaluate import Alternative, Expected, Yardstick, bodies, is_there
from elbowroom.records import Mode, Refused
from elbowroom_proxy import settings
from elbowroom_proxy.cli import trials
from elbowroom_proxy.cli.cases import Case
from elbowroom_proxy.cli.render import line
from elbowroom_proxy.cli.trials import Bench

FILE = Path(__file__).parents[1] / "demo" / "twelve.yaml"
ROW = "{:<18} {:>8} {:>8}  {}"


class Side(Struct, frozen=True):
    """One way of sending the chunks."""

    admitted: int
    tokens: int  # of evidence
    facts: int  # that stand in what was sent
    dropped: dict[str, int]


class Table(Struct, frozen=True):
    """One sample, before and after."""

    id: str
    question: str
    chunks: int
    facts: int
    before: Side
    after: Side

    @property
    def saved(self) -> float:
        """Share of the evidence tokens that is not sent any more."""
        return 1 - self.after.tokens / self.before.tokens

    def lines(self) -> Iterator[str]:
        """For people."""
        yield line("sample", f"{self.id}: {self.question}")
        yield ROW.format("", "before", "after", "").rstrip()
        yield ROW.format("chunks sent", self.before.admitted, self.after.admitted, f"of {self.chunks}")
        yield ROW.format(
            "evidence tokens", f"{self.before.tokens:,}", f"{self.after.tokens:,}", f"{self.saved:.0%} fewer"
        )
        yield ROW.format("key facts", self.before.facts, self.after.facts, f"of {self.facts}")
        yield line("dropped", ", ".join(f"{reason} {n}" for reason, n in self.after.dropped.items()))


def run() -> int:
    """0: every key fact is still there."""
    found = tables()
    for table in found:
        print(*table.lines(), "", sep="\n")
    return 0 if all(one.after.facts == one.facts for one in found) else 1


def tables() -> list[Table]:
    """All samples, decided now, under the built-in policy with the sample's evidence ceiling."""
    configured = settings.load(environ={})
    model = max(configured.catalog.models, key=lambda one: one.context_window)
    found = []
    for sample in yaml.safe_load(FILE.read_text(encoding="utf-8")):
        case = _case(sample)
        after = trials.setup("", configured.policy, packer=None, budget=sample["budget"], uncapped=False)
        before = structs.replace(after, policy=structs.replace(configured.policy, mode=Mode.PASSTHROUGH))
        bench = Bench([before, after], model, {})
        sides = [_side(bench, case, one) for one in bench.setups]
        found.append(Table(case.id, case.question, len(case.documents), len(case.expected.groups), *sides))
    return found


def _case(sample: dict[str, Any]) -> Case:
    return Case(
        id=sample["id"],
        lang=sample["lang"],
        question=sample["question"],
        documents=tuple(sample["documents"]),
        expected=Expected(tuple((Alternative(ident, (quote,)),) for ident, quote in sample["facts"])),
        texts={},
    )


def _side(bench: Bench, case: Case, setup: trials.Setup) -> Side:
    outcome = bench.pack(bench.read(case), setup)
    if isinstance(outcome, Refused):
        raise RuntimeError(outcome.message)
    sent = bodies(json.loads(outcome.body)["messages"][-1]["content"])
    there = Yardstick(case.expected, {}, []).credits(sent.values())
    reasons = Counter(fate.reason.value for fate in outcome.decision.documents if fate.reason is not None)
    return Side(len(sent), outcome.decision.evidence_tokens, sum(map(is_there, there)), dict(reasons))
