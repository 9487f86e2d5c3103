"""Where sums and holds are kept, as an operator writes it: `general_settings.ledger`.

Knows: its keys, what each kind of ledger needs, and when sums that end with the process are not good enough.
Does not know: how a ledger works (`stores/`), or what is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, structs

from elbowroom.budget.limits import Account
from elbowroom.errors import InvalidConfig
from elbowroom.read.policy import Config

Fault = Callable[[str, str], InvalidConfig]  # (path, what is wrong) -> the error that names file and line
Resolve = Callable[[str, str | None], str | None]  # (path, word) -> the word, or what the environment has for it

AT = "general_settings.ledger"
PREFIX = "ledger_"
LEDGERS = frozenset(
    one.stem.removeprefix(PREFIX) for one in (Path(__file__).parent / "stores").glob(f"{PREFIX}[a-z]*.py")
)
SCHEMES = ("redis://", "rediss://", "unix://")


class Ledger(Config, frozen=True):
    """`general_settings.ledger`. Times in seconds."""

    store: str = "memory"  # a file `stores/ledger_<store>.py`
    url: str | None = None  # of a Redis of its own, which evicts nothing
    cluster: bool = False  # that Redis is a cluster
    timeout: Annotated[float, Meta(gt=0, le=60)] = 0.25  # for one answer
    on_failure: Literal["deny", "allow"] = "deny"  # what happens to requests while nobody can say what is left
    budget_status: Literal[429, 402] = 429  # of a request for which there is not enough left in a period
    volatile: bool = False  # it is meant that sums of days and months end with the process
    # Who does not renew a hold for so long is taken for dead, and charged in full: at the next look for such holds.
    hold: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    sweep: Annotated[float, Meta(gt=0, le=3600)] = 10.0


def read(row: Ledger, fault: Fault, resolve: Resolve) -> Ledger:
    """The entry, ready to use. Raises where what it needs is missing."""
    if row.store not in LEDGERS:
        raise fault(f"{AT}.store", f"there is no ledger {row.store}; there are {', '.join(sorted(LEDGERS))}")
    url = resolve(f"{AT}.url", row.url)
    if row.store == "redis":
        if url is None or not url.startswith(SCHEMES):
            raise fault(f"{AT}.url", "must begin with redis://, rediss:// or unix://")
    elif url is not None or row.cluster:
        raise fault(AT, f"a ledger in {row.store} has no url and no cluster")
    return structs.replace(row, url=url)


def check(row: Ledger, accounts: Iterable[Account], fault: Fault) -> None:
    """Raises where the process would forget limits of a day or a month with its end, and nobody said that it may."""
    if row.store != "memory" or row.volatile:
        return
    for account in accounts:
        for entity in account.entities:
            limits = entity.limits
            if limits.period != "1h" and (limits.tokens is not None or limits.micro_usd is not None):
                raise fault(
                    AT,
                    f"{entity.name} has a limit for {limits.period}, which a ledger in memory forgets when the process "
                    "ends: use store: redis, or say volatile: true",
                )


def check_workers(row: Ledger, accounts: Iterable[Account], workers: int) -> None:
    """Raises where each of several processes would keep sums of its own, so that each would let everything through."""
    if workers == 1 or row.store != "memory":
        return
    for account in accounts:
        if account.limited:
            raise InvalidConfig(
                f"{AT}: {account.entities[-1].name} is limited, and each of {workers} workers with a ledger in memory "
                "would let all of that through: use store: redis, or one worker"
            )


def check_running(row: Ledger, *, together: bool, accounts: Iterable[Account]) -> None:
    """The same of limits that are written while the service runs. Raises `InvalidConfig`, so that whoever has them is
    not let in rather than not limited. `together`: other processes serve beside this one.
    """
    if row.store != "memory":
        return
    accounts = tuple(accounts)
    check(row, accounts, lambda at, what: InvalidConfig(f"{at}: {what}"))
    check_workers(row, accounts, 2 if together else 1)
