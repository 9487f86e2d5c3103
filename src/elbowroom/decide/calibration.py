"""Counts compared with bills: which requests are compared with each other, and what a count makes of it.

Knows: a request's shape, one of a bounded number, and how margins follow from earlier differences.
Does not know: where differences are kept, how many of them, or when an upstream answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from elbowroom.records import Basis, Count, Learned

ENOUGH = 20  # bills after which their largest difference says more than the counter's own margin
_SIZES = ((4 << 10, "4k"), (32 << 10, "32k"), (256 << 10, "256k"))  # bytes; an estimate's error grows with the text


def shape(body: Mapping[str, Any], size: int) -> str:
    """The shape of a decoded chat body of `size` bytes, e.g. `tools+calls/32k`; there are at most 128.

    `parts` are pictures and whatever else is no text.
    """
    tools = bool(body.get("tools") or body.get("functions"))
    schema = _type(body.get("response_format")) == "json_schema"
    calls = parallel = parts = False
    for message in body["messages"]:
        made, content = message.get("tool_calls"), message.get("content")
        calls = calls or bool(made or message.get("function_call"))
        parallel = parallel or (isinstance(made, list) and len(made) > 1)
        parts = parts or (isinstance(content, list) and any(_type(part) != "text" for part in content))
    found = {"tools": tools, "schema": schema, "calls": calls, "parallel": parallel, "parts": parts}
    kinds = "+".join(name for name, is_there in found.items() if is_there)
    return f"{kinds or 'plain'}/{next((name for most, name in _SIZES if size <= most), 'more')}"


def corrected(count: Count, learned: Learned | None) -> Count:
    """The count with the margin that bills of its shape have taught.

    Only a `calibrated` count takes it from bills, once there are enough; of a few it takes what is wider. A refusal as
    too long widens any.
    """
    if learned is None:
        return count
    margin = count.margin
    if count.basis is Basis.CALIBRATED:
        margin = learned.largest if learned.bills >= ENOUGH else max(margin, learned.largest)
    return structs.replace(count, margin=max(margin, learned.refused))


def _type(value: Any) -> Any:
    return value.get("type") if isinstance(value, dict) else None
