"""Where a command reads budgets: in the ledger that the configuration names, or from a proxy that runs.

Knows: that sums in a process's memory can only be asked of that process, by an auditor's or admin's key in the
environment, and that a reading of the ledger is recorded as the proxy records its own.
Does not know: what a ledger keeps, or what is shown of it.
"""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
from msgspec import structs

from elbowroom.budget.view import Budgets
from elbowroom_proxy import ledgerconfig, stores
from elbowroom_proxy.cli import reading
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.ports import Ledger
from elbowroom_proxy.settings import Settings
from elbowroom_proxy.tally import Tally

KEY = "ELBOWROOM_KEY"  # the environment's name for the key that a running proxy is asked with
PATIENCE = 5.0  # seconds: nobody waits for an answer of ours, so it may take longer than a hold's
AT = "/admin/budgets"


class Unread(Exception):
    """The sums cannot be read; the message says why."""


def arguments(parser: ArgumentParser) -> None:
    """Where to look."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="elbowroom.yaml; without it the built-in one")
    parser.add_argument(
        "--url", metavar="URL", help=f"ask the proxy that runs there, with the key in {KEY} where it needs one"
    )


def budgets(configured: Settings, url: str | None, *, org: str | None = None, team: str | None = None) -> Budgets:
    """Of all organisations, or of that one. Raises `Unread`, and `ElbowroomError` for a ledger that does not answer."""
    if url is not None:
        return asked(url, {name: word for name, word in (("org", org), ("team", team)) if word is not None})
    _check(configured)
    with reading.recorded(configured.general) as keep:

        async def read() -> Budgets:
            async with opened(configured) as ledger:
                store = configured.general.ledger.store
                tally = Tally(ledger, lambda: configured.directory, keep, store=store)
                return await tally.budgets(reading.shell(), org=org, team=team)

        return asyncio.run(read())


@asynccontextmanager
async def opened(configured: Settings) -> AsyncIterator[Ledger]:
    """The ledger itself. Raises `Unread` where it is another process's."""
    _check(configured)
    row: ledgerconfig.Ledger = configured.general.ledger
    ledger = stores.load_ledger(row.store)(structs.replace(row, timeout=max(PATIENCE, row.timeout)))
    try:
        await ledger.start()
        yield ledger
    finally:
        await ledger.close()


def asked(url: str, words: Mapping[str, str]) -> Budgets:
    """What the proxy says. Raises `Unread`."""
    key = os.environ.get(KEY)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        answer = httpx.get(f"{url.rstrip('/')}{AT}", params=dict(words), headers=headers, timeout=2 * PATIENCE)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError) as error:
        # What a key looks like that cannot be sent is nobody's business.
        why = f"{KEY} is no key" if isinstance(error, UnicodeEncodeError) else str(error)
        raise Unread(f"{printable(url)} cannot be asked: {printable(why)}") from None
    try:
        if answer.status_code != httpx.codes.OK:
            said: Any = answer.json()
            raise Unread(f"{printable(url)} refuses: {printable(said['error']['message'])}")
        return msgspec.json.decode(answer.content, type=Budgets)
    except (ValueError, KeyError, TypeError, msgspec.DecodeError):
        raise Unread(f"{printable(url)} answers, but is no elbowroom that tells of budgets") from None


def _check(configured: Settings) -> None:
    if configured.general.ledger.store == "memory":
        raise Unread(
            "This ledger is in the memory of the proxy that serves, and ends with it: `show` and `explain` ask that "
            f"proxy with --url http://127.0.0.1:8080, and with the key of an admin or auditor in {KEY} where it needs "
            "one; there is nothing that `rebuild` could write to."
        )
