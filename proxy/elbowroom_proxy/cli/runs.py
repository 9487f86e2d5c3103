"""What the commands that evaluate have in common: their options, their files read, their progress shown.

Knows: which options there are and what their words mean; how a file's faults are told; how to say how far it has got.
Does not know: what is made of the results.
"""

from __future__ import annotations

import hashlib
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any

from msgspec import Struct

from elbowroom.decide import packers
from elbowroom.errors import ModelNotFound
from elbowroom.price import Price
from elbowroom.read.policy import Policy
from elbowroom.records import Model
from elbowroom_proxy import settings
from elbowroom_proxy.cli import lines, trials
from elbowroom_proxy.cli.cases import Case, Variant, read_cases, read_passages
from elbowroom_proxy.cli.trials import Setup, Trials
from elbowroom_proxy.settings import Settings

OPEN_BUDGETS = (500, 1000, 2000, 4000)
JOBS = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


class Unusable(Exception):
    """There is nothing to work with; the message says why."""


class Inputs(Struct, frozen=True):
    """All that was read."""

    cases: list[Case]
    faults: list[str]  # file:line: what
    digests: dict[str, str]
    configured: Settings
    model: Model
    policies: dict[str, Policy]  # by the name they are printed under

    def run(self, setups: list[Setup], args: Namespace) -> Trials:
        """Packs the cases in every way; tells the faults, and on a terminal how far it has got."""
        for fault in self.faults:
            print(fault, file=sys.stderr)
        done = trials.run(
            self.cases,
            setups,
            self.model,
            self.configured.tokenizers,
            jobs=args.jobs,
            file=args.results,
            progress=_show if sys.stderr.isatty() else None,
        )
        for fault in done.faults:
            print(fault, file=sys.stderr)
        return done


def arguments(parser: ArgumentParser) -> None:
    """The options of the commands that measure."""
    inputs(parser)
    parser.add_argument("--results", type=Path, metavar="FILE", help="keeps what is done; an interrupted run goes on")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help="processes (default: %(default)s)")


def inputs(parser: ArgumentParser, *, required: bool = True) -> None:
    """What is packed, and how."""
    parser.add_argument("--cases", required=required, metavar="FILE.jsonl", help="a case a line; -: standard input")
    parser.add_argument("--passages", type=Path, metavar="FILE.jsonl", help="what cases name by id")
    parser.add_argument("--budgets", type=numbers, metavar="N,N", help="evidence budgets in tokens")
    parser.add_argument("--packer", choices=sorted(packers.NAMES), action="append", help="instead of the policy's own")
    parser.add_argument("--policy", type=Path, action="append", metavar="FILE", help="classes/ beside it")
    parser.add_argument("--open", action="store_true", help="the budget is the only limit: no caps on evidence")
    parser.add_argument("--config", type=Path, metavar="FILE", help="elbowroom.yaml; without it the built-in one")
    parser.add_argument("--model", metavar="M", help="whose window and tokens; else the one with the largest window")
    parser.add_argument(
        "--without", choices=("titles", "scores", "order"), action="append", help="take these from the candidates"
    )
    parser.add_argument(
        "--jitter", type=share, default=0.0, metavar="SHARE", help="move each score by up to this share of their range"
    )
    parser.add_argument("--json", action="store_true", help="one object")


def read(args: Namespace) -> Inputs:
    """Reads what the options name. Raises `Unusable` where no case is left."""
    configured = settings.load(args.config)
    digests: dict[str, str] = {}
    passages: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    if args.passages is not None:
        data = _content(str(args.passages))
        digests["passages"] = hashlib.sha256(data).hexdigest()
        passages, wrong = read_passages(data)
        faults += [f"{args.passages}:{fault}" for fault in wrong]
    data = _content(args.cases)
    digests = {"cases": hashlib.sha256(data).hexdigest(), **digests}
    cases, wrong = read_cases(data, passages)
    faults += [f"{args.cases}:{fault}" for fault in wrong]
    if not cases:
        raise Unusable("\n".join([*faults, f"{args.cases}: no case in it"]))
    try:
        largest = max(configured.catalog.models, key=lambda one: one.context_window, default=None)
        model = configured.catalog.find(args.model or (largest.name if largest else ""))
    except ModelNotFound:
        raise Unusable(f"there is no model {args.model} in the configuration") from None
    return Inputs(cases, faults, digests, configured, model, _policies(args.policy or [], configured))


def setups(inputs: Inputs, args: Namespace, variant: Variant) -> list[Setup]:
    """Each policy with each packer and budget."""
    budgets: tuple[int | None, ...] = args.budgets or (OPEN_BUDGETS if args.open else (None,))
    return [
        trials.setup(name, policy, packer=packer, budget=budget, uncapped=args.open, variant=variant)
        for name, policy in inputs.policies.items()
        for packer in args.packer or [None]
        for budget in budgets
    ]


def variant(args: Namespace) -> Variant:
    """What the options do to the candidates."""
    return Variant(tuple(dict.fromkeys(args.without or ())), args.jitter)


def usd(tokens: float, price: Price) -> float:
    """Of so many uncached input tokens."""
    return tokens * price.input / 1e12


def numbers(word: str) -> tuple[int, ...]:
    """`500,1000`: positive whole numbers."""
    parts = word.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise ArgumentTypeError("must be positive numbers with commas between")
    return tuple(dict.fromkeys(int(part) for part in parts))


def share(word: str) -> float:
    """A number from 0 to 1."""
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError("must be a number from 0 to 1")
    return value


def _policies(files: list[Path], configured: Settings) -> dict[str, Policy]:
    """By id; where two have the same, by file."""
    read = [(str(file), settings.load_policy(file)) for file in files] or [("built-in", configured.policy)]
    ids = [policy.id for _, policy in read]
    return {policy.id if ids.count(policy.id) == 1 else file: policy for file, policy in read}


def _content(name: str) -> bytes:
    try:
        return lines.content(name)
    except OSError as error:
        raise Unusable(f"{name}: {error.strerror}") from error


def _show(done: int, whole: int) -> None:
    print(f"\r{done} of {whole} cases", end="\n" if done == whole else "", file=sys.stderr, flush=True)
