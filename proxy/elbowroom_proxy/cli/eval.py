"""`elbowroom eval`: how much of the expected evidence each way of packing admits, and what it costs.

Knows: which tables are printed, and what `--json` holds.
Does not know: how a case is packed (`trials`) or measured (the engine's `account`).
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from msgspec import Struct, structs

from elbowroom.account.paired import Paired
from elbowroom.account.summary import Result, Row, compared, rows
from elbowroom.account.verdict import NEXT, Diagnosis
from elbowroom.price import Price
from elbowroom_proxy.cli import runs
from elbowroom_proxy.cli.render import line, pad, printable
from elbowroom_proxy.cli.trials import Setup

TABLE = "{} {:<9} {:>6} {} {:>5} {:>6} {:>6} {:>6} {:>7} {:>5}"
OUTCOMES = "{} {:<9} {:>6} {} {:>9} {:>9} {:>6} {:>9} {:>9} {:>9} {:>8} {:>9} {:>10}"
COMPARED = "{:<44} {:>6} {:<7} {:>5} {:>7} {:>17} {:>7} {:>6}"
WIDE = 16  # cells of a name


class Outcome(Struct, frozen=True):
    """One setup, done."""

    setup: Setup
    results: list[Result]
    rows: list[Row]

    @property
    def name(self) -> str:
        return f"{self.setup.name} {self.setup.packer}"


class Comparison(Struct, frozen=True):
    """Two setups of one budget: `second` minus `first`, in points."""

    first: str
    second: str
    budget: int | None
    field: str
    paired: Paired


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    runs.arguments(parser)
    parser.add_argument("--groups", metavar="G,G", help="only these groups in the tables; `all` is one")


def run(args: Namespace) -> int:
    """0: every line was a case. 1: some were not, and were skipped. 2: there was nothing to evaluate."""
    try:
        inputs = runs.read(args)
    except runs.Unusable as error:
        print(error, file=sys.stderr)
        return 2
    variant = runs.variant(args)
    setups = runs.setups(inputs, args, variant)
    done = inputs.run(setups, args)
    shown = None if args.groups is None else set(args.groups.split(","))
    outcomes = [
        Outcome(one, some, [row for row in rows(some) if shown is None or row.group in shown])
        for one, some in zip(setups, done.results, strict=True)
    ]
    told = {
        "digests": {**inputs.digests, "policies": {name: one.digest for name, one in inputs.policies.items()}},
        "model": inputs.model.name,
        "vocabulary": inputs.model.vocabulary,
        "candidates": str(variant),
        "open": args.open,
    }
    comparisons = list(_comparisons(outcomes))
    if args.json:
        print(json.dumps(_json(told, outcomes, comparisons, inputs.model.price), ensure_ascii=False))
    else:
        print(*_lines(told, outcomes, comparisons, inputs.model.price), sep="\n")
    return 1 if inputs.faults or done.faults else 0


def _comparisons(outcomes: Sequence[Outcome]) -> Iterator[Comparison]:
    """All pairs that have the same budget."""
    for first, second in combinations(outcomes, 2):
        if first.setup.budget == second.setup.budget:
            for field in ("recall", "all", "answer"):
                numbers = compared(first.results, second.results, field)
                yield Comparison(first.name, second.name, first.setup.budget, field, numbers)


def _json(
    told: dict[str, Any], outcomes: Sequence[Outcome], comparisons: Sequence[Comparison], price: Price | None
) -> dict[str, Any]:
    results, more = [], []
    for one in outcomes:
        key = {"policy": one.setup.name, "packer": one.setup.packer, "budget": one.setup.budget}
        for row in one.rows:
            told_of = structs.asdict(row)
            numbers = {
                name: round(told_of[name], 2) if isinstance(told_of[name], float) else told_of[name]
                for name in ("n", "recall", "all", "answer", "tokens", "over")
            }
            results.append({**key, "group": row.group, **numbers})
            rest = {name: value for name, value in told_of.items() if name not in numbers}
            more.append({**key, **rest, "usd_per_1000": _usd(row, price)})
    return {
        **told,
        "results": results,
        "outcomes": more,
        "comparisons": [{**structs.asdict(one), "paired": structs.asdict(one.paired)} for one in comparisons],
    }


def _lines(
    told: dict[str, Any], outcomes: Sequence[Outcome], comparisons: Sequence[Comparison], price: Price | None
) -> Iterator[str]:
    yield from head(told)
    yield ""
    name, group = pad("policy", WIDE), pad("group", WIDE)
    yield TABLE.format(name, "packer", "budget", group, "n", "recall", "all", "answer", "tokens", "over")
    ordered = [(one.setup, row) for at in _groups(outcomes) for one in outcomes for row in one.rows if at == _key(row)]
    for setup, row in ordered:
        means = _number(row.recall), _number(row.all), _number(row.answer), round(row.tokens), row.over
        yield TABLE.format(*_setup(setup), pad(printable(row.group), WIDE), row.n, *means)
    yield ""
    yield OUTCOMES.format(
        *(name, "packer", "budget", group, "retrieved", "admitted", "cited", "supported", "unjudged", "grounded"),
        *("ms", "prompt", "USD/1000"),
    )
    for setup, row in ordered:
        if row.by in ("all", "class"):
            shares = _number(row.retrieved), _number(row.recall), _number(row.cited)
            judged = row.supported, row.unjudged, _number(row.groundedness)
            cost = f"{row.ms:.1f}", round(row.prompt_tokens), _number(_usd(row, price), 4)
            yield OUTCOMES.format(*_setup(setup), pad(printable(row.group), WIDE), *shares, *judged, *cost)
    yield ""
    yield from _diagnoses(outcomes)
    if comparisons:
        yield ""
        yield COMPARED.format("second - first, points", "budget", "of", "n", "mean", "95 % interval", "better", "worse")
    for one in comparisons:
        paired = one.paired
        known = paired.low is not None and paired.high is not None
        interval = f"{paired.low:+.2f} .. {paired.high:+.2f}" if known else "-"
        yield COMPARED.format(
            f"{printable(one.second)} - {printable(one.first)}", one.budget or "own", one.field, paired.n,
            f"{paired.mean:+.2f}", interval, paired.better, paired.worse,
        )  # fmt: skip


def head(told: dict[str, Any]) -> Iterator[str]:
    """What was compared with what: only outputs whose digests are the same may be."""
    digests = told["digests"]
    for name in ("cases", "passages"):
        if name in digests:
            yield line(name, digests[name])
    for name, digest in digests["policies"].items():
        yield line("policy", f"{printable(name)} {digest}")
    yield line("model", f"{told['model']}, counted in {told['vocabulary']}")
    caps = "the budget is the only cap" if told["open"] else "every cap of the policy holds"
    yield line("candidates", f"{told['candidates']}; {caps}")


def _diagnoses(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for one in outcomes:
        whole = next((row for row in one.rows if row.by == "all"), None)
        if whole is None or not whole.diagnoses:
            continue
        found = ", ".join(f"{name} {n}" for name, n in whole.diagnoses.items())
        lost = ", ".join(f"{reason} {n}" for reason, n in whole.lost_by.items())
        budget = one.setup.budget or "own budgets"
        yield line("diagnosis", f"{printable(one.name)} {budget}: {found}" + (f"; lost by {lost}" if lost else ""))
    seen = {name for one in outcomes for row in one.rows for name in row.diagnoses}
    for diagnosis in Diagnosis:
        if diagnosis in seen:
            yield line("next", f"{diagnosis}: {NEXT[diagnosis]}")


def _groups(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(_key(row) for one in outcomes for row in one.rows))


def _key(row: Row) -> tuple[str, str]:
    return row.by, row.group


def _setup(setup: Setup) -> tuple[str, str, int | str]:
    return pad(printable(setup.name), WIDE), setup.packer, setup.budget or "own"


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _usd(row: Row, price: Price | None) -> float | None:
    """Of a thousand such prompts, answers not included."""
    return None if price is None else round(runs.usd(1000 * row.prompt_tokens, price), 4)
