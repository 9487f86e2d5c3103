"""`elbowroom replay`: decisions taken again, and what another policy would have made of them, passage by passage.

Knows: where the first decision comes from (a trace and its request, or a case under the policy in force), and how a
changed fate is told.
Does not know: how a decision is taken again (`replaying`), or where a trace and its request are (`traced`).

A trace is replayed on the answers that it recorded, so nothing is counted anew; under the policy that it names this
gives the same bytes. What the other policy asks beyond that is counted.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import structs

from elbowroom.errors import ElbowroomError
from elbowroom.read.policy import Policy
from elbowroom.records import Fate
from elbowroom_proxy import settings
from elbowroom_proxy.cli import runs, traced
from elbowroom_proxy.cli.offline import answering
from elbowroom_proxy.cli.pack import OFFLINE_SECRET
from elbowroom_proxy.cli.render import line, pad, printable
from elbowroom_proxy.cli.trials import Bench
from elbowroom_proxy.replaying import Again, Told, compared
from elbowroom_proxy.settings import STATE, Settings
from elbowroom_proxy.sinks.kept import Kept
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    runs.inputs(parser, required=False)
    traced.arguments(parser)


def run(args: Namespace) -> int:
    """0: all replayed. 1: a line was bad, or a trace did not come out as it was recorded. 2: nothing to replay."""
    if [args.cases is not None, args.requests is not None, args.captured].count(True) != 1:
        print("one of --cases, --requests and --captured says what is to be replayed", file=sys.stderr)
        return 2
    told: list[Told] = []
    faults = 0
    try:
        for one in _traces(args) if args.cases is None else _cases(args):
            if isinstance(one, str):
                print(one, file=sys.stderr)
                faults += 1
            else:
                told.append(one)
                print(_json(one) if args.json else "\n".join(_lines(one)))
    except runs.Unusable as error:
        print(error, file=sys.stderr)
        return 2
    if not args.json:
        print(*_summary(told), sep="\n")
    return 1 if faults or any(one.exact is False for one in told) else 0


def _cases(args: Namespace) -> Iterator[Told | str]:
    """Each case under the first setup and under the second: two policies, or the one in force and another."""
    inputs = runs.read(args)
    yield from inputs.faults
    if args.policy and len(args.policy) == 1:
        inputs = structs.replace(inputs, policies={"in force": inputs.configured.policy, **inputs.policies})
    setups = runs.setups(inputs, args, runs.variant(args))
    if len(setups) != 2:
        raise runs.Unusable(f"two ways of packing can be compared; the options name {len(setups)}")
    bench = Bench(setups, inputs.model, inputs.configured.tokenizers)
    for case in inputs.cases:
        try:
            request = bench.read(case.varied(setups[0].variant))
        except ElbowroomError as error:
            yield f"{case.id}: {error.message}"
            continue
        before, after = (bench.pack(request, setup) for setup in setups)
        yield compared(case.id, before, after)


def _traces(args: Namespace) -> Iterator[Told | str]:
    """Each request whose trace is found: as recorded, and under another policy."""
    configured = settings.load(args.config)
    others = [settings.load_policy(file) for file in args.policy or ()]
    folders: list[str] = []
    again = again_as(configured, others, args.folder, lambda: folders)
    for one in traced.read(args, configured, folders):
        if isinstance(one, str):
            yield one
            continue
        try:
            yield again.told(one.story, one.asked, others[-1] if others else None)
        except ElbowroomError as error:
            yield f"{one.at}: {error.message}"


def again_as(
    configured: Settings,
    others: Sequence[Policy],
    folder: Path | None = None,
    more: Callable[[], Sequence[str]] = tuple,
) -> Again:
    """Repeats what this configuration recorded, on this machine, under the policies that lie beside the records in
    `folder` or in one of `more`, under its own policy and under `others`.
    """
    general = configured.general
    kept = (STATE / "secret").is_file()
    keys = settings.keys(general if general.secret or kept else structs.replace(general, secret=OFFLINE_SECRET))
    tokens = Tokens(Vocabularies(files=configured.tokenizers), secret=keys.counts)
    beside = Kept(folder if folder is not None else Path(general.traces), keys.hash, more)
    policies = (configured.policy, *others)
    return Again(configured, keys, policies, answering(tokens), content=beside.keys, kept=beside.policy)


def _lines(told: Told) -> Iterator[str]:
    same = "" if told.exact is None else ", as recorded" if told.exact else ", NOT as recorded"
    before, after = told.tokens
    yield (
        f"{printable(told.id)}: {len(told.changes)} changed, {told.same} as before; "
        f"evidence {before:,} -> {after:,} tokens{same}"
    )
    if told.note:
        yield f"  {printable(told.note)}"
    for change in told.changes:
        name = pad(printable(change.before.id), 32)
        yield f"  {change.kind:<9}{name} {_fate(change.before)} -> {_fate(change.after)}"


def _fate(fate: Fate) -> str:
    if fate.reason is not None:
        return f"{fate.reason}" + (f" ({printable(fate.detail)})" if fate.detail else "")
    cut = f" of {fate.tokens_before}" if fate.spans else ""
    return f"{fate.label} {fate.tokens}{cut}"


def _summary(told: Sequence[Told]) -> Iterator[str]:
    kinds = ("admitted", "dropped", "reason", "cut", "moved")
    changed = [change.kind for one in told for change in one.changes]
    yield line("together", f"{len(told)} replayed, {sum(bool(one.changes) for one in told)} of them changed")
    if changed:
        yield line("passages", ", ".join(f"{kind} {changed.count(kind)}" for kind in kinds if kind in changed))
    before, after = (sum(one.tokens[at] for one in told) for at in (0, 1))
    yield line("evidence", f"{before:,} -> {after:,} tokens")
    tried = [one.exact for one in told if one.exact is not None]
    if tried:
        yield line("exact", f"{sum(tried)} of {len(tried)} came out as recorded")


def _json(told: Told) -> str:
    value = {
        "id": told.id,
        "exact": told.exact,
        "note": told.note,
        "tokens": list(told.tokens),
        "same": told.same,
        "changes": [
            {"kind": one.kind, "before": structs.asdict(one.before), "after": structs.asdict(one.after)}
            for one in told.changes
        ],
    }
    return json.dumps(value, ensure_ascii=False)
