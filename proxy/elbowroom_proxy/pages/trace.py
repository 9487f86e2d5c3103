"""One record as its page shows it: the four questions answered first, then everything they rest on.

Knows: which of a record's fields answer which question, and that records of earlier versions lack some.
Does not know: any text that was not captured; how anything is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from elbowroom.account.undecided import undecided
from elbowroom.records import Mode
from elbowroom_proxy.pages.badges import Badge, badges
from elbowroom_proxy.pages.passages import LeftOut, Passage, left_out, passages
from elbowroom_proxy.pages.templating import number, usd
from elbowroom_proxy.pages.window import Bar, bar

Record = Mapping[str, Any]

NOT_CAPTURED = "not kept (capture: hash)"
CUE = 60  # characters
STEPS = {
    "passages_dropped": "passages left out",
    "passages_shortened": "passages cut to their best sentences",
    "messages_summarised": "earlier messages summed up",
    "messages_dropped": "earlier messages left out",
    "examples_dropped": "examples left out",
    "passages_compressed": "passages said in fewer words",
}
BASELINE = frozenset({Mode.PASSTHROUGH, Mode.SHADOW})  # modes in which the policy chose nothing
MOMENTS = (("overhead", "read, decided, packed"), ("first_byte", "waited for the model"), ("total", "answered"))


class Loose(dict[str, Any]):
    """A record of any version: what it does not have is None."""

    def __missing__(self, name: str) -> None:
        return None


class Instruction(Struct, frozen=True):
    """One system or developer text."""

    role: str
    digest: str
    bytes: int
    text: str | None  # what redaction left of it, where that is stored


class Since(Struct, frozen=True):
    """A tool result since the last question, and what was called when it was known."""

    message: int
    tool: str | None
    then: str  # in words; empty where the record does not say
    done: Record  # what was done to it
    bytes: int


class Stretch(Struct, frozen=True):
    """A part of the request's time; `x` and `width` in percent of the whole."""

    name: str
    ms: float
    x: float
    width: float


class TracePage(Struct, frozen=True):
    """What the template draws."""

    record: Record
    badges: tuple[Badge, ...]
    bar: Bar | None
    passages: tuple[Passage, ...]
    left_out: tuple[LeftOut, ...]
    instructions: tuple[Instruction, ...]
    since: tuple[Since, ...]
    timeline: tuple[Stretch, ...]
    money: tuple[tuple[str, str], ...]  # what was held, and what it came to
    answer: str | None = None  # where it was captured

    @property
    def admitted(self) -> tuple[Passage, ...]:
        """Those that the model was shown."""
        return tuple(one for one in self.passages if one.decision == "admitted")

    @property
    def supporting(self) -> tuple[Passage, ...]:
        """Those that the answer cites."""
        return tuple(one for one in self.admitted if one.cited)

    @property
    def named(self) -> tuple[Passage, ...]:
        """The admitted as the question after sources names them: those that the answer cites before all others."""
        return tuple(sorted(self.admitted, key=lambda one: not one.cited))

    @property
    def undecided(self) -> str:
        """Why nothing is known of passages and results; empty where the window was planned."""
        return "" if self.record["window"] else undecided(self.record) or "the record does not say"

    @property
    def why_admitted(self) -> str:
        """What all that was admitted has in common."""
        if self.record["mode"] in BASELINE:
            return "The baseline was sent: what may be seen and found room, in the client's order."
        return "Admitted is what no rule left out and what found room, in the order of the prompt."

    @property
    def results(self) -> tuple[Record, ...]:
        """All tool results."""
        return tuple(self.record["tool_results"] or ())

    @property
    def yielded(self) -> tuple[tuple[str, int], ...]:
        """What there was no room for, and how many."""
        return tuple((STEPS.get(one["step"], one["step"]), one["n"]) for one in self.record["too_much"] or ())

    @property
    def why_class(self) -> str:
        """Who chose the class, and by what."""
        said = self.record["classified"] or Loose()
        cue = f" {said['cue'][:CUE]}" if said["cue"] else ""
        return f"chosen by {said['by'] or 'nobody'}{cue}" + (", a follow-up" if said["follow_up"] else "")

    @property
    def no_instructions(self) -> str:
        """What is said where none of them is known."""
        tokens = (self.record["window"] or Loose())["instructions"]
        return "the record does not say which system text governed it" if tokens else "no system or developer text"


def page(
    record: Record, captured: Record | None = None, instruction: Callable[[str], str | None] = lambda _: None
) -> TracePage:
    """`captured` are its texts: the request's body and its answer, where they were kept. `instruction`: what is stored
    of a system or developer text, by its digest.
    """
    story: Record = _loose(record)
    kept = captured or {}
    found = passages(story, kept.get("body"))
    return TracePage(
        record=story,
        badges=tuple(badges(story)),
        bar=bar(story),
        passages=found,
        left_out=left_out(found),
        instructions=tuple(
            Instruction(one["role"], one["digest"], one["bytes"], instruction(one["digest"]))
            for one in story["instructions"] or ()
        ),
        since=tuple(_since(story)),
        timeline=tuple(_timeline(story["timings_ms"] or {})),
        money=tuple(_money(story)),
        answer=kept.get("answer"),
    )


def why_no_replay(record: Record) -> str:
    """What keeps a request that was not captured from being decided again."""
    if record.get("policy") is None:
        return "No decision was taken about it, so there is none to take again."
    return (
        "Its text is not kept (capture: hash), so it cannot be decided again from the record alone. Whoever has the "
        "request can supply it; whether the recorded decision comes out again shows whether it is the same."
    )


def _loose(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Loose((name, _loose(one)) for name, one in value.items())
    return [_loose(one) for one in value] if isinstance(value, list | tuple) else value


def _since(record: Record) -> Iterator[Since]:
    """Earlier versions do not say where the last question stands: they show all results."""
    results = record["tool_results"] or ()
    done = {one["message"]: one for one in results}
    if told := record["results_since"]:
        for one in told:
            yield Since(one["message"], one["tool"], _followed(one), done.get(one["message"], Loose()), one["bytes"])
    elif record["hash_key_id"] is None:
        yield from (Since(one["message"], one["tool"], "", one, one["bytes_before"]) for one in results)


def _followed(one: Record) -> str:
    whose = "the answer" if one["answer"] else "the next message"
    return f"{whose} called {', '.join(one['followed_by'])}" if one["followed_by"] else f"{whose} called nothing"


def _money(record: Record) -> Iterator[tuple[str, str]]:
    held, settled = record["hold"], record["settlement"]
    if held:
        yield "held", f"{_amounts(held['amounts'])}, {held['state']}"
        if held["refused"]:
            yield "refused by", ", ".join(held["refused"])
    if settled:
        yield "settled", f"{_amounts(settled['amounts'])}, {settled['state']} by {settled['by']}"
        if any(settled["overrun"].values()):
            yield "beyond the hold", _amounts(settled["overrun"])


def _amounts(amounts: Record) -> str:
    return f"{number(amounts['tokens'])} tokens, {usd(amounts['micro_usd'])}"


def _timeline(timings: Mapping[str, float]) -> Iterator[Stretch]:
    """From the request to the answer's end. What is not between two of the known moments is not drawn."""
    whole = max((timings.get(moment) or 0.0 for moment, _ in MOMENTS), default=0.0)
    at = 0.0
    for moment, name in MOMENTS:
        until = timings.get(moment)
        if until is None or until < at or not whole:
            continue
        yield Stretch(name, until - at, round(100 * at / whole, 3), max(0.3, round(100 * (until - at) / whole, 3)))
        at = until
