"""`elbowroom sweep`: how accuracy, tokens and money grow with the number of candidates and the budget.

Knows: which grid is measured, and how it is shown: a Markdown table, and a curve for each budget with its elbow marked.
Does not know: how a case is packed or measured, where the elbow is (the engine's `account` says), or how to draw.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from elbowroom.account.elbow import elbow
from elbowroom.account.summary import Row, rows
from elbowroom.price import Price
from elbowroom_proxy.cli import chart, runs
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.cli.trials import Setup

TOP_K = (2, 4, 6, 8, 12, 20)
RULE = (
    "The elbow of a curve: top-k and recall are scaled to 0..1 and a straight line joins the first and the last point; "
    "the point that lies highest above it is where more candidates begin to pay less."
)


class Point(Struct, frozen=True):
    """One cell of the grid. Shares in percent, tokens means a case."""

    policy: str
    packer: str
    budget: int | None
    top_k: int
    n: int
    recall: float
    all: float
    answer: float | None
    tokens: float
    prompt_tokens: float
    over: int
    usd_per_1000: float | None
    elbow: bool = False


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    runs.arguments(parser)
    parser.add_argument("--top-k", type=runs.numbers, default=TOP_K, metavar="N,N", help="so many of the candidates")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="writes sweep.svg and sweep.md there")


def run(args: Namespace) -> int:
    """0: every line was a case. 1: some were not, and were skipped. 2: there was nothing to measure."""
    try:
        inputs = runs.read(args)
    except runs.Unusable as error:
        print(error, file=sys.stderr)
        return 2
    variant = runs.variant(args)
    grid = [one for k in args.top_k for one in runs.setups(inputs, args, structs.replace(variant, top_k=k))]
    done = inputs.run(grid, args)
    points = [
        _point(setup, row, inputs.model.price)
        for setup, results in zip(grid, done.results, strict=True)
        for row in rows(results)[:1]  # that of all cases
    ]
    curves = _curves(points)
    points = [point for curve in curves for point in curve]
    if args.json:
        told = {**inputs.digests, "policies": {name: one.digest for name, one in inputs.policies.items()}}
        print(json.dumps({"digests": told, "rule": RULE, "results": [structs.asdict(one) for one in points]}))
    else:
        print(*markdown(points), sep="\n")
    if args.out is not None and points:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "sweep.md").write_text("\n".join(markdown(points)) + "\n", encoding="utf-8")
        (args.out / "sweep.svg").write_text(picture(curves), encoding="utf-8")
    return 1 if inputs.faults or done.faults else 0


def _point(setup: Setup, row: Row, price: Price | None) -> Point:
    return Point(
        policy=setup.name,
        packer=setup.packer,
        budget=setup.budget,
        top_k=setup.variant.top_k or 0,
        n=row.n,
        recall=row.recall,
        all=row.all,
        answer=row.answer,
        tokens=row.tokens,
        prompt_tokens=row.prompt_tokens,
        over=row.over,
        usd_per_1000=None if price is None else runs.usd(1000 * row.prompt_tokens, price),
    )


def _curves(points: Sequence[Point]) -> list[list[Point]]:
    """A curve for each policy, packer and budget, from few candidates to many, its elbow marked."""
    found: dict[Any, list[Point]] = {}
    for point in points:
        found.setdefault((point.policy, point.packer, point.budget), []).append(point)
    for curve in found.values():
        curve.sort(key=lambda point: point.top_k)
        at = elbow([(point.top_k, point.recall) for point in curve])
        if at is not None:
            curve[at] = structs.replace(curve[at], elbow=True)
    return list(found.values())


def markdown(points: Sequence[Point]) -> Iterator[str]:
    """The table, and the rule by which the elbow is marked."""
    yield "| policy | packer | budget | top-k | recall | all | answer | tokens | prompt | over | USD/1000 | elbow |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|"
    for one in points:
        answer = "-" if one.answer is None else f"{one.answer:.1f}"
        usd = "-" if one.usd_per_1000 is None else f"{one.usd_per_1000:.4f}"
        yield (
            f"| {printable(one.policy)} | {one.packer} | {one.budget or 'own'} | {one.top_k} | {one.recall:.1f} | "
            f"{one.all:.1f} | {answer} | {one.tokens:.0f} | {one.prompt_tokens:.0f} | {one.over} | {usd} | "
            f"{'**elbow**' if one.elbow else ''} |"
        )
    yield ""
    yield RULE


def picture(curves: Sequence[Sequence[Point]]) -> str:
    """Recall over the number of candidates, each point with its tokens."""
    drawn = [
        chart.Curve(
            f"{some[0].packer} {some[0].budget or 'own'}",
            [(one.top_k, one.recall) for one in some],
            [f"{one.tokens:.0f}" for one in some],
            next((at for at, one in enumerate(some) if one.elbow), None),
        )
        for some in curves
    ]
    return chart.svg(
        "Evidence recall, and mean evidence tokens at each point", "candidates (top-k)", "recall, %", drawn
    )
