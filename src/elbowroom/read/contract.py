"""The answer contract: how much of the window is kept for the answer, settled before any evidence.

Knows: the client's maximum, the class's reserve, the allowance for hidden reasoning, and how large the largest instance
of a JSON schema is.
Does not know: what the texts of a plan measure, nor what is sent upstream: the reserve is room, not a cap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from elbowroom.read.policy import Policy, QueryClass
from elbowroom.read.schema import Instance, largest_instance
from elbowroom.records import Model, Request


class ReservePlan(Struct, frozen=True):
    """The reserve before its texts are measured: tokens = constant + sum(T(text) for text in texts)."""

    constant: int  # tokens, for all choices together
    texts: tuple[str, ...]
    client_max: int | None  # tokens a choice, as the client said it; None if it did not
    n: int  # choices
    source: str  # which rule: "client", "schema" or "class"


def reserve(request: Request, query_class: QueryClass, policy: Policy, model: Model) -> ReservePlan:
    """What the answer may need, in tokens.

    The client's own maximum decides where there is one; it bounds all that is generated, so reasoning is inside it, and
    of two maxima the larger counts. Else a JSON schema's largest instance and what a refusal needs, else the class's
    reserve; both with the allowance for the reasoning effort that was asked for. All times `n`. No choice is given more
    than the model can emit.
    """
    params = request.params
    n: int = params.get("n") or 1
    given = [params[name] for name in ("max_completion_tokens", "max_tokens") if params.get(name) is not None]
    if given:
        client_max = max(given)
        return ReservePlan(n * min(client_max, model.max_output_tokens), (), client_max, n, "client")
    reasoning = _reasoning(params, policy)
    schema = _schema(params)
    if schema is None:
        tokens = min(query_class.answer_reserve + reasoning, model.max_output_tokens)
        return ReservePlan(n * tokens, (), None, n, "class")
    instance = largest_instance(schema, policy.answer)
    fixed = reasoning + policy.answer.schema_error_tokens
    if instance is None or fixed + instance.constant >= model.max_output_tokens:
        instance, fixed = Instance("", 0), model.max_output_tokens
    texts = (instance.text,) * n if instance.text else ()
    return ReservePlan(n * (fixed + instance.constant), texts, None, n, "schema")


def _reasoning(params: Mapping[str, Any], policy: Policy) -> int:
    """Tokens for the effort asked for; none asked, none added. An effort that policy does not list gets the largest."""
    effort = params.get("reasoning_effort") or (params.get("reasoning") or {}).get("effort")
    allowances = policy.answer.reasoning
    if effort is None or not allowances:
        return 0
    return allowances.get(effort, max(allowances.values()))


def _schema(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    form = params.get("response_format") or {}
    schema: Mapping[str, Any] | None = form["json_schema"].get("schema") if form.get("type") == "json_schema" else None
    return schema
