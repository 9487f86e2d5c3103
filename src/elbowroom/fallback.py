"""What becomes of a request whose evidence is not enough: the five ways out, and the words that go with each.

Knows: a class's minimum and what it wants where that is missing; which remark the model gets.
Does not know: how evidence is chosen, rendered or counted; HTTP.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, structs

from elbowroom.clean.known import Known
from elbowroom.count.counter import Tally
from elbowroom.decide.compress import compress
from elbowroom.decide.evidence import Choice, Recipe
from elbowroom.decide.passage import Packing
from elbowroom.decide.sufficiency import Pieces, lacking, with_summaries
from elbowroom.draft import Written
from elbowroom.needs import Steps
from elbowroom.read.policy import Minimum, QueryClass
from elbowroom.records import Drop, Request
from elbowroom.write.remarks import clarifying, remark

_HERE = ("scope_note", "ask_to_narrow", "refuse")  # needs nothing but words
Tell = Callable[[Packing, str], Steps[Written]]  # writes a packing, and a remark behind it


class Settled(Struct, frozen=True):
    written: Written
    lacks: str  # "" where the evidence is sufficient
    fallback: str | None = None  # `on_insufficient` as it was carried out
    reply: str | None = None  # the whole answer, where no model is to be asked
    notes: tuple[str, ...] = ()
    judged: bool = True  # False: the evidence stands in the client's own messages, where nobody looks for it


def settle(
    choice: Choice, recipe: Recipe, query_class: QueryClass | None, tell: Tell, *, language: str, prose: bool,
    pieces: Pieces, known: Known, tally: Tally, retrieved: bool = False,
) -> Steps[Settled]:  # fmt: skip
    """The evidence as it will be sent, or what stands in its place; without a class nothing but the evidence.

    `prose`: the client can read an answer in words. `retrieved`: a second question to a retriever was asked before.
    Where `fallback` is `refuse`, the caller is to refuse.
    """
    if query_class is None:
        written = yield from tell(choice.packing, "")
        if any(one.reason is Drop.NOT_ADDED for one in written.dropped):
            return Settled(written, "", judged=False)
        return Settled(written, lacking([one for _, one in written.labelled], Minimum(), ""))
    made = yield from compress(choice, recipe, known, tally)
    choice = structs.replace(choice, packing=made.packing)
    packing, fallback, minimum = choice.packing, None, query_class.minimum
    lacks = lacking(packing.admitted, minimum, packing.lacks)
    otherwise = query_class.on_insufficient if query_class.on_insufficient in _HERE else "scope_note"
    if not lacks and retrieved:
        fallback = "second_pass"
    if lacks:
        fallback = query_class.on_insufficient if query_class.on_insufficient == "parent_summary" else otherwise
        if fallback == "parent_summary":
            packing = yield from with_summaries(choice, recipe, pieces, known, tally)
            fallback = fallback if packing is not choice.packing else "scope_note"
    by_proxy = query_class.asked_by == "proxy" and prose
    written = yield from tell(packing, _remark(packing, fallback, language, by_proxy=by_proxy))
    left = packing.admitted[: len(written.labelled)]
    if not lacks and (lacks := lacking(left, minimum, "")):  # the final count has taken some away
        fallback = otherwise
        packing = Packing(left, written.dropped)
        written = yield from tell(packing, _remark(packing, fallback, language, by_proxy=by_proxy))
    reply = clarifying(language) if fallback == "ask_to_narrow" and by_proxy else None
    return Settled(written, lacks, fallback, reply, made.notes)


def is_prose(request: Request) -> bool:
    """Whether the client did not ask for JSON, which a sentence of ours would not be."""
    wanted = request.params.get("response_format") or {}
    return wanted.get("type") not in ("json_object", "json_schema")


def remark_room(recipe: Recipe, language: str, found: int, tally: Tally) -> Steps[int]:
    """Tokens to be left for the remark that the class's rule brings with it, however many of `found` are shown."""
    if recipe.rule is None or not recipe.rule.REMARKS:
        return 0
    longest = remark("partial", language, shown=found, found=found)
    yield from tally.measure([longest])
    return tally.tokens[longest]


def _remark(packing: Packing, fallback: str | None, language: str, *, by_proxy: bool) -> str:
    if fallback == "refuse" or (fallback == "ask_to_narrow" and by_proxy):
        return ""
    if fallback in (None, "second_pass"):
        shown, found = packing.shown or (0, 0)
        return remark("partial", language, shown=shown, found=found) if shown < found else ""
    if fallback == "ask_to_narrow":
        return remark("narrow", language)
    return remark("thin" if packing.admitted else "nothing", language)
