"""`elbowroom models`: what each configured model stands for, how it is counted, what it costs.

Knows: how to set that out, for people and as JSON, and when to doubt it.
Does not know: where windows and prices come from (`modelfacts`), or what is valid (`settings`).
"""

from __future__ import annotations

import datetime as dt
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from elbowroom.records import Model
from elbowroom_proxy import modelfacts, settings
from elbowroom_proxy.settings import Settings

# One short message, to ask a counter by what right it counts.
PROBE = {"messages": [{"role": "user", "content": "x"}]}
COLUMNS = ("model", "upstream", "window", "output", "counter", "family", "basis", "USD/M in", "out", "as of")


def arguments(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="elbowroom.yaml; without it the built-in")
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a line, prices in micro-USD a million tokens"
    )


def run(args: Namespace) -> int:
    """0. Doubts are told on standard error."""
    read = settings.load(args.file)
    rows = [row(read, model) for model in read.catalog.models]
    if args.json:
        print(*(msgspec.json.encode(one).decode() for one in rows), sep="\n")
    else:
        print(*table([COLUMNS, *map(cells, rows)]), sep="\n")
    for doubt in doubts(read, dt.datetime.now(tz=dt.UTC).date()):
        print(doubt, file=sys.stderr)
    return 0


def row(read: Settings, model: Model) -> dict[str, Any]:
    """One model. Windows and maxima in tokens."""
    return {
        "name": model.name,
        "upstream": model.upstream,
        "upstream_model": model.upstream_model,
        "context_window": model.context_window,
        "max_input_tokens": model.max_input_tokens,
        "max_output_tokens": model.max_output_tokens,
        "counter": model.counter,
        "family": model.family,
        "vocabulary": model.vocabulary,
        "basis": read.counters[model.name].plan(PROBE).basis.value,
        "price": model.price,
        "as_of": model.price.as_of if model.price is not None else None,
    }


def cells(one: dict[str, Any]) -> tuple[str, ...]:
    """The same as words."""
    price = one["price"]
    return (
        one["name"],
        one["upstream"],
        f"{one['context_window']:,}",
        f"{one['max_output_tokens']:,}",
        one["counter"],
        one["family"],
        one["basis"],
        "-" if price is None else usd(price.input),
        "-" if price is None else usd(price.output),
        "-" if price is None else price.as_of or "yours",
    )


def usd(micro: int) -> str:
    """Dollars, without digits that say nothing."""
    whole, rest = divmod(micro, 1_000_000)
    return f"{whole}.{f'{rest:06}'.rstrip('0').ljust(2, '0')}"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as they must be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for one in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(one, widths, strict=True)).rstrip()


def doubts(read: Settings, today: dt.date) -> Iterator[str]:
    """What may not hold any more, and what nobody knows."""
    yield from read.notes
    for model in read.catalog.models:
        facts = read.published.get(model.name)
        why = modelfacts.stale(facts, today) if facts is not None else None
        if why is not None:
            yield f"{model.name} is stale: {why}"
        if not model.known:
            yield f"{model.name} is unknown: nobody mapped it, so its tokens are bounded from above"
        if model.price is None and model.upstream != "demo":
            yield f"{model.name} has no price: set input_cost_per_token and output_cost_per_token in its model_info"
