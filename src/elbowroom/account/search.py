"""What can be asked of the records that are kept, and what comes back.

Knows: the filters, who may see what (`Scope`), and the answers: a page of rows, one record, an overview.
Does not know: where records are kept or how they are found, HTTP, the clock, or how any of it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from elbowroom.account.row import KINDS, REQUEST, Row, milliseconds, storable
from elbowroom.budget.limits import Limits
from elbowroom.errors import InvalidRequest
from elbowroom.records import Drop, Mode


class Scope(Struct, frozen=True):
    """Whose records a reader may see. Both hold; None: anybody's, those of nobody included."""

    tenant: str | None = None
    org: str | None = None


class Filters(Struct, frozen=True, kw_only=True):
    """What is sought; every filter that is given must hold."""

    id: str | None = None  # a trace id, x-request-id or x-client-request-id, whole
    tenant: str | None = None
    org: str | None = None
    team: str | None = None
    subject: str | None = None
    query_class: str | None = None
    mode: str | None = None
    model: str | None = None
    policy: str | None = None  # its id or digest; of the digest the first characters suffice
    conversation: str | None = None
    reason: str | None = None  # at least one document was dropped for it
    invented: bool | None = None  # the answer cites what nobody gave out
    tainted: bool | None = None  # the answer has a call that only documents and tools' results ask for
    over_budget: bool | None = None  # a budget refused it, or it came to more than was held
    status: int | None = None  # 400 is 400; 4 is all of 400-499
    code: str | None = None  # of the error
    since: int | None = None  # milliseconds since 1970, included
    until: int | None = None  # not included
    kind: str = REQUEST  # or "read": who read what; or "shadow": what a request would have become


class Indexed(Struct, frozen=True):
    """How far what was found reaches."""

    until: str | None = None  # the time of the latest record that is indexed, as the record says it
    records: int = 0  # all that are indexed
    behind: int = 0  # bytes on disk that are not indexed yet
    lag: float = 0.0  # seconds since nothing was behind; 0.0 where nothing is
    unread: int = 0  # lines that are no record: damaged, or of a version that is not known
    folders: tuple[str, ...] = ()


class Page(Struct, frozen=True):
    """Rows, the newest first."""

    rows: tuple[Row, ...]
    after: str | None  # to ask for the next page with; None: this is the last
    indexed: Indexed


class Shown(Struct, frozen=True):
    """One record, whole."""

    row: Row
    record: Mapping[str, Any]  # in the newest version, whichever it was written in
    indexed: Indexed


class Named(Struct, frozen=True):
    """How often something was."""

    name: str
    n: int


class Bucket(Struct, frozen=True):
    """How many values lie from `low` (included) to `high` (not included). None: that end is open."""

    low: float | None
    high: float | None
    n: int


class Spread(Struct, frozen=True):
    """Many values in few numbers; all 0 where `n` is."""

    n: int = 0
    least: float = 0.0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    most: float = 0.0
    buckets: tuple[Bucket, ...] = ()


class Spent(Struct, frozen=True):
    """What the requests of one organisation took in the range, beside what it may take in a period."""

    org: str | None  # None: nobody's
    requests: int
    prompt_tokens: int
    completion_tokens: int
    micro_usd: int
    limits: Limits | None = None  # None: not limited, or not known here


class Hour(Struct, frozen=True):
    """One hour that had requests."""

    at: int  # its beginning, milliseconds since 1970, UTC
    requests: int
    failed: int  # status 400 and above


class Overview(Struct, frozen=True):
    """All requests of a range in one page; of very many the latest."""

    requests: int
    left_off: int  # earlier ones of the range, that are in none of the numbers below
    failed: int  # status 400 and above
    over_budget: int
    disconnected: int
    admitted: int  # documents
    documents: int
    orgs: tuple[Spent, ...]  # the most expensive first
    reasons: tuple[Named, ...]  # dropped documents by reason, the most frequent first; likewise the next
    classes: tuple[Named, ...]
    modes: tuple[Named, ...]
    models: tuple[Named, ...]
    codes: tuple[Named, ...]  # errors
    count_error: Spread  # tokens, billed minus counted
    overhead_ms: Spread  # from the request to its sending
    verified: int  # labels in answers
    invented: int
    uncited: int
    with_invented: int  # answers that cite what nobody gave out
    hours: tuple[Hour, ...]
    indexed: Indexed


_TEXTS = {
    "id": "id",
    "tenant": "tenant",
    "org": "org",
    "team": "team",
    "subject": "subject",
    "class": "query_class",
    "model": "model",
    "policy": "policy",
    "conversation": "conversation",
    "code": "code",
}
_ONE_OF = {"mode": tuple(Mode), "reason": tuple(Drop), "kind": KINDS}
_TIMES = ("since", "until")
_YES_OR_NO = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no"), False),
}
NAMES = (*_TEXTS, *_ONE_OF, "invented", "tainted", "over_budget", "status", *_TIMES)
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def read_filters(words: Mapping[str, str], now: int) -> Filters:
    """What a query string, a form or a command line says; an empty word is none. `now`: milliseconds since 1970.

    Raises `InvalidRequest` for a name that is none, and for a value that cannot be.
    """
    found: dict[str, Any] = {}
    for name, written in words.items():
        word = written.strip()
        if name not in NAMES:
            raise InvalidRequest(f"There is no filter {name}; there are {', '.join(NAMES)}.", param=name)
        if not word:
            continue
        if name in _TEXTS:
            found[_TEXTS[name]] = storable(word)
        elif name in _ONE_OF:
            found[name] = _one_of(name, word, _ONE_OF[name])
        elif name == "status":
            found[name] = _status(word)
        elif name in _TIMES:
            found[name] = _time(name, word, now)
        else:
            found[name] = _YES_OR_NO[_one_of(name, word.lower(), tuple(_YES_OR_NO))]
    return Filters(**found)


def _one_of(name: str, word: str, known: tuple[str, ...]) -> str:
    if word not in known:
        raise InvalidRequest(f"{name} is one of {', '.join(known)}.", param=name)
    return str(word)


def _status(word: str) -> int:
    if not re.fullmatch(r"[1-5](\d\d|xx)?", word, re.ASCII):
        raise InvalidRequest("status is a number such as 429, or 4xx.", param="status")
    return int(word.removesuffix("xx"))


def _time(name: str, word: str, now: int) -> int:
    """`2h` is two hours ago; anything else is a date or a time as ISO 8601 has them, in UTC where it says no zone."""
    if ago := re.fullmatch(r"(\d{1,6})([smhdw])", word, re.ASCII):
        return now - int(ago[1]) * _UNITS[ago[2]]
    try:
        datetime.fromisoformat(word)
    except ValueError:
        raise InvalidRequest(
            f"{name} is a time such as 2026-03-01T10:00:00Z, a date, or how long ago: 15m, 2h, 7d.", param=name
        ) from None
    return milliseconds(word)
