"""The command line: which commands there are, and what holds for all of them.

Knows: the names of the commands, and the exit status of what goes wrong before a command has begun its work.
Does not know: what any command does; each is a file in `cli/`, imported only when it is called.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module

from elbowroom.errors import InvalidConfig

COMMANDS = {
    "serve": "run the proxy",
    "pack": "decide about requests offline, and print what would be sent",
    "count": "say what requests will be billed for, offline",
    "counts": "say how far counts were from bills",
    "models": "list the models: windows, how they are counted, what they cost",
    "check": "validate a configuration and say what it means",
    "keys": "make, list, block and rotate keys",
    "budgets": "say what is left and why a key is refused; restore sums from the traces",
    "traces": "list, show, export, index and prove the traces",
    "eval": "measure how much of the expected evidence a policy admits",
    "sweep": "measure it for several numbers of candidates and budgets, and mark the elbow",
    "replay": "decide about traced requests or cases again, and show what another policy changes",
    "classify": "say which class routing makes of each question",
    "dedupe": "say which pairs of texts are copies, and which disagree",
    "shadow": "compare requests in shadow with what was proposed for them",
    "kill": "turn the kill switch, or say how it stands",
    "demo": "send sample requests through a proxy of its own, and show what happens to them",
    "demo-day": "send a day of traffic through a proxy of its own, and leave its traces to be looked at",
}


def main(argv: Sequence[str] | None = None) -> int:
    """0: done. 1: the command's own no, such as a refused request. 2: it could not be called like this."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = ArgumentParser(prog="elbowroom", description="Packs evidence into prompts, and says why.")
    parser.add_argument("--version", action="store_true", help="say which version this is")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, says in COMMANDS.items():
        command = commands.add_parser(name, help=says, description=says[:1].upper() + says[1:] + ".")
        if name in words[:1]:
            module = import_module(f"elbowroom_proxy.cli.{name.replace('-', '_')}")
            module.arguments(command)
            command.set_defaults(run=module.run)
    args = parser.parse_args(words)
    if args.version:
        # Only now, since it takes as long as all else that is imported here.
        print("elbowroom", import_module("importlib.metadata").version("elbowroom"))  # noqa: T201
        return 0
    if args.run is None:
        parser.print_help()
        return 2
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except InvalidConfig as error:
        print(error.message, file=sys.stderr)  # noqa: T201
        return 1
    except BrokenPipeError:
        # Whoever read the output has seen enough. Python must not try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
