"""A chat as values, between OpenAI's form and an SDK that has nearly that form for every provider.

Knows: what of a body the SDK may be told, and which members of its answers are OpenAI's.
Does not know: the SDK, sockets, or how an answer was come by.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# What may be told. Anything else would reach the SDK's own controls: addresses, keys, hooks.
TOLD = frozenset({
    "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
    "max_tokens", "messages", "modalities", "model", "n", "parallel_tool_calls", "prediction", "presence_penalty",
    "reasoning_effort", "response_format", "seed", "service_tier", "stop", "stream", "stream_options", "temperature",
    "thinking", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
})  # fmt: skip
# What no answer depends on, and what holds without being said: both may be left out.
IDLE = frozenset({"metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier"})
DEFAULTS: Mapping[str, Any] = {
    "frequency_penalty": 0, "logit_bias": {}, "logprobs": False, "modalities": ["text"], "n": 1,
    "parallel_tool_calls": True, "presence_penalty": 0, "service_tier": "auto", "store": False,
}  # fmt: skip
ADDRESSES = frozenset({"url", "image_url", "file_id", "file_url"})  # members of a content part
OWN_WORDS = frozenset({"provider_specific_fields", "citations"})  # the SDK's, in messages and deltas
HALF = re.compile(rb"\\u[dD][89a-fA-F]")


class Untold(Exception):
    """The body says what cannot be passed on; left out in silence, the answer would not be what was asked for."""

    def __init__(self, param: str, message: str = "") -> None:
        super().__init__(message or f"This model's provider cannot be told {param!r}.")
        self.param = param


def arguments(body: bytes) -> dict[str, Any]:
    """What the SDK is asked. Raises `Untold` for what it must not see, or would fetch from somewhere."""
    value = json.loads(body)
    if HALF.search(body):
        # Half a character cannot be encoded; the counters take it for a replacement as well.
        value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    told: dict[str, Any] = {}
    for name, said in value.items():
        if said is None or name in IDLE or (name in DEFAULTS and said == DEFAULTS[name]):
            continue
        if name not in TOLD:
            raise Untold(name)
        told[name] = said
    if not all(address.startswith("data:") for address in addresses(told.get("messages"))):
        raise Untold("messages", "Pictures and files must come as data URLs: nothing is fetched for this model.")
    return told


def addresses(messages: Any) -> Iterator[str]:
    """Whatever the parts of these messages point at."""
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            yield from _pointed_at(part)


def _pointed_at(part: Any) -> Iterator[str]:
    for name, said in part.items() if isinstance(part, dict) else ():
        if isinstance(said, str) and name in ADDRESSES:
            yield said
        else:
            yield from _pointed_at(said)


def completion(said: Mapping[str, Any]) -> dict[str, Any]:
    """A whole answer, in OpenAI's members."""
    choices = [_choice(one, "message", {"role": "assistant", "content": None}) for one in said["choices"]]
    for choice in choices:
        for call in choice["message"].get("tool_calls", ()):
            call.pop("index", None)  # only a stream numbers its calls
    bill = usage(said.get("usage"))
    return {**_envelope(said, "chat.completion"), "choices": choices, **({"usage": bill} if bill else {})}


def piece(said: Mapping[str, Any], *, billed: bool) -> dict[str, Any]:
    """A chunk of a stream, in OpenAI's members; with a bill where one is there and was asked for."""
    choices = [_choice(one, "delta", {}) for one in said["choices"]]
    bill = usage(said.get("usage")) if billed else None
    return {**_envelope(said, "chat.completion.chunk"), "choices": choices, **({"usage": bill} if bill else {})}


def _choice(one: Mapping[str, Any], member: str, least: Mapping[str, Any]) -> dict[str, Any]:
    words = {name: said for name, said in one[member].items() if name not in OWN_WORDS and said != []}
    logprobs = {"logprobs": one["logprobs"]} if "logprobs" in one else {}
    return {"index": one["index"], member: {**least, **words}, **logprobs, "finish_reason": one.get("finish_reason")}


def _envelope(said: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": said["id"], "object": kind, "created": said["created"], "model": said.get("model")}


def usage(bill: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """OpenAI's bill: its prompt tokens hold cached and written ones, its completion tokens reasoning.

    None where the provider sent none, which the SDK shows as zeros.
    """
    if not bill or not bill.get("prompt_tokens"):
        return None
    prompt, spoken = bill.get("prompt_tokens_details") or {}, bill.get("completion_tokens_details") or {}
    kept = prompt.get("cache_creation_token_details") or {}  # for how long; some of it has a price of its own
    return {
        "prompt_tokens": bill["prompt_tokens"],
        "completion_tokens": bill["completion_tokens"],
        "total_tokens": bill["prompt_tokens"] + bill["completion_tokens"],
        "prompt_tokens_details": {
            "cached_tokens": prompt.get("cached_tokens", 0),
            "cache_write_tokens": prompt.get("cache_write_tokens", 0),
            **({"cache_creation_token_details": kept} if kept.get("ephemeral_1h_input_tokens") else {}),
        },
        "completion_tokens_details": {"reasoning_tokens": spoken.get("reasoning_tokens", 0)},
    }


def reason(text: str) -> str:
    """What a provider's error says, in whichever of the usual forms; at most 1,000 characters of any other."""
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if isinstance(said, list) and said:
        said = said[0]
    if isinstance(said, dict):
        error = said.get("error", said)
        message = error.get("message") if isinstance(error, dict) else error
        if isinstance(message, str):
            return message
    return text[:1000] or "The provider gave no reason."
