"""The least relevant passages in two or three sentences of a model's, where they would go for want of room.

Knows: whom it may be asked about, and when its answer is no use: too long, or with a figure that the passage lacks.
Does not know: the model. What it writes is no more to be trusted than the passage was. Whether the sentences keep what
matters is not checked and cannot be: a figure that is left out is not missed here.
"""

from __future__ import annotations

import re
import unicodedata

from msgspec import Struct, structs

from elbowroom.clean.known import Known
from elbowroom.count.counter import Tally
from elbowroom.decide.evidence import Choice, Recipe, gates_of
from elbowroom.decide.passage import Admitted, Packing, Passage, Room
from elbowroom.needs import NeedSummary, Steps
from elbowroom.records import Drop

_FIGURE = re.compile(r"(?:(?<![^\s(])[-−–])?\d+(?:[.,]\d+)*(?:\s?%)?")
_HAN = re.compile("[零〇一二三四五六七八九十百千万亿两半]{2,}|[一二三四五六七八九十两半](?=[天日周月年元成倍折个小])")
_WORD = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|billion|half|double|twice|dozen)\b",
    re.IGNORECASE,
)


class Compressed(Struct, frozen=True):
    packing: Packing
    notes: tuple[str, ...] = ()


def compress(choice: Choice, recipe: Recipe, known: Known, tally: Tally) -> Steps[Compressed]:
    """The packing with a model's sentences in place of the best of what was dropped as over the budget.

    Each that may go in is asked about once, by rank, while there is room for the longest answer. They stand behind what
    the packer let in, in their order.
    """
    asked, packing = recipe.limits.compress, choice.packing
    if asked.model is None or recipe.keeps_whole:
        return Compressed(packing)
    left = choice.job.budget - sum(one.tokens for one in packing.admitted)
    gates, inside = gates_of(recipe, "pack"), [one.passage for one in packing.admitted]
    made: dict[int, Admitted] = {}
    failed: dict[int, str] = {}
    for one in _candidates(choice, recipe):
        if len(made) + len(failed) == asked.max_passages:
            break
        room = Room(inside, left, one.tag_tokens + asked.max_tokens)
        if room.cost > left or any(gate(one, room) is not None for _, gate in gates):
            continue
        answer = yield NeedSummary(asked.model, one.text.clean, asked.max_tokens, asked.timeout, of="passage")
        text = known.text(answer[0]).clean.strip() if answer and isinstance(answer[0], str) else ""
        yield from tally.measure([tally.body(text)], recurring=False)
        tokens = tally.tokens[tally.body(text)]
        fault = _fault(text, one, tokens - asked.max_tokens)
        if fault:
            failed[one.document.position] = fault
            continue
        made[one.document.position] = Admitted(one, text, one.tag_tokens + tokens, form="compressed")
        inside.append(one)
        left -= one.tag_tokens + tokens
    dropped = [
        structs.replace(gone, detail=f"{gone.detail}; not compressed: {failed[gone.passage.document.position]}")
        if gone.passage.document.position in failed
        else gone
        for gone in packing.dropped
        if gone.passage.document.position not in made
    ]
    notes = (f"degraded: {len(failed)} passages were dropped that could not be compressed",) if failed else ()
    packed = structs.replace(packing, admitted=(*packing.admitted, *made.values()), dropped=tuple(dropped))
    return Compressed(packed if made or failed else packing, notes)


def figures(text: str) -> frozenset[str]:
    """The numbers in a text, as they are written but for width, spaces and thousands separators."""
    text = unicodedata.normalize("NFKC", text)
    found = (re.sub(r"\s", "", one).replace("−", "-").replace("–", "-") for one in _FIGURE.findall(text))
    words = (one.lower() for pattern in (_HAN, _WORD) for one in pattern.findall(text))
    return frozenset([*(re.sub(r",(?=\d{3}(?!\d))", "", one) for one in found), *words])


def _candidates(choice: Choice, recipe: Recipe) -> list[Passage]:
    """By rank: who had a turn, found no room, says more than a model may, and may be shown to it."""
    given = {one.document.position for one in choice.job.passages}
    return sorted(
        (
            gone.passage
            for gone in choice.packing.dropped
            if gone.reason is Drop.OVER_BUDGET
            and gone.passage.document.position in given
            and gone.passage.body_tokens > recipe.limits.compress.max_tokens
            and recipe.indoors.isdisjoint(_labels(gone.passage))
        ),
        key=lambda one: (one.tier, one.rank),
    )


def _labels(passage: Passage) -> set[str]:
    documents = [passage.document, *(part.document for part in passage.parts)]
    return {str((one.access or {}).get("label")) for one in documents}


def _fault(text: str, passage: Passage, over: int) -> str:
    if not text:
        return "the model gave nothing"
    if over > 0:
        return f"the model's text is {over} tokens too long"
    invented = len(figures(text) - figures(passage.text.clean))
    return f"the model's text has {invented} figures that the passage does not have" if invented else ""
