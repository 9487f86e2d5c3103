"""`elbowroom traces hold | release | erase`: what must stay, and what must go.

Knows: that a hold keeps a record's file and its captured texts, and that erasing takes the texts and never the record.
Does not know: how either is done (`sinks.keeping`).
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from elbowroom_proxy import settings
from elbowroom_proxy.cli import reading
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.sinks import keeping, read


def arguments(commands: Any) -> tuple[ArgumentParser, ...]:
    """Adds the commands; each with its options, but for where the records lie."""
    held = commands.add_parser("hold", help="keeps a trace, its file and its texts, whatever the rules say")
    held.add_argument("--reason", required=True, help="why; kept with it")
    held.set_defaults(do=_hold)
    released = commands.add_parser("release", help="ends a hold")
    released.set_defaults(do=_release)
    erased = commands.add_parser("erase", help="removes a trace's captured texts; its record stays in the chain")
    erased.set_defaults(do=_erase)
    for one in (held, released, erased):
        one.add_argument("id", help="the trace's id, or the x-request-id or x-client-request-id of its request")
    return held, released, erased


def _hold(args: Namespace) -> int:
    trace_id = _known(args)
    kept = keeping.hold(_folder(args), trace_id, args.reason) if trace_id else None
    if kept is None:
        return _no_such(args)
    print(f"{kept.trace_id} and all of {kept.file} stay until it is released")
    return 0


def _release(args: Namespace) -> int:
    if not keeping.release(_folder(args), _known(args) or args.id):
        print(f"{printable(args.id)} is not on hold", file=sys.stderr)
        return 1
    print(f"{printable(args.id)} is no longer on hold")
    return 0


def _erase(args: Namespace) -> int:
    trace_id, key = _known(args), reading.chain_key(settings.load(args.config).general)
    if trace_id is None:
        return _no_such(args)
    if key is None:
        print("the secret of these traces is not at hand, so that the erasing cannot be signed", file=sys.stderr)
        return 1
    if trace_id in keeping.holds(_folder(args)):
        print(f"{trace_id} is on hold; release it first", file=sys.stderr)
        return 1
    done = keeping.erase(_folder(args), trace_id, key)
    print(f"the captured texts of {trace_id} are erased" if done else f"no texts of {trace_id} are kept")
    return 0


def _folder(args: Namespace) -> Path:
    return args.folder or Path(settings.load(args.config).general.traces)


def _known(args: Namespace) -> str | None:
    story = read.find(_folder(args), args.id)
    return str(story["trace_id"]) if story is not None else None


def _no_such(args: Namespace) -> int:
    print(f"no trace in {printable(_folder(args))} has the id {printable(args.id)}", file=sys.stderr)
    return 1
