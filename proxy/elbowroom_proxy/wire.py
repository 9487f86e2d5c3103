"""The head of what is exchanged: errors in OpenAI's shape, and which headers may pass in either direction.

Knows: the error body, its type by status and what a client is told about trying again; what may go up, what may come
down, and the headers that are ours.
Does not know: ASGI, sockets, what is inside a body, or who asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from elbowroom.errors import ElbowroomError
from elbowroom.records import Decision, Refused

RETRY_AFTER_MAX: Final = 60.0
"""Seconds: some SDKs sleep as long as they are told."""

BUSY: Final = frozenset({503, 529})
"""Statuses by which an upstream says that it has not begun."""

STREAM_HEADERS: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}

_TYPES = {401: "authentication_error", 402: "insufficient_quota", 403: "permission_error", 429: "rate_limit_error"}
# Seconds.
_RETRY_AFTER = dict.fromkeys(
    ("overloaded", "count_unavailable", "rerank_unavailable", "ledger_unavailable", "keys_unavailable"), "1"
)
_NEVER_AGAIN = frozenset({"insufficient_quota", "internal_error", "invalid_config", "invented_citation"})

_UP = ("accept", "openai-beta", "traceparent", "tracestate", "x-client-request-id")
# Hop-by-hop; what the server that answers writes itself; what speaks of the operator's account or host.
_NOT_DOWN = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "trailers", "transfer-encoding", "upgrade",
    "content-length", "date", "server", "x-request-id",
    "alt-svc", "openai-organization", "openai-project", "set-cookie", "strict-transport-security",
})  # fmt: skip


class ErrorResponse(msgspec.Struct, frozen=True):
    """An error as it goes out: status, headers in lower case, JSON body."""

    status: int
    headers: dict[str, str]
    body: bytes


def error_body(status: int, code: str, message: str, param: str | None = None) -> bytes:
    """`{"error": {"message", "type", "param", "code"}}`, the type by status. Lone surrogates become `?`."""
    kind = "insufficient_quota" if code == "insufficient_quota" else _TYPES.get(status, "invalid_request_error")
    fields = {
        "message": _writable(message),
        "type": kind if status < 500 else "server_error",
        "param": None if param is None else _writable(param),
        "code": code,
    }
    return msgspec.json.encode({"error": fields})


def problem(status: int, code: str, message: str, param: str | None = None) -> ErrorResponse:
    """The response for an error that no exception stands for, such as a path that is not there."""
    headers = {"content-type": "application/json"}
    if code in _RETRY_AFTER:
        headers["retry-after"] = _RETRY_AFTER[code]
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if code in _NEVER_AGAIN:
        headers["x-should-retry"] = "false"
    return ErrorResponse(status, headers, error_body(status, code, message, param))


def error_response(error: ElbowroomError | Refused | Exception) -> ErrorResponse:
    """The response for any error. One that nobody foresaw is a 500 that says nothing about itself."""
    if isinstance(error, ElbowroomError | Refused):
        return problem(error.status_hint, error.code, error.message, error.param)
    return problem(500, "internal_error", "The proxy failed while it was handling this request.")


def upstream_headers(client: Mapping[str, str]) -> dict[str, str]:
    """What of the client's headers (names in lower case) goes to an upstream: an allow-list, so no credential can."""
    headers = {name: client[name] for name in _UP if name in client}
    headers["content-type"] = "application/json"
    return headers


def client_headers(
    upstream: Mapping[str, str], *, decoded: bool, ours: Mapping[str, str], limited: bool = False
) -> dict[str, str]:
    """The upstream's headers (names in lower case) as the client gets them, with `ours` over them.

    `decoded`: the body was decompressed on its way, so `content-encoding` is no longer true. Times to wait are limited
    to `RETRY_AFTER_MAX`. Who is `limited` here, if only in money, is told nothing of the upstream's own limits.
    """
    named = {name.strip().lower() for name in upstream.get("connection", "").split(",")}
    left_out = ("x-elbowroom-", "x-ratelimit-") if limited else ("x-elbowroom-",)
    headers = {
        name: value
        for name, value in upstream.items()
        if name not in _NOT_DOWN and name not in named and not name.startswith(left_out)
    }
    if decoded:
        headers.pop("content-encoding", None)
    for name, unit in (("retry-after", 1.0), ("retry-after-ms", 1000.0)):
        if name in headers:
            headers.pop(name)
            if (wait := _limited(upstream[name], RETRY_AFTER_MAX * unit, upstream.get("date"))) is not None:
                headers[name] = wait
    return {**headers, **ours}


def decision_headers(trace_id: str, request_id: str, decision: Decision | None) -> dict[str, str]:
    """The headers that are ours. What was not decided, or not counted yet, has none."""
    headers = {"x-request-id": request_id, "x-elbowroom-trace-id": trace_id}
    if decision is None:
        return headers
    admitted = sum(fate.decision == "admitted" for fate in decision.documents)
    headers |= {
        "x-elbowroom-mode": decision.mode.value,
        "x-elbowroom-class": decision.query_class.name,
        "x-elbowroom-evidence-tokens": str(decision.evidence_tokens),
        "x-elbowroom-admitted": str(admitted),
        "x-elbowroom-dropped": str(len(decision.documents) - admitted),
    }
    if decision.label_incomplete:
        headers["x-elbowroom-label-incomplete"] = str(decision.label_incomplete)
    if decision.evidence_sufficient is not None:
        headers["x-elbowroom-evidence-sufficient"] = str(decision.evidence_sufficient).lower()
    if decision.counted is not None:
        headers["x-elbowroom-prompt-tokens"] = str(decision.counted.tokens)
        headers["x-elbowroom-count-basis"] = decision.counted.basis.value
    return headers


def _writable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _limited(value: str, most: float, date: str | None) -> str | None:
    """A time to wait, at most `most`; a moment is measured from the upstream's own clock. None: not understood."""
    try:
        wait = float(value)
    except ValueError:
        until, now = _moment(value), _moment(date or "")
        if until is None:
            return None
        wait = most if now is None else max(0.0, (until - now).total_seconds())
        return f"{min(wait, most):g}"
    if math.isnan(wait) or wait < 0:
        return None
    return value if wait <= most else f"{most:g}"


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
