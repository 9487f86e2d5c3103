"""What a relayed request is held to: nothing of it is counted, so its bytes bound it.

Knows: what a provider reads beside the bytes of a request, and what no bytes bound.
Does not know: chats (`worst`), who pays, prices.
"""

from __future__ import annotations

from elbowroom.budget.worst import By, Worst, most_output, thinks_unseen, uncounted, unpriced
from elbowroom.count.bounded import Bounded
from elbowroom.count.bounded import build as bounded
from elbowroom.count.openai_responses import OpenAIResponses, as_chat
from elbowroom.count.openai_responses import build as of_openai
from elbowroom.errors import CountUnavailable
from elbowroom.read.relayed import Relayed
from elbowroom.records import Model, Plan

_ENDS = 8  # tokens around each text that is embedded
_OF_AN_ITEM = frozenset({"call_id", "output", "status", "logprobs", "summary"})


def worst_relayed(asked: Relayed, output_limit: int | None, model: Model) -> Worst:
    """`output_limit`: the maximum that left with it."""
    if asked.route == "embeddings":
        return Worst(_texts(asked), "bytes", 0, 0)
    answer = most_output(output_limit, model)
    prompt, by = _prompt(asked, model)
    said = asked.value.get("input")
    dearer = unpriced(model, asked.value, said if isinstance(said, list) else ())
    return Worst(prompt, by, answer, answer, thinks_unseen(model, asked.value), dearer)


def _texts(asked: Relayed) -> int:
    """A token is a byte of its text at least; one that comes as a number has a digit."""
    texts = asked.value["input"]
    return len(asked.fields["input"]) + _ENDS * (len(texts) if isinstance(texts, list) else 1)


def _prompt(asked: Relayed, model: Model) -> tuple[int, By]:
    try:
        plan = _plan(asked, model)
    except CountUnavailable:
        return model.context_window, "window"
    said = asked.value.get("input")
    more = uncounted(said, _OF_AN_ITEM) if isinstance(said, list) else 0
    texts = sum(len(text.encode("utf-8", "surrogatepass")) for text in plan.texts)
    return plan.constant + plan.margin + texts + more, "bytes"


def _plan(asked: Relayed, model: Model) -> Plan:
    """The texts that are read, tools unfolded, and what stands around them."""
    if model.counter.startswith("openai"):
        counter: OpenAIResponses | Bounded = of_openai(model)
        return counter.plan(asked.value)
    return bounded(model).plan(as_chat(asked.value))
