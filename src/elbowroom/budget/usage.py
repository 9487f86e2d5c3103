"""What an upstream says that an answer took, in whichever spelling it says it.

Knows: OpenAI's usage of chats, responses and embeddings, and the members by which others tell cached, written and
hidden tokens, inside the sums or beside them.
Does not know: prices, what was held, or where in an answer a usage stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

_MOST = 1 << 32  # tokens; whoever says more has not counted
_INTO = ("prompt_tokens", "input_tokens")
_OUT = ("completion_tokens", "output_tokens")
_CACHED = ("cached_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens")
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")


class Usage(Struct, frozen=True):
    """Tokens of one answer, all choices together."""

    prompt: int  # all of it: `cached` and `cache_write` are parts
    completion: int = 0  # all that was generated: `reasoning` is a part
    cached: int = 0  # read from the provider's cache
    cache_write: int = 0  # written to it
    reasoning: int = 0  # that nobody sees
    cache_write_hour: int = 0  # of `cache_write`: to be kept for an hour, and no few minutes


def usage_of(said: Any) -> Usage | None:
    """The usage; None where nothing is said that can be used.

    Parts that are larger than their sum are told beside it, and are added to it. A total that is larger than both sums
    has something in it that was generated and is told nowhere else.
    """
    if not isinstance(said, Mapping) or (prompt := _first(said, _INTO)) is None:
        return None
    into, out = _details(said, _INTO), _details(said, _OUT)
    cached, written = _part(into, said, _CACHED), _part(into, said, _WRITTEN)
    reasoning, completion = _part(out, said, ("reasoning_tokens",)), _first(said, _OUT) or 0
    if cached + written > prompt:
        prompt += cached + written
    if reasoning > completion:
        completion += reasoning
    total = _first(said, ("total_tokens",)) or 0
    return Usage(prompt, max(completion, total - prompt), cached, written, reasoning, min(written, _hour(into, said)))


def _hour(into: Mapping[str, Any], said: Mapping[str, Any]) -> int:
    """Anthropic's word, and where litellm has it."""
    kept = into.get("cache_creation_token_details") or said.get("cache_creation")
    return (_first(kept, ("ephemeral_1h_input_tokens",)) or 0) if isinstance(kept, Mapping) else 0


def _details(said: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    found = (said.get(f"{name}_details") for name in names)
    return next((one for one in found if isinstance(one, Mapping)), {})


def _part(details: Mapping[str, Any], said: Mapping[str, Any], names: tuple[str, ...]) -> int:
    return _first(details, names) or _first(said, names) or 0


def _first(said: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The first of these members that is a number of tokens."""
    for name in names:
        value = said.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST:
            return value
    return None
