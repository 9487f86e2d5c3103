"""A record as one line of a list: what a reviewer searches by and sees before opening it.

Knows: which fields of a record make the line, for every version of the record, and that a field may be missing.
Does not know: files, indexes, or any text of a request: a record has none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from elbowroom.errors import InsufficientQuota

REQUEST = "request"
READ = "read"
SHADOW = "shadow"
KINDS = (REQUEST, READ, SHADOW)
MOST = 10**15  # what is larger is nobody's tokens, and would overflow a sum


class Row(Struct, frozen=True, kw_only=True):
    """One request; one reading of records (`kind` read); or what a request would have become (shadow). Tokens, ms,
    micro-USD.
    """

    kind: str = REQUEST  # or another of `KINDS`
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
    tainted: int = 0  # calls in the answer that only documents and tools' results ask for
    over_budget: bool = False  # a budget refused it, or it came to more than was held
    evidence_tokens: int | None = None
    counted: int | None = None
    basis: str | None = None  # of the count
    billed: int | None = None
    completion: int | None = None  # tokens of the answer, billed
    count_error: int | None = None  # billed minus counted
    micro_usd: int | None = None  # what it came to, the calls beside it included; None: nothing was held
    overhead_ms: float | None = None
    total_ms: float | None = None
    read: str | None = None  # of a reading: what was sought, in words, and how much there was


class _Principal(Struct, frozen=True):
    org: str | None = None
    team: str | None = None


class _Policy(Struct, frozen=True):
    id: str | None = None
    version: str | None = None
    digest: str | None = None


class _Error(Struct, frozen=True):
    code: str | None = None


class _Document(Struct, frozen=True):
    decision: str
    reason: str | None = None


class _Counted(Struct, frozen=True):
    tokens: int
    basis: str | None = None


class _Billed(Struct, frozen=True):
    prompt_tokens: int
    completion_tokens: int = 0


class _Cited(Struct, frozen=True):
    verified: list[str] = []
    invented: list[str] = []
    uncited: list[str] = []


class _Amounts(Struct, frozen=True):
    tokens: int = 0
    micro_usd: int = 0


class _Settlement(Struct, frozen=True):
    amounts: _Amounts = _Amounts()
    overrun: _Amounts = _Amounts()


class _Aside(Struct, frozen=True):
    micro_usd: int | None = None
    cached: bool = False


class _Read(Struct, frozen=True):
    action: str
    found: int = 0
    filters: dict[str, Any] = {}
    id: str | None = None


class _Record(Struct, frozen=True):
    """The part of a record that makes its row. The rest is skipped without being built."""

    trace_id: str = ""
    time: str = ""
    kind: str = REQUEST
    request_id: str | None = None
    client_request_id: str | None = None
    conversation_id: str | None = None
    subject: str | None = None
    tenant: str | None = None
    principal: _Principal | None = None
    model: str | None = None
    query_class: str | None = None
    mode: str | None = None
    policy: _Policy | None = None
    status: int | None = None
    error: _Error | None = None
    finish_reason: str | None = None
    disconnected: bool = False
    documents: list[_Document] = []
    cited: _Cited | None = None
    calls_tainted: int = 0
    evidence_tokens: int | None = None
    counted: _Counted | None = None
    billed: _Billed | None = None
    count_error: int | None = None
    settlement: _Settlement | None = None
    asides: list[_Aside] = []
    read: _Read | None = None
    timings_ms: dict[str, float] = {}


_RECORD = msgspec.json.Decoder(_Record)


class Unread(Exception):
    """The line is no record: damaged, or of a shape that nobody here knows."""


def row(line: bytes) -> Row | None:
    """The row of a record's line; None for lines that keep the chain and tell of no request. Raises `Unread`."""
    try:
        found = _decoded(line)
    except (ValueError, RecursionError) as error:
        raise Unread from error
    if found.kind not in KINDS:
        return None
    if not (found.trace_id and found.time):
        raise Unread
    return _row(found)


def storable(text: str) -> str:
    """The text as UTF-8 can say it: half a surrogate pair, which a client's id may hold, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def milliseconds(time: str) -> int:
    """Since 1970; what says no time zone is UTC. 0 where it is no time."""
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return 0
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def _decoded(line: bytes) -> _Record:
    try:
        return _RECORD.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Valid JSON may say what UTF-8 cannot.
        return _RECORD.decode(json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace"))


def _row(found: _Record) -> Row:
    principal, policy = found.principal or _Principal(), found.policy or _Policy()
    counted, billed, cited = found.counted, found.billed, found.cited
    code = found.error.code if found.error else None
    settled = found.settlement or _Settlement()
    beside = sum(one.micro_usd or 0 for one in found.asides if not one.cached)
    return Row(
        kind=found.kind,
        trace_id=found.trace_id,
        at=milliseconds(found.time),
        time=found.time,
        request_id=found.request_id,
        client_request_id=found.client_request_id,
        conversation_id=found.conversation_id,
        subject=found.subject,
        tenant=found.tenant,
        org=principal.org,
        team=principal.team,
        model=found.model,
        query_class=found.query_class,
        mode=found.mode,
        policy=policy.id,
        policy_version=policy.version,
        policy_digest=policy.digest,
        status=_sane(found.status),
        code=code,
        finish_reason=found.finish_reason,
        disconnected=found.disconnected,
        admitted=sum(one.decision == "admitted" for one in found.documents),
        documents=len(found.documents),
        dropped=dict(Counter(one.reason for one in found.documents if one.reason is not None)),
        cited=cited is not None,
        verified=len(cited.verified) if cited else 0,
        invented=len(cited.invented) if cited else 0,
        uncited=len(cited.uncited) if cited else 0,
        tainted=found.calls_tainted,
        over_budget=code == InsufficientQuota.code or settled.overrun.tokens > 0 or settled.overrun.micro_usd > 0,
        evidence_tokens=_sane(found.evidence_tokens),
        counted=_sane(counted.tokens) if counted else None,
        basis=counted.basis if counted else None,
        billed=_sane(billed.prompt_tokens) if billed else None,
        completion=_sane(billed.completion_tokens) if billed else None,
        count_error=_sane(found.count_error),
        micro_usd=_sane(settled.amounts.micro_usd + beside) if found.settlement or beside else None,
        overhead_ms=found.timings_ms.get("overhead"),
        total_ms=found.timings_ms.get("total"),
        read=_words(found.read) if found.read else None,
    )


def _words(read: _Read) -> str:
    sought = [read.id] if read.id is not None else [f"{name}={value}" for name, value in read.filters.items()]
    return f"{' '.join([read.action, *sought])}: {read.found}"


def _sane(number: int | None) -> int | None:
    return number if number is not None and abs(number) < MOST else None
