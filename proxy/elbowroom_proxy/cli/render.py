"""A trace record as text for a terminal: the window as a bar, each document with its fate, what was counted and billed.

Knows: the record's fields, the width of Chinese characters, and that ids and details come from whoever sent them, so
that nothing in them may steer a terminal.
Does not know: where the record comes from, or how anything in it was decided.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]

BAR = 64  # cells
SPANS = 4  # of one text
INDENT = " " * 11
SEGMENTS = (
    ("A", "answer", ("answer_reserve",)),
    ("I", "instructions", ("instructions",)),
    ("H", "history", ("examples", "conversation")),
    ("T", "tools", ("tools",)),
    ("Q", "question", ("question", "framing")),
    ("E", "evidence", ("evidence_tokens",)),
    ("M", "margin", ("safety_margin",)),
)


def record(story: Record, *, context_window: int | None = None) -> str:
    """The whole record, in lines. `context_window` (tokens) draws a bar for a request whose window was not planned."""
    return "\n".join([*head(story), *decision(story, context_window=context_window), *aftermath(story)])


def head(story: Record) -> Iterator[str]:
    """Which request it was."""
    status = story["status"]
    words = [story["mode"], story["model"], f"via {story['upstream']}" if story["upstream"] else None]
    words.append(f"status {status}" if status is not None else None)
    yield line("trace", " ".join(printable(story[name]) for name in ("trace_id", "time") if story[name]) or "not kept")
    ids = [("", "request_id"), ("client's ", "client_request_id"), ("conversation ", "conversation_id")]
    if named := [f"{says}{printable(story[name])}" for says, name in ids if story[name]]:
        yield line("ids", ", ".join(named))
    yield line("request", ", ".join(printable(word) for word in words if word))
    if error := story["error"]:
        yield line("error", f"{error['code']}: {printable(error['message'])}")


def decision(story: Record, *, context_window: int | None = None) -> Iterator[str]:
    """What was decided about it."""
    if story["query_class"] is not None:
        yield line("class", f"{story['query_class']}, {_why(story['classified'])}")
    yield from window(story, context_window)
    if documents := story["documents"]:
        admitted = sum(one["decision"] == "admitted" for one in documents)
        why = ", ".join(f"{reason} {number}" for reason, number in sorted(story["dropped"].items()))
        yield line(
            "documents", f"{admitted} admitted, {len(documents) - admitted} dropped" + (f": {why}" if why else "")
        )
        yield from table(documents)
    for result in story.get("tool_results", ()):
        yield line("tool", _tool_result(result))
    if told := story.get("redactions"):
        yield line("messages", ", ".join(_redacted(told)))
    for name, says in (("history_dropped", "history"), ("examples_dropped", "examples")):
        if gone := story.get(name):
            yield line(says, f"{len(gone)} messages left out: {_ranges(gone)}")
    if gone := story.get("tools_removed"):
        yield line("tools", f"taken away: {', '.join(map(printable, gone))}")
    if edits := story.get("edits"):
        yield line("edits", ", ".join(edits))


def aftermath(story: Record) -> Iterator[str]:
    """What happened then."""
    yield line("tokens", tokens(story))
    if cited := story["cited"]:
        said = {name: " ".join(f"[{label}]" for label in cited[name]) for name in ("verified", "invented", "uncited")}
        yield line("citations", ", ".join(f"{name} {printable(labels)}" for name, labels in said.items() if labels))
    if timings := story["timings_ms"]:
        yield line("time", ", ".join(f"{name.replace('_', ' ')} {took:.1f} ms" for name, took in timings.items()))
    if refused := story.get("calls_refused"):
        yield line("calls", f"{refused} to tools that the request does not have, none handed on")
    if story["finish_reason"] or story["disconnected"]:
        gone = ", the client had gone" if story["disconnected"] else ""
        yield line("finish", f"{printable(story['finish_reason'] or 'unknown')}{gone}")
    for note in story["notes"]:
        yield line("note", printable(note))


def window(story: Record, context_window: int | None = None) -> Iterator[str]:
    """The bar, its legend, and the equation of the evidence's budget; every number in tokens."""
    terms = story["window"]
    if terms is None:
        yield from _unplanned(story, context_window)
        return
    known = {**terms, "evidence_tokens": story["evidence_tokens"]}
    parts = [(letter, name, sum(known[field] for field in fields)) for letter, name, fields in SEGMENTS]
    yield from _bar(parts, terms["input_limit"])
    if story["documents"]:
        spent = [(name, number) for _, name, number in parts if number and name != "evidence"]
        left = terms["input_limit"] - sum(number for _, number in spent)
        minus = "".join(f" - {number:,} {name}" for name, number in spent)
        lesser = f"min({terms['evidence_ceiling']:,}; {terms['input_limit']:,}{minus} = {left:,})"
        yield line("budget", f"evidence {terms['evidence_budget']:,} = {lesser}")


def tokens(story: Record) -> str:
    """Counted and billed, in one line."""
    counted, billed = story["counted"], story["billed"]
    words = "not counted"
    if counted is not None:
        margin = f" ±{counted['margin']}" if counted["margin"] else ""
        words = f"counted {counted['tokens']:,} ({counted['basis']}{margin})"
    if billed is None:
        return f"{words}, not billed"
    words += f", billed {billed['prompt_tokens']:,}"
    if story["count_error"] is not None:
        words += f", difference {story['count_error']:+,}" if story["count_error"] else ", no difference"
    return f"{words}; answer {billed['completion_tokens']:,}"


def table(documents: Sequence[Record]) -> Iterator[str]:
    """A line a document, the admitted first, in the order in which the model sees them."""
    ordered = sorted(documents, key=_shown)
    # Who may not be seen has no name here either.
    names = [printable(one["id"] or f"({one['digest']})") for one in ordered]
    wide = min(32, max(map(width, names)))
    for one, name in zip(ordered, names, strict=True):
        label = f"[{one['label']}]" if one["label"] else "-"
        yield f"{INDENT}{label:<6}{pad(name, wide)} {one['tokens']:>6,}  {_fate(one)}".rstrip()


def line(name: str, text: str) -> str:
    """A name and what it is, in two columns."""
    return f"{name:<{len(INDENT)}}{text}"


def printable(value: object) -> str:
    """The text with everything that is not a visible character or a space as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in str(value))


def width(text: str) -> int:
    """Cells that a terminal gives the text."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def clipped(text: str, cells: int) -> str:
    """The text in at most so many cells; what is longer ends in an ellipsis."""
    if width(text) <= cells:
        return text
    while width(text) > cells - 1:
        text = text[:-1]
    return text + "…"


def pad(text: str, cells: int) -> str:
    """The text in exactly so many cells."""
    text = clipped(text, cells)
    return text + " " * (cells - width(text))


def _bar(parts: Sequence[tuple[str, str, int]], whole: int) -> Iterator[str]:
    unused = max(0, whole - sum(number for _, _, number in parts))
    whole = max(1, sum(number for _, _, number in parts) + unused)
    cells = {letter: max(1, round(BAR * number / whole)) for letter, _, number in parts if number}
    while sum(cells.values()) > BAR:
        cells[max(cells, key=cells.__getitem__)] -= 1
    drawn = "".join(letter * number for letter, number in cells.items())
    yield line("window", f"|{drawn:·<{BAR}}| {whole:,}")
    legend = [f"{letter} {name} {number:,}" for letter, name, number in parts if number]
    yield f"{INDENT}{'  '.join([*legend, f'· unused {unused:,}'])}"


def _unplanned(story: Record, context_window: int | None) -> Iterator[str]:
    counted = story["counted"]
    if counted is None or context_window is None:
        yield line("window", "not planned")
        return
    yield from _bar([("P", "prompt as it came", counted["tokens"])], context_window)


def _shown(one: Record) -> tuple[bool, int, int]:
    label = one["label"]
    return label is None, int(label[1:]) if label else 0, one["position"]


def _fate(one: Record) -> str:
    words = []
    form = one.get("form", "whole")
    if one["reason"] is not None:
        words.append(one["reason"] + (f": {printable(one['detail'])}" if one["detail"] else ""))
    elif one["spans"] or form != "whole":
        words.append(f"{'excerpt' if form == 'whole' else form}, of {one['tokens_before']:,}")
    if one["reason"] is None and one["detail"]:
        words.append(printable(one["detail"]))
    if one["also_in"]:
        words.append(f"also in {', '.join(map(printable, one['also_in']))}")
    if one.get("disputes"):
        words.append(f"disagrees with {', '.join(map(printable, one['disputes']))}")
    if one["stripped"]:
        words.append(f"{one['stripped']} invisible characters removed{_at(one.get('stripped_spans'))}")
    if one["neutralised"]:
        words.append(f"{one['neutralised']} control strings broken{_at(one.get('neutralised_spans'))}")
    for other in one.get("cleanings", ()):
        if other["stripped"]:
            words.append(f"{other['stripped']} removed in its {other['where']}{_at(other['stripped_spans'])}")
        if other["neutralised"]:
            words.append(f"{other['neutralised']} broken in its {other['where']}{_at(other['neutralised_spans'])}")
    words += _redacted(one.get("redactions", ()))
    if one.get("message") is not None:
        words.append(f"in message {one['message']}")
    return "; ".join(words)


def _why(classified: Record) -> str:
    cue = f" {clipped(printable(classified['cue']), 48)}" if classified["cue"] else ""
    return f"by {classified['by']}{cue}" + (", a follow-up" if classified["follow_up"] else "")


def _at(spans: Sequence[Sequence[int]] | None) -> str:
    """Where, in code points: the first few."""
    if not spans:
        return ""
    shown = [f"{start}-{end}" for start, end in spans[:SPANS]]
    return f" at {' '.join(shown)}{' ...' if len(spans) > SPANS else ''}"


def _redacted(redactions: Sequence[Record]) -> Iterator[str]:
    """Each value that a placeholder stands for."""
    for one in redactions:
        place = one["where"]
        where = "" if place == "text" else f" in {'' if place.startswith('messages[') else 'its '}{place}"
        times = f" {one['times']} times" if one["times"] > 1 else ""
        yield f"{one['rule']}#{one['number']} redacted{where}{times}{_at(one['spans'])}"


def _tool_result(result: Record) -> str:
    name = printable(result["tool"] or "unnamed")
    if result.get("withheld"):
        return f"{name}: {result['bytes_before']:,} bytes, left out: {printable(result['withheld'])}"
    done = ""
    if result.get("redacted"):
        done += f", {result['redacted']:,} values redacted"
        done += "".join(f", {said}" for said in _redacted(result.get("redactions", ())))
    if result.get("cleaned"):
        done += f", {result['cleaned']:,} removed or broken{_at(result['cleaned_spans'])}"
        broken = result.get("neutralised_spans")
        done += f", broken{_at(broken)}" if broken else ""
    if not result["capped"]:
        return f"{name}: {result['bytes_before']:,} bytes{done or ', whole'}"
    rows = "" if result["rows_before"] is None else f", {result['rows_after']:,} of {result['rows_before']:,} rows"
    return f"{name}: cut to {result['bytes_after']:,} of {result['bytes_before']:,} bytes{rows}{done}"


def _ranges(numbers: Sequence[int]) -> str:
    """1, 2, 3, 7 as 1-3, 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
