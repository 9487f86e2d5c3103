"""What is said to a ledger, and what it says.

Knows: a hold, what a request came to in the end, a limit with its state, and the ledger's answers. Integers only.
Does not know: how much to hold (`worst`), what anything costs (`cost`), or where sums are kept.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from elbowroom.budget.limits import Account

Name = Literal["rpm_limit", "tpm_limit", "max_parallel_requests", "max_tokens", "max_budget"]


class Amounts(Struct, frozen=True):
    """What a request takes, or took, from each level."""

    tokens: int = 0
    micro_usd: int = 0
    rate_tokens: int = 0  # what counts against `tpm`: the packed prompt and the room for its answer


class Hold(Struct, frozen=True):
    """Room that one request asks for before it is sent."""

    id: str  # the request's; a hold, a settlement and a release are known again by it
    account: Account
    amounts: Amounts
    requests: Literal[0, 1] = 1  # against `rpm` and `parallel`; 0: a call beside the answer of a request that counts


class Standing(Struct, frozen=True):
    """One limit of one level, and where it stands."""

    entity: str
    kind: Literal["org", "team", "key"]
    limit: Name
    most: int
    spent: int
    held: int
    asked: int  # by this hold
    reset: float  # seconds since 1970: when all of it (a period), or enough for this hold (a rate), is there again


class Granted(Struct, frozen=True):
    """The hold stands, at every level."""

    standing: tuple[Standing, ...]  # every limit there is, this hold included


class Denied(Struct, frozen=True):
    """Nothing was held at any level."""

    refused: tuple[Standing, ...]  # every limit that refused
    standing: tuple[Standing, ...]  # every limit there is


Held = Granted | Denied


class Settled(Struct, frozen=True):
    """What a settlement found."""

    state: Literal["settled", "again", "late", "unknown", "too_old"]
    # again: it had been settled. late: its hold had been swept and charged, and that charge is replaced. unknown: there
    # was no such hold, and it is charged now. too_old: its hold is so long gone that nobody could tell; not charged.
    overrun: Amounts = Amounts()  # by how much it came to more than was held


class Swept(Struct, frozen=True):
    """A hold whose holder was not heard of until its deadline: charged in full, until somebody settles it."""

    id: str
    amounts: Amounts
