"""What an incident's reviewer asks of a record first, answered in a terminal: four questions, a few lines each.

Knows: which fields answer which question, and that earlier versions of the record lack some.
Does not know: the rest of the record (`render`), or any text: a record has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from elbowroom.account.undecided import undecided
from elbowroom_proxy.cli.render import clipped, printable

Record = Mapping[str, Any]

CELLS = 96  # of a line's text
NAMED = 4  # ids in one line; the table has them all
INDENT = "  "
STEPS = {
    "passages_dropped": "passages for want of room",
    "passages_shortened": "passages cut to their best sentences",
    "messages_summarised": "earlier messages summed up",
    "messages_dropped": "earlier messages",
    "examples_dropped": "examples",
    "passages_compressed": "passages said in fewer words",
}


def answers(story: Record, text: Callable[[str], str | None] = lambda _: None) -> Iterator[str]:
    """The four questions, each with its answer. `text`: what is kept of the instruction with that digest."""
    for question, answer in (
        ("Which instruction governed the response?", _governed(story, text)),
        ("Which sources supported it?", _supported(story)),
        ("Which tool result changed its state?", _changed(story)),
        ("What was left out, and why?", _left_out(story)),
    ):
        yield question
        for line in answer:
            yield INDENT + clipped(line, CELLS)


def _governed(story: Record, text: Callable[[str], str | None]) -> Iterator[str]:
    policy = story.get("policy")
    if not policy:
        none = undecided(story) or "the request could not be read"
        yield f"none: {none}" if story.get("mode") is None else "no policy is recorded"
        return
    words = f"policy {policy['id']} {policy['version']} ({policy['digest'][:12]}), mode {story['mode']}"
    if story.get("killed"):
        words += ", the kill switch was on"
    yield printable(words)
    if story.get("query_class") is not None:
        classified = story.get("classified") or {}
        cue = f" {printable(classified['cue'])!r}" if classified.get("cue") else ""
        yield printable(f"class {story['query_class']}, by {classified.get('by', 'nobody')}") + cue
    for one in story.get("instructions") or ():
        kept = text(one["digest"])
        said = " ".join(kept.split()) if kept is not None else f"not kept; its hash is {one['digest'][:12]}"
        yield printable(f"message {one['message']}, {one['role']}, {one['bytes']:,} bytes: {said}")


def _supported(story: Record) -> Iterator[str]:
    admitted = [one for one in story.get("documents") or () if one["decision"] == "admitted"]
    cited = story.get("cited")
    if not admitted:
        why = undecided(story)
        yield f"not known: {why}" if why else "none: no document was let in"
        return
    if cited is None:
        yield f"not known: no answer could cite the {_n(len(admitted), 'passage')} that it was shown"
        return
    verified = set(cited["verified"])
    for one in sorted(admitted, key=lambda one: int(one["label"][1:])):
        if one["label"] in verified:
            of = [one.get("source_id"), f"version {one['version']}" if one.get("version") else None]
            yield f"[{one['label']}] " + ", ".join(printable(word) for word in (one["id"], *of) if word)
    silent = sum(one["label"] not in verified for one in admitted)
    if not verified:
        yield "none is cited"
    if silent:
        yield f"shown and not cited: {silent}"
    if cited["invented"]:
        yield f"INVENTED: {' '.join(printable(f'[{label}]') for label in cited['invented'])} name no passage"


def _changed(story: Record) -> Iterator[str]:
    results: Sequence[Record] = story.get("tool_results") or ()
    if not results and not story.get("results_since"):
        why = undecided(story)
        yield f"not known: {why}" if why else "none: no tool had been called"
        return
    since = {one["message"]: one for one in story.get("results_since") or ()}
    for one in results:
        name = printable(one["tool"] or "unnamed")
        after = since.pop(one["message"], None)
        if one.get("withheld"):
            yield f"message {one['message']}, {name}: left out, {printable(one['withheld'])}{_then(after)}"
            continue
        cut = f", cut to {one['bytes_after']:,}" if one["capped"] else ""
        yield f"message {one['message']}, {name}: {one['bytes_before']:,} bytes{cut}{_then(after)}"
    for one in since.values():
        yield f"message {one['message']}, {printable(one['tool'] or 'unnamed')}: {one['bytes']:,} bytes{_then(one)}"
    if refused := story.get("calls_refused"):
        yield f"{_n(refused, 'call')} in the answer to tools that the request does not have: not handed on"
    if tainted := story.get("calls_tainted"):
        yield f"{_n(tainted, 'call')} in the answer that only documents and results ask for"


def _then(after: Record | None) -> str:
    """What was called when the result was known; nothing is said of results before the last question."""
    if after is None:
        return ""
    if not after["followed_by"]:
        return "; no call followed"
    called = ", ".join(printable(name) for name in after["followed_by"])
    return f"; then {'the answer called' if after['answer'] else 'called was'} {called}"


def _left_out(story: Record) -> Iterator[str]:
    by_reason: dict[str, list[Record]] = defaultdict(list)
    for one in story.get("documents") or ():
        if one["reason"] is not None:
            by_reason[one["reason"]].append(one)
    for reason, some in sorted(by_reason.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        names = [printable(one["id"]) for one in some if one["id"]][:NAMED]
        more = f", and {len(some) - len(names)} more" if names and len(some) > len(names) else ""
        yield f"{len(some)} {reason}" + (f": {', '.join(names)}{more}" if names else "")
    for one in story.get("too_much") or ():
        if one["step"] != "passages_dropped":  # those have their reasons above
            yield f"{one['n']:,} {STEPS.get(one['step'], printable(one['step']))}"
    gone = (story.get("tools") or {}).get("removed") or [{"name": one} for one in story.get("tools_removed") or ()]
    for one in gone:
        why = f", not allowed by {' and '.join(map(printable, one['by']))}" if one.get("by") else ""
        yield f"tool {printable(one['name'])}{why}"
    if not (by_reason or story.get("too_much") or gone):
        why = undecided(story)
        yield f"not known: {why}" if why else "nothing"


def _n(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
