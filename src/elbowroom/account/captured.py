"""The texts of a request as they may be kept beside its record.

Knows: that a document which may not be seen is not kept either, however it came, and that redaction holds for every
string of a body.
Does not know: when texts are kept, for whom, for how long, or where.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from elbowroom.clean.find import PACKS, find
from elbowroom.clean.redact import Numbers, Place, redact
from elbowroom.clean.sanitise import sanitise

HIDDEN = "[left out: it may not be seen]"
_LONGEST = 256  # characters of a data: address that are looked at; the rest is a picture


def captured(
    body: bytes,
    headers: Mapping[str, str],
    answer: str,
    *,
    hidden: Collection[int] = (),
    hidden_in: Collection[int] = (),
    redacted: bool,
) -> dict[str, Any]:
    """The request and its answer, ready for JSON. `body` is a request that was read.

    `hidden` are positions of tagged documents that may not be seen, `hidden_in` indexes of messages that hold some. Of
    the former only their place is left, of the latter nothing that they say.
    """
    value = json.loads(body)
    documents, messages = value.get("documents"), value["messages"]
    for position in hidden:
        if isinstance(documents, list) and position < len(documents):
            documents[position] = {"id": f"hidden-{position}", "text": "", "access": {}}
    for index in hidden_in:
        messages[index]["content"] = HIDDEN
    told: dict[str, Any] = {"body": value, "headers": dict(headers), "answer": answer}
    if redacted:
        told = _cleaned(told, cleaner())
    return {**told, "redacted": redacted, "hidden": len(hidden) + len(hidden_in)}


def cleaner() -> Callable[[str], str]:
    """What is left of a text without hidden characters, secrets and personal data; one value has one number in all the
    texts that go through the same cleaner.
    """
    numbers, packs = Numbers(), tuple(PACKS)

    def clean(text: str) -> str:
        if text.startswith("data:") and len(text) > _LONGEST:
            return f"[data, {len(text)} characters]"
        safe = sanitise(text).text
        places = [Place(start, end, rule, safe[start:end]) for start, end, rule in find(safe, packs)]
        return redact(safe, places, numbers, "text")[0] if places else safe

    return clean


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(one, clean) for one in value]
    if isinstance(value, dict):
        return {clean(name): _cleaned(one, clean) for name, one in value.items()}
    return value
