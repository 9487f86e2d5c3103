"""The ways a request cannot be answered: one flat list.

Knows: for each error its wire `code`, a `status_hint` for whoever speaks HTTP, a message that a person can act on, and
the `param` it is about.
Does not know: HTTP, JSON, or who asked. A dropped passage is not an error; it is data with a reason (`records.Drop`).
"""

from __future__ import annotations

from typing import ClassVar


class ElbowroomError(Exception):
    """A request that cannot be answered. `param` names the field at fault, never its value; None if there is none."""

    code: ClassVar[str] = "invalid_request"
    status_hint: ClassVar[int] = 400

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


class InvalidRequest(ElbowroomError):
    """Not JSON, a wrong type, a field that cannot be."""


class InvalidDocument(ElbowroomError):
    """A tagged document that cannot be read; `param` is `documents[i].field`."""

    code = "invalid_document"


class NoUserMessage(ElbowroomError):
    """Documents were tagged, and there is no user message to stand in front of."""

    code = "no_user_message"


class ContextLengthExceeded(ElbowroomError):
    """What may not be cut is longer than the model's window."""

    code = "context_length_exceeded"


class InvalidConfig(ElbowroomError):
    """A configuration file that cannot be used. The message begins with `file:line:`."""

    code = "invalid_config"
    status_hint = 500


class ModelNotFound(ElbowroomError):
    code = "model_not_found"
    status_hint = 404


class ClassNotAllowed(ElbowroomError):
    code = "class_not_allowed"
    status_hint = 403


class InvalidApiKey(ElbowroomError):
    """Nobody has that key, it is blocked, or the token does not hold. Which of these is not said."""

    code = "invalid_api_key"
    status_hint = 401


class KeysUnavailable(ElbowroomError):
    """Whether a token holds cannot be said: its issuer's keys are not there."""

    code = "keys_unavailable"
    status_hint = 503


class ModelNotAllowed(ElbowroomError):
    code = "model_not_allowed"
    status_hint = 403


class RoleNotAllowed(ElbowroomError):
    """The key holds, and its role may not do that."""

    code = "role_not_allowed"
    status_hint = 403


class OriginNotAllowed(ElbowroomError):
    """Without keys, only this machine's own pages and commands may read: the request comes from elsewhere."""

    code = "origin_not_allowed"
    status_hint = 403


class TraceNotFound(ElbowroomError):
    """There is no such record, or it is none of the reader's. Which of these is not said."""

    code = "trace_not_found"
    status_hint = 404


class LabelNotAccepted(ElbowroomError):
    """A document that the principal may see must not go to the model that was asked for."""

    code = "label_not_accepted"
    status_hint = 403


class RequestTooLarge(ElbowroomError):
    code = "request_too_large"
    status_hint = 413


class CountUnavailable(ElbowroomError):
    """The tokens of a tagged request cannot be counted; never a guess, never 0."""

    code = "count_unavailable"
    status_hint = 503


class RerankUnavailable(ElbowroomError):
    """The reranker gave no order, and the policy does not go on without."""

    code = "rerank_unavailable"
    status_hint = 503


class RedactionUnavailable(ElbowroomError):
    """A message could not be searched for what must not leave, and the policy wants it searched."""

    code = "redaction_unavailable"
    status_hint = 503


class InsufficientEvidence(ElbowroomError):
    """What was admitted is less than the question's class needs, and its policy refuses rather than guesses."""

    code = "insufficient_evidence"
    status_hint = 422


class InventedCitation(ElbowroomError):
    """The answer cites a label that nobody gave out, and the policy has that for an error."""

    code = "invented_citation"
    status_hint = 502


class InsufficientQuota(ElbowroomError):
    """What may be spent in a period is spent or held."""

    code = "insufficient_quota"
    status_hint = 429


class PaymentRequired(ElbowroomError):
    """The same, where the operator wants the status that no client tries again."""

    code = "insufficient_quota"
    status_hint = 402


class RateLimitExceeded(ElbowroomError):
    """More than may be asked in a minute, or at once."""

    code = "rate_limit_exceeded"
    status_hint = 429


class LedgerUnavailable(ElbowroomError):
    """Whether there is room in the budgets cannot be said, and the policy does not go on without."""

    code = "ledger_unavailable"
    status_hint = 503


class TraceUnavailable(ElbowroomError):
    """What must be recorded cannot be, or records cannot be read at the moment."""

    code = "trace_unavailable"
    status_hint = 503


class Overloaded(ElbowroomError):
    code = "overloaded"
    status_hint = 503


class UpstreamUnavailable(ElbowroomError):
    code = "upstream_unavailable"
    status_hint = 502


class UpstreamUnreached(ElbowroomError):
    """The same, and no model was reached, so nothing can have been generated."""

    code = "upstream_unavailable"
    status_hint = 502


class UpstreamTimeout(ElbowroomError):
    code = "upstream_timeout"
    status_hint = 504
