"""What can be asked of the records that are kept, and what comes back.

Knows: the filters, who may see what (`Scope`), and the answers: a page of rows, one record, an overview.
Does not know: where records are kept or how they are found, HTTP, the clock, or how any of it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from elbowroom.account.row import Row
from elbowroom.budget.limits import Limits


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
    over_budget: bool | None = None  # a budget refused it, or it came to more than was held
    status: int | None = None  # 400 is 400; 4 is all of 400-499
    code: str | None = None  # of the error
    since: int | None = None  # milliseconds since 1970, included
    until: int | None = None  # not included
    kind: str = "request"  # or "read": who read what


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
    """How many values lie from `low` (included) to `high` (not included)."""

    low: float
    high: float
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
    """All requests of a range in one page."""

    requests: int
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
