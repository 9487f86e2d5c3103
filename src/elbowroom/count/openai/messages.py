"""Messages: their framing, their texts, and the pictures in them.

Knows: what each role and each kind of content part costs.
Does not know: tools (`tools`), calls (`calls`), the answer's format (`schema`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elbowroom.count.openai.bill import Bill
from elbowroom.count.openai.calls import CALL_MARGIN, Calls
from elbowroom.count.openai.families import Family
from elbowroom.count.openai.images import Size, data_url_size
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis

FRAME = 4  # a message's start and end, and its role: every role is one token
IMAGE_MARGIN = 3
SYSTEM = ("system", "developer")
TEXT_PARTS = ("text", "refusal")


def add_messages(
    bill: Bill, messages: Sequence[Any], family: Family, *, with_tools: bool, sizes: Sequence[Size] = ()
) -> bool:
    """Adds all messages; True where there is a system or developer message.

    `with_tools`: the first of those then ends in a line break, because the tools are written below it.
    `sizes`: pictures' sizes known from elsewhere, in their order.
    """
    calls = Calls(family)
    pictures = iter(sizes)
    system = False
    for message in messages:
        if not isinstance(message, dict):
            raise CountUnavailable("a message that is not an object cannot be counted", param="messages")
        content = message.get("content")
        if isinstance(content, str):
            texts = [content]
        else:
            texts = _part_texts(bill, content, family, pictures) if content is not None else []
        role = message.get("role")
        if role in SYSTEM:
            if with_tools and not system and texts:
                texts[-1] += "\n"
            system = True
        elif role == "tool":
            calls.add_result(bill, message, texts)
            continue
        elif role == "function":
            bill.constant += FRAME - 1
            bill.texts += (_string(message.get("name")), *texts)
            bill.margin += CALL_MARGIN
            continue
        elif (
            role == "assistant"
            and (content is None or len(message) > 2)
            and _add_assistant(bill, message, texts, calls)
        ):
            continue
        bill.constant += FRAME
        bill.texts += texts
        name = message.get("name")
        if isinstance(name, str) and name:
            bill.constant += 1
            bill.texts.append(name)
    return system


def _add_assistant(bill: Bill, message: dict[str, Any], texts: list[str], calls: Calls) -> bool:
    """What only an assistant has. True where the message was a call, and so is counted whole."""
    if message.get("audio") is not None:
        raise CountUnavailable("audio cannot be counted", param="messages")
    if isinstance(refusal := message.get("refusal"), str):
        texts.append(refusal)
    made = message.get("tool_calls")
    if not made:
        legacy = message.get("function_call")
        if not isinstance(legacy, dict):
            return False
        bill.constant += FRAME + 3
        bill.texts += (*texts, _string(legacy.get("name")), _string(legacy.get("arguments")))
        bill.margin += CALL_MARGIN
        return True
    if not isinstance(made, list) or not all(isinstance(call, dict) for call in made):
        raise CountUnavailable("tool calls of this shape cannot be counted", param="messages")
    if any(call.get("type", "function") != "function" for call in made):
        raise CountUnavailable("calls of tools other than functions cannot be counted", param="messages")
    if any(texts):
        bill.constant += FRAME
        bill.texts += texts
    calls.add(bill, made)
    return True


def _part_texts(bill: Bill, content: Any, family: Family, pictures: Any) -> list[str]:
    """The texts of a list of parts; pictures go straight onto the bill."""
    if not isinstance(content, list):
        raise CountUnavailable("content that is neither text nor a list cannot be counted", param="messages")
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in TEXT_PARTS and isinstance(text := part.get(kind), str):
            texts.append(text)
        elif kind == "image_url":
            _add_image(bill, part.get("image_url"), family, pictures)
        else:
            what = f"a content part of type {kind!r}" if isinstance(kind, str) else "a content part without a type"
            raise CountUnavailable(f"{what} cannot be counted", param="messages")
    return texts


def _add_image(bill: Bill, image: Any, family: Family, pictures: Any) -> None:
    if not isinstance(image, dict) or not isinstance(url := image.get("url"), str):
        raise CountUnavailable("an image without a URL cannot be counted", param="messages")
    size = next(pictures, None) or data_url_size(url)
    bill.constant += family.images.tokens(size, low=image.get("detail") == "low")
    if size is None:
        bill.basis = Basis.BOUNDED
    else:
        bill.margin += IMAGE_MARGIN


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
