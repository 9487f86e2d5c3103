"""`elbowroom budgets`: what is left, why a key is refused, and sums restored from the records.

Knows: the commands and their options.
Does not know: where sums are read (`till`), what is shown of them (`standing`, `outlook`), or how they are restored
(`restore`).
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace

import msgspec

from elbowroom.errors import ElbowroomError, InvalidConfig
from elbowroom_proxy import settings
from elbowroom_proxy.cli import outlook, reading, restore, standing, till

LONGEST = 10**9  # tokens of a prompt


def arguments(parser: ArgumentParser) -> None:
    """Adds the commands and their options."""
    commands = parser.add_subparsers(required=True, metavar="show | explain | rebuild")
    show = commands.add_parser("show", help="what every organisation, team and key has spent and has left")
    show.add_argument("--org", metavar="NAME", help="only that organisation")
    show.add_argument("--json", action="store_true", help="as GET /admin/budgets answers")
    show.set_defaults(do=_show)
    explain = commands.add_parser("explain", help="what limits a key, and what its next request would meet")
    explain.add_argument(
        "key", metavar="KEY", help="its name, or sk-eb- and six characters, never all of it; or ORG/TEAM, for tokens"
    )
    explain.add_argument("--model", metavar="NAME", help="only for that model")
    explain.add_argument(
        "--prompt", type=_tokens, metavar="TOKENS", help="of the next request; without it the smallest there is"
    )
    explain.set_defaults(do=_explain)
    for command in (show, explain):
        till.arguments(command)
    rebuild = commands.add_parser("rebuild", help="restore what the present periods have spent from the traces")
    rebuild.add_argument("--org", metavar="NAME", help="only that organisation")
    rebuild.add_argument("--lower", action="store_true", help="also where the traces say less than the ledger")
    rebuild.add_argument("--dry-run", action="store_true", help="say what would be changed, and change nothing")
    reading.arguments(rebuild)
    rebuild.set_defaults(do=_rebuild)


def run(args: Namespace) -> int:
    """0: done. 1: the ledger, the proxy or the records cannot be read, or nobody of that name is known."""
    try:
        status: int = args.do(args)
    except (till.Unread, outlook.Unknown) as error:
        print(error, file=sys.stderr)
        return 1
    except InvalidConfig:
        raise
    except (ElbowroomError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return reading.refused(error)
    return status


def _show(args: Namespace) -> int:
    found = till.budgets(settings.load(args.config), args.url, org=args.org)
    if args.json:
        print(msgspec.json.encode(found).decode())
    else:
        print(*standing.told(found), sep="\n")
    return 0


def _explain(args: Namespace) -> int:
    for line in outlook.lines(args, settings.load(args.config)):
        print(line)
    return 0


def _rebuild(args: Namespace) -> int:
    return restore.rebuild(args, settings.load(args.config))


def _tokens(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and int(word[:11]) <= LONGEST):
        raise ArgumentTypeError("must be a number of tokens")
    return int(word)
