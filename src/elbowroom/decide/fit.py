"""The window: the answer's room first, then what must stay, then history, and what is left for evidence.

Knows: the equation, and in which order things yield when they do not fit: evidence, history, the answer, examples.
Does not know: any text, or how anything is counted; only what each part costs, in tokens.
"""

from __future__ import annotations

from msgspec import Struct, structs

from elbowroom.count.counter import Counter
from elbowroom.decide.conversation import Costs, body
from elbowroom.decide.history import evict
from elbowroom.decide.window import overflow_message
from elbowroom.errors import ContextLengthExceeded
from elbowroom.read.contract import ReservePlan
from elbowroom.read.policy import Policy
from elbowroom.records import Basis, Count, Mode, Model, Request, Window


class Reserve(Struct, frozen=True):
    """Room for the answer, in tokens, all choices together."""

    tokens: int
    client_max: int | None  # one choice's maximum as the client named it
    n: int = 1


class Fit(Struct, frozen=True):
    """What yields so that the rest fits, and the window that comes of it."""

    window: Window
    count: Count  # the prompt without evidence, after eviction
    turns_dropped: int = 0  # oldest first
    examples_dropped: int = 0  # last first
    clamped_max: int | None = None  # a lower maximum for one choice, where the client's did not fit
    summary_room: int = 0  # what a summary of the dropped turns may add


def fit(
    costs: Costs,
    reserve: Reserve,
    policy: Policy,
    model: Model,
    *,
    ceiling: int,
    wanted: int,
    follow_up: bool,
    summary: int = 0,
) -> Fit:
    """Makes room. `wanted` is what all evidence would cost, note included (0: nothing is tagged). `summary` is what a
    summary of dropped turns may cost; its room is taken from the turns that stay.

    Raises `ContextLengthExceeded` with the numbers where what may not be cut, and the smallest answer, are longer than
    the model's window. A `bounded` total is an upper bound, so it narrows evidence and never evicts or refuses;
    and where nothing is enforced, nothing but evidence yields.
    """
    enforce = policy.mode is Mode.ENFORCE
    window = model.context_window
    most = model.max_input_tokens or window
    limit = min(policy.input_limit if enforce else window, window, most + reserve.tokens)
    margin = policy.safety_margin + costs.total.margin
    history = sum(costs.turns)
    fixed = costs.total.tokens - history

    room = history
    if enforce and wanted:
        evidence = min(ceiling, wanted)
        if limit - costs.total.tokens - reserve.tokens - margin < evidence:
            cap = min(policy.history.max_tokens, int(policy.history.share * max(0, limit - fixed - reserve.tokens)))
            beside_evidence = limit - fixed - reserve.tokens - margin - evidence
            room = cap if follow_up else min(cap, beside_evidence)

    refusable = enforce and costs.total.basis is not Basis.BOUNDED
    if refusable:
        room = min(room, min(window - reserve.tokens, most) - fixed)
    turns_dropped = evict(costs.turns, max(0, room))
    summary_room = 0
    if turns_dropped and summary:
        turns_dropped = evict(costs.turns, max(0, room - summary))
        summary_room = max(0, min(summary, room - sum(costs.turns[turns_dropped:])))
    kept = fixed + sum(costs.turns[turns_dropped:])

    tokens = reserve.tokens
    examples_dropped = 0
    if refusable:
        smallest = min(tokens, policy.answer.min_output_tokens * reserve.n)
        longest = min(window - smallest, most)
        while kept > longest and examples_dropped < len(costs.examples):
            examples_dropped += 1
            kept -= costs.examples[-examples_dropped]
        if kept > longest:
            message = overflow_message(window=longest + smallest, prompt=kept, reserve=smallest)
            raise ContextLengthExceeded(message, param="messages")
        tokens = min(tokens, window - kept)
    budget = max(0, min(ceiling, limit - kept - tokens - margin))
    clamped = None
    if reserve.client_max is not None:
        # A maximum above the model's own reserves no more room than that, but upstreams hold it against the window.
        beside = window - kept - summary_room - (budget if wanted else 0)
        too_large = enforce and (refusable or wanted > 0) and reserve.client_max > max(beside, tokens // reserve.n)
        clamped = tokens // reserve.n if tokens < reserve.tokens or too_large else None
    dropped = sum(costs.examples[len(costs.examples) - examples_dropped :])
    terms = Window(
        context_window=window,
        input_limit=limit,
        instructions=costs.instructions,
        tools=costs.tools,
        examples=sum(costs.examples) - dropped,
        conversation=sum(costs.turns[turns_dropped:]) + costs.tail,
        question=costs.question,
        framing=costs.framing,
        answer_reserve=tokens,
        safety_margin=margin,
        evidence_ceiling=ceiling,
        evidence_budget=budget,
    )
    count = Count(kept, costs.total.basis, costs.total.margin)
    return Fit(terms, count, turns_dropped, examples_dropped, clamped, summary_room)


def with_summary(fitted: Fit, tokens: int) -> Fit:
    """The same with a summary of the dropped turns, which adds so many tokens to the prompt."""
    window, count = fitted.window, structs.replace(fitted.count, tokens=fitted.count.tokens + tokens)
    left = window.input_limit - count.tokens - window.answer_reserve - window.safety_margin
    window = structs.replace(
        window,
        conversation=window.conversation + tokens,
        evidence_budget=max(0, min(window.evidence_ceiling, left)),
    )
    return structs.replace(fitted, window=window, count=count)


def overflows(costs: Costs, reserve: Reserve, model: Model) -> bool:
    """Whether the prompt, or prompt and answer together, are surely longer than the model takes."""
    return costs.total.basis is not Basis.BOUNDED and not _holds(model, costs.total.tokens, reserve.tokens)


def _holds(model: Model, prompt: int, answer: int) -> bool:
    return prompt <= (model.max_input_tokens or prompt) and prompt + answer <= model.context_window


def need_not_count(request: Request, contract: ReservePlan, policy: Policy, counter: Counter, model: Model) -> bool:
    """Whether an untagged request may leave uncounted: nothing is enforced, or it fits, since bytes bound tokens.

    Not where the policy wants a say in a tool's result.
    """
    if policy.mode is not Mode.ENFORCE:
        return True
    if policy.tools and any(message.role in ("tool", "function") for message in request.messages):
        return False
    bound = counter.encloses(body(request, request.messages), len(request.body))
    reserved = contract.constant + sum(len(text.encode("utf-8", "surrogatepass")) for text in contract.texts)
    return bound is not None and _holds(model, bound, max(reserved, contract.client_max or 0))
