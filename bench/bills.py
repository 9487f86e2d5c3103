"""Recorded OpenAI requests and their bills, counted by the same code that serves requests.

Knows: which rows of the shared data claim to be countable, and when a count has kept its word.
Does not know: the rules; what each of them is worth is `count_ablation`'s question.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from elbowroom.count import openai_chat, openai_responses
from elbowroom.read.families import Family, family_of
from elbowroom.records import Basis, Count, Model
from elbowroom_proxy.vocabularies import Vocabularies

NOT_CLAIMED = ("websearch", "file", "input_audio")
VOCABULARIES = Vocabularies()
Row = dict[str, Any]


def chat_rows(shared: Path) -> list[Row]:
    """The rows of the chat form whose text is what was billed."""
    return _rows(shared, "chat.completions")


def responses_rows(shared: Path) -> list[Row]:
    """The rows of the Responses form."""
    return _rows(shared, "responses")


def _rows(shared: Path, endpoint: str) -> list[Row]:
    with (shared / "data" / "token_truth.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [r for r in rows if (r["provider"], r["endpoint"]) == ("openai", endpoint) and not r.get("suspect")]


def claimed(row: Row) -> bool:
    """False for what the counter refuses: web search, files, audio."""
    return not any(kind in NOT_CLAIMED for kind in row["kind"].split("+"))


def count(row: Row, family: Callable[[str], Family] = family_of) -> Count:
    """The count of one row; raises `CountUnavailable` for what is not claimed."""
    named = family(row["model"])
    model = Model("m", "openai", "m", 1, 1, named.counter, named.family, named.vocabulary, named.known)
    counter = (openai_responses if row["endpoint"] == "responses" else openai_chat).build(model)
    plan = counter.plan(row, [tuple(size) for size in row.get("image_dims", ())])
    tokens = plan.constant + sum(VOCABULARIES.tokens(counter.vocabulary, text) for text in plan.texts)
    return Count(tokens, plan.basis, plan.margin)


def inside(counted: Count, billed: int) -> bool:
    """Within the margin either way; a bound may lie as far above as it likes."""
    above = counted.tokens - billed
    return -counted.margin <= above and (above <= counted.margin or counted.basis is Basis.BOUNDED)


class Score(Struct, frozen=True):
    """How many of some bills a set of rules meets."""

    rows: int
    exact: int
    inside: int
    under: int  # below the bill by more than the margin
    worst_under: int  # tokens
    worst_over: int

    def __str__(self) -> str:
        return f"{self.rows} | {self.exact} | {self.inside} | {self.under} | {self.worst_under} | {self.worst_over}"


def score(rows: Sequence[Row], family: Callable[[str], Family] = family_of) -> Score:
    """Counts every row and compares it with its bill."""
    pairs = [(count(row, family), row["expected_prompt_tokens"]) for row in rows]
    errors = [counted.tokens - billed for counted, billed in pairs]
    modelled = [e for e, (counted, _) in zip(errors, pairs, strict=True) if counted.basis is not Basis.BOUNDED]
    return Score(
        rows=len(pairs),
        exact=errors.count(0),
        inside=sum(inside(counted, billed) for counted, billed in pairs),
        under=sum(counted.tokens + counted.margin < billed for counted, billed in pairs),
        worst_under=min([0, *errors]),
        worst_over=max([0, *modelled]),
    )
