"""`elbowroom kill on | off | status`: the kill switch, turned where the configuration keeps it, with no proxy asked.

Knows: the switch's file and Redis key, and that one which took the word suffices.
Does not know: any running proxy, or what being killed means; proxies look by themselves.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from elbowroom_proxy import settings
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.killword import LONGEST_REASON, Word
from elbowroom_proxy.ports import KillSwitch
from elbowroom_proxy.stores.killfile import KillFile
from elbowroom_proxy.stores.killkey import KillKey


def arguments(parser: ArgumentParser) -> None:
    """Adds the words and the options."""
    parser.add_argument("turn", choices=("on", "off", "status"), help="on: every request is served with the baseline")
    parser.add_argument("--reason", default="", metavar="WORDS", help="kept beside it, and logged by every proxy")
    parser.add_argument("--config", type=Path, metavar="FILE", help="elbowroom.yaml; without it the built-in one")


def run(args: Namespace) -> int:
    """0: done. 1: no source took it, or none could be read."""
    general = settings.load(args.config).general
    switches: dict[str, KillSwitch] = {"file": KillFile(Path(general.kill_file))}
    if general.redis_url:
        switches["redis"] = KillKey(general.redis_url)
    if general.killed:
        print("config  on")
    if args.turn == "status":
        return asyncio.run(_status(switches))
    return asyncio.run(_turn(switches, Word(args.turn == "on", args.reason[:LONGEST_REASON])))


async def _turn(switches: Mapping[str, KillSwitch], word: Word) -> int:
    took = 0
    for name, switch in switches.items():
        fault = await switch.write(word)
        took += not fault
        print(
            f"{name:<7} {printable(fault) if fault else 'on' if word.on else 'off'}",
            file=sys.stderr if fault else sys.stdout,
        )
        await switch.close()
    return 0 if took else 1


async def _status(switches: Mapping[str, KillSwitch]) -> int:
    said = 0
    for name, switch in switches.items():
        word = await switch.read()
        said += word is not None
        told = "says nothing" if word is None else f"on  {word.reason}".rstrip() if word.on else "off"
        print(f"{name:<7} {printable(told)}")
        await switch.close()
    return 0 if said else 1
