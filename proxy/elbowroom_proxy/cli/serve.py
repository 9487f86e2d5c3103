"""`elbowroom serve`: the proxy, until it is told to stop.

Knows: its options.
Does not know: what a service is made of (`app` does), or how it is run (`serving`).
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from elbowroom_proxy import serving

MOST_WORKERS = 64


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="elbowroom.yaml; without it the built-in one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--open", action="store_true", help="serve without keys even where other machines can reach the address"
    )
    parser.add_argument("--workers", type=_workers, default=1, metavar="N", help="processes (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8080, help="default: %(default)s; 0 takes a free one")


def run(args: Namespace) -> int:
    """Returns once the service has ended, all of it written."""
    serving.serve(args.config, args.host, args.port, everybody=args.open, workers=args.workers)
    return 0


def _port(word: str) -> int:
    """Refuses what the system would silently take for another port."""
    if not (word.isdecimal() and int(word) <= 65535):
        raise ArgumentTypeError("must be a port, 0 to 65535")
    return int(word)


def _workers(word: str) -> int:
    if not (word.isdecimal() and 1 <= int(word) <= MOST_WORKERS):
        raise ArgumentTypeError(f"must be a number of processes, 1 to {MOST_WORKERS}")
    return int(word)
