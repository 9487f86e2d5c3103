"""What a request is held to before it is sent: the prompt as it leaves, and all that the upstream may emit.

Knows: by which numbers a prompt is bounded where it could not be counted, what bounds an answer, and that the dearest
way to bill both is the one that counts.
Does not know: who pays, what they have left, or how anything was counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from elbowroom.budget.cost import dearest
from elbowroom.budget.hold import Amounts
from elbowroom.count.counter import Counter
from elbowroom.decide.conversation import body
from elbowroom.errors import InvalidRequest
from elbowroom.price import Price
from elbowroom.read.message import encode
from elbowroom.read.request import MAX_CHOICES
from elbowroom.read.shape import want
from elbowroom.records import Model, Packed, Request
from elbowroom.write.place import output_limit

# counted: the count and its margin. bytes: a token is a byte at least. window: no model reads more than its window.
By = Literal["counted", "bytes", "window"]
_TIERS = (None, "auto", "default", "flex", "standard", "standard_only")
# Of a message, what is counted, or never read by a model. Some servers' templates write out more, such as
# `reasoning_content`.
_COUNTED = frozenset({
    "role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "id", "type", "index",
    "function", "custom", "arguments", "input", "text", "image_url", "url", "detail", "input_audio", "data", "format",
    "file", "file_id", "file_data", "filename", "document",
})  # fmt: skip
_UNREAD = frozenset({"annotations", "cache_control"})
_TEMPLATES = ("chat_template", "mm_processor_kwargs")  # vLLM's, by which a prompt may become anything
_OTHERS = ("models", "fallbacks")  # by which gateways (OpenRouter, LiteLLM) are told whom to ask instead
_EFFORTS = ("reasoning_effort", "reasoning", "thinking")
_CHOICES = ("best_of", "n_cmpl")  # vLLM generates that many and returns the best `n`; llama.cpp reads it before `n`
_UNBOUND = "n_predict"  # llama.cpp's own maximum, which there replaces what `max_tokens` says: even null does


class Worst(Struct, frozen=True):
    """What one request comes to at most, in tokens."""

    prompt: int
    by: By  # how the prompt is known
    answer: int  # all choices together
    reserve: int  # of that, what the window keeps free
    unseen: bool = False  # more may be generated than any piece of the answer shows
    unpriced: str | None = None  # the member that asks for what has a price of its own, which nobody told us

    def amounts(self, price: Price | None) -> Amounts:
        """What to hold. A model without a price costs no money."""
        return Amounts(self.prompt + self.answer, dearest(price, self.prompt, self.answer), self.prompt + self.reserve)


NOTHING = Worst(0, "counted", 0, 0)  # an answer that no model is asked for


def worst(request: Request, packed: Packed, model: Model, counter: Counter) -> Worst:
    """`request` as it came, `packed` as it leaves. Raises `InvalidRequest` for more choices than anybody offers."""
    prompt, by = _prompt(request, packed, model, counter)
    params, window = request.params, packed.decision.window
    told = None if _UNBOUND in params else packed.output_limit
    # Words that were predicted and do not come true are billed beside the maximum.
    choice = most_output(told, model) + len(request.fields.get("prediction", b""))
    answer = choice * _choices(params)
    messages = [message.value for message in request.messages]
    reserve = answer if window is None else min(answer, window.answer_reserve)
    return Worst(prompt, by, answer, reserve, thinks_unseen(model, params), unpriced(model, params, messages))


def most_output(told: int | None, model: Model) -> int:
    """Tokens that one choice has at most. `told`: the maximum that went upstream, if one did."""
    return model.max_output_tokens if told is None else min(told, model.max_output_tokens)


def _choices(params: Mapping[str, Any]) -> int:
    """How many answers are generated at most."""
    most: int = params.get("n") or 1
    for name in _CHOICES:
        if (said := params.get(name)) is not None:
            want(said, int, name, "a whole number")
            if said > MAX_CHOICES:
                raise InvalidRequest(f"{name} must be at most {MAX_CHOICES}.", param=name)
            most = max(most, said)
    return most


def unpriced(model: Model, params: Mapping[str, Any], messages: Iterable[Mapping[str, Any]]) -> str | None:
    """The member that names a tier which providers price apart, and higher, or other models; or brings or asks for
    sound, where the model's is priced so.
    """
    if params.get("service_tier") not in _TIERS:
        return "service_tier"
    if (others := named_beside(params)) is not None:
        return others
    if model.price is None or not model.price.sound:
        return None
    modalities = params.get("modalities")
    if isinstance(modalities, list) and "audio" in modalities:
        return "modalities"
    contents = (message.get("content") for message in messages)
    parts = (part for content in contents if isinstance(content, list) for part in content)
    return "input_audio" if any(part.get("type") == "input_audio" for part in parts) else None


def named_beside(params: Mapping[str, Any]) -> str | None:
    """The member that names other models, which might answer in place of the one that was asked for."""
    return next((name for name in _OTHERS if params.get(name) is not None), None)


def thinks_unseen(model: Model, params: Mapping[str, Any]) -> bool:
    """Whether tokens may be generated, and billed, that no piece of the answer shows."""
    asked = any(params.get(name) not in (None, "none") for name in _EFFORTS)
    priced = model.price is not None and model.price.reasoning is not None
    hidden = output_limit(model) == "max_completion_tokens" or model.family.startswith("gemini")
    return asked or priced or hidden or not model.known


def _prompt(request: Request, packed: Packed, model: Model, counter: Counter) -> tuple[int, By]:
    counted, params = packed.decision.counted, request.params
    if any(params.get(name) is not None for name in _TEMPLATES):
        return model.context_window, "window"
    if counted is not None:
        more = uncounted(message.value for message in request.messages)
        more += len(request.fields.get("chat_template_kwargs", b""))
        told = counted.tokens + counted.margin
        return max(told, min(told + more, model.context_window)), "counted"
    bound = counter.encloses(body(request, request.messages), max(len(request.body), len(packed.body)))
    return (model.context_window, "window") if bound is None else (bound, "bytes")


def uncounted(messages: Iterable[Mapping[str, Any]], known: Collection[str] = ()) -> int:
    """Bytes of all in the messages that nobody has counted; a token is a byte at least. `known`: members that are
    counted, or read by no model, beside those of chats.
    """
    size, ahead = 0, list(messages)
    while ahead:  # however deep it is nested
        for name, value in ahead.pop().items():
            if name in _COUNTED:
                inner = value if isinstance(value, list) else [value]
                ahead += [one for one in inner if isinstance(one, Mapping)]
            elif name not in _UNREAD and name not in known and value is not None:
                size += len(encode(value))
    return size
