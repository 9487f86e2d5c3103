"""What is sent of a passage that is too long: the client's own choice of it before ours.

Knows: the order: its highlights, its parent's text from the anchor on, its summary, else the excerpt.
Does not know: why there is so little room. Whatever is sent is made of whole units of a cleaned text, in their order;
the passage keeps its id.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from elbowroom.clean.text import Text, normal
from elbowroom.count.counter import Tally
from elbowroom.decide.excerpt import Spans, excerpt, join
from elbowroom.decide.passage import Admitted, Passage
from elbowroom.needs import Steps

MOST_HIGHLIGHTS = 8  # more of them are no choice
_TAG = re.compile(r"</?[a-z][a-z0-9]{0,9}(?: [^<>]{0,80})?>", re.IGNORECASE)  # search engines mark what they found
_BEGINS = 4  # times the room in units is all that is counted of a parent


def shorter(
    passage: Passage, room: int, weights: Mapping[str, float], parent: Passage | None, tally: Tally
) -> Steps[Admitted | None]:
    """The best form of the passage whose body costs at most `room` tokens; None where nothing of it does."""
    document = passage.document
    if document.highlights:
        bodies = _highlighted(passage.text, document.highlights[:MOST_HIGHLIGHTS])
        found = yield from _first(passage, passage.text, bodies, room, tally, "highlights")
        if found is not None:
            return found
    if passage.parts:
        parent = None
    if parent is not None and document.anchor:
        bodies = yield from _from_anchor(parent, document.anchor, room, tally)
        found = yield from _first(passage, parent.text, bodies, room, tally, "parent")
        if found is not None:
            return found
    summary = passage.text.like("" if passage.parts else document.summary or "")
    if summary.clean:
        yield from tally.measure([tally.body(summary.clean)])
        tokens = tally.tokens[tally.body(summary.clean)]
        if tokens <= room:
            return Admitted(passage, summary.clean, passage.tag_tokens + tokens, form="summary")
    made = yield from excerpt(passage.text, passage.body_tokens, weights, room, tally)
    if made is None:
        return None
    return Admitted(passage, made.body, passage.tag_tokens + made.tokens, made.spans, form="excerpt")


def _first(
    passage: Passage, text: Text, choices: Iterable[Spans], room: int, tally: Tally, form: str
) -> Steps[Admitted | None]:
    """The first choice that fits."""
    bodies = [(join(text.clean, spans), spans) for spans in choices]
    yield from tally.measure((tally.body(body) for body, _ in bodies), recurring=False)
    for body, spans in bodies:
        tokens = tally.tokens[tally.body(body)]
        if tokens <= room:
            return Admitted(passage, body, passage.tag_tokens + tokens, spans, form=form)
    return None


def _highlighted(text: Text, highlights: Sequence[str]) -> list[Spans]:
    """The units that hold the highlights: of all of them, of all but the last, and so on."""
    forms = [normal(text.clean[start:end]) for start, end in text.sentences]
    starts = [0, *accumulate(map(len, forms))]
    whole = "".join(forms)
    choices: list[Spans] = []
    chosen: set[int] = set()
    for highlight in highlights:
        wanted = normal(_TAG.sub("", highlight))
        at = whole.find(wanted) if wanted else -1
        if at >= 0:
            first, last = (bisect_right(starts, place) - 1 for place in (at, at + len(wanted) - 1))
            units = range(first, last + 1)
            chosen.update(units, (header for unit in units if (header := text.units[unit].header) is not None))
            choices.insert(0, _spans(text, chosen))
    return choices


def _from_anchor(parent: Passage, anchor: str, room: int, tally: Tally) -> Steps[list[Spans]]:
    """Its units from the one that the anchor names to the next heading: as many as fit, or one or two less."""
    text = parent.text
    begin = _anchored(text, anchor)
    if begin is None:
        return []
    characters = _BEGINS * room * len(text.clean) / parent.body_tokens
    units: list[tuple[int, str]] = []
    for unit in range(begin, len(text.units)):
        start, end = text.sentences[unit]
        if units and (text.units[unit].kind == "heading" or end - text.sentences[begin][0] > characters):
            break
        units.append((unit, tally.body(text.clean[start:end])))
    yield from tally.measure((body for _, body in units), recurring=False)
    sums = accumulate(tally.tokens[body] for _, body in units)
    fitting = sum(tokens <= room for tokens in sums)
    least = max(1, fitting - 2)
    return [_spans(text, {unit for unit, _ in units[:many]}) for many in range(max(1, fitting), least - 1, -1)]


def _anchored(text: Text, anchor: str) -> int | None:
    """The unit that the anchor names: a heading of that name, else the first unit that holds it."""
    wanted = normal(anchor)
    forms = [normal(text.clean[start:end]) for start, end in text.sentences]
    headings = [at for at, unit in enumerate(text.units) if unit.kind == "heading" and forms[at] == wanted]
    holding = [at for at, form in enumerate(forms) if wanted and wanted in form]
    return next(iter(headings or holding), None)


def _spans(text: Text, units: Iterable[int]) -> Spans:
    """Their spans, neighbours joined."""
    spans: list[tuple[int, int]] = []
    last = -2
    for at in sorted(units):
        start, end = text.sentences[at]
        spans.append((spans.pop()[0] if at == last + 1 else start, end))
        last = at
    return tuple(spans)
