"""A record as one line of a list: what a reviewer searches by and sees before opening it.

Knows: which fields of a record make the line, for every version of the record, and that a field may be missing.
Does not know: files, indexes, or any text of a request: a record has none.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Row(Struct, frozen=True, kw_only=True):
    """One request, or (`kind` read) one reading of records. Tokens, ms, micro-USD."""

    kind: str = "request"  # or "read", "intent"
    trace_id: str
    at: int  # milliseconds since 1970, UTC; 0 where the record's time is none
    time: str  # as the record says it
    request_id: str | None = None
    client_request_id: str | None = None
    conversation_id: str | None = None
    subject: str | None = None
    tenant: str | None = None
    org: str | None = None
    team: str | None = None
    model: str | None = None
    query_class: str | None = None
    mode: str | None = None
    policy: str | None = None  # its id
    policy_version: str | None = None
    policy_digest: str | None = None
    status: int | None = None
    code: str | None = None  # of the error
    finish_reason: str | None = None
    disconnected: bool = False
    admitted: int = 0  # documents
    documents: int = 0  # all of them
    dropped: Mapping[str, int] = {}  # by reason
    verified: int = 0  # labels in the answer
    invented: int = 0
    uncited: int = 0
    cited: bool = False  # the answer could cite: passages were admitted, and there was an answer
    over_budget: bool = False  # a budget refused it, or it came to more than was held
    evidence_tokens: int | None = None
    counted: int | None = None
    basis: str | None = None  # of the count
    billed: int | None = None
    completion: int | None = None  # tokens of the answer, billed
    count_error: int | None = None  # billed minus counted
    micro_usd: int | None = None
    overhead_ms: float | None = None
    total_ms: float | None = None
