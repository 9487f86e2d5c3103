"""An excerpt: the sentences of a passage that a question needs, whole, in the order of the text.

Knows: which of a passage's units say most about a question, and how to join them so that gaps show.
Does not know: where units end (the text does), what a token is (counts are asked for), why there is so little room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from msgspec import Struct

from elbowroom.clean.text import Text
from elbowroom.count.counter import Tally
from elbowroom.needs import Steps

ELISION = "[…]"  # an author writes "..."; the brackets say that somebody else left something out

# What a unit gets of its neighbours' worth: an answer stands beside the words of the question, rather behind them.
AFTER, BEFORE = 0.5, 0.25
# A text opens with what it is about: share of all that the question is worth.
LEAD = 0.15

_MARK = 2  # tokens that an elision costs, roughly
_LOOK = 3  # units beyond so many times the room are not even counted
_SAFER = (1.0, 0.94, 0.8)  # shares of the room; tokens at borders are not exactly the sum of both sides

Spans = tuple[tuple[int, int], ...]


class Excerpt(Struct, frozen=True):
    body: str
    tokens: int  # of the body and the newline after it
    spans: Spans  # of the cleaned text, code points; ascending, apart


def excerpt(text: Text, tokens: int, weights: Mapping[str, float], room: int, tally: Tally) -> Steps[Excerpt | None]:
    """The best excerpt that costs at most `room` tokens; None where not even one unit does.

    `tokens` is what the whole text costs, `weights` what each term of the question is worth. Two questions are asked:
    what the most telling units cost, and what a body of the best of them costs, a little more and a little less full.
    """
    order = _most_telling_first(text, weights)
    order = order[: _within(text, order, _LOOK * room * len(text.clean) / tokens)]
    units = [tally.body(text.clean[start:end]) for start, end in text.sentences]
    wanted = {at for unit in order for at in _with_header(text, unit)}
    yield from tally.measure((units[at] for at in sorted(wanted)), recurring=False)
    costs = {at: tally.tokens[units[at]] for at in wanted}
    choices = dict.fromkeys(_fill(text, order, costs, room * share) for share in _SAFER)
    bodies = [(join(text.clean, spans), spans) for spans in choices if spans]
    yield from tally.measure((tally.body(body) for body, _ in bodies), recurring=False)
    for body, spans in bodies:
        tokens = tally.tokens[tally.body(body)]
        if tokens <= room:
            return Excerpt(body, tokens, spans)
    return None


def join(clean: str, spans: Spans) -> str:
    """The spans of the text, and a mark for whatever was left out before, between and after them.

    The mark has a line of its own where lines were left out, so that rows and items stay rows and items.
    """
    body = ""
    at = 0
    for start, end in spans:
        if start > at:
            body += _gap(clean[at:start], before=bool(body), after=True)
        body += clean[start:end]
        at = end
    return body + _gap(clean[at:], before=True, after=False) if at < len(clean) else body


def _gap(left_out: str, *, before: bool, after: bool) -> str:
    space = "\n" if "\n" in left_out else " "
    return space * before + ELISION + space * after


def _most_telling_first(text: Text, weights: Mapping[str, float]) -> list[int]:
    # fsum: sets have no order, and the same terms must give the same sum.
    own = [fsum(weights[term] for term in weights.keys() & terms.keys()) for terms in text.sentence_terms]
    worth = list(own)
    worth[0] += LEAD * sum(weights.values())
    for at in range(1, len(own)):
        worth[at] += AFTER * own[at - 1]
        worth[at - 1] += BEFORE * own[at]
    return sorted(range(len(own)), key=lambda at: (-worth[at], at))


def _within(text: Text, order: Sequence[int], characters: float) -> int:
    """How many of the units `characters` hold, at least one."""
    for many, at in enumerate(order):
        characters -= text.sentences[at][1] - text.sentences[at][0]
        if characters < 0:
            return max(1, many)
    return len(order)


def _with_header(text: Text, at: int) -> tuple[int, ...]:
    header = text.units[at].header
    return (at,) if header is None else (header, at)


def _fill(text: Text, order: Sequence[int], costs: Mapping[int, int], room: float) -> Spans:
    """The most telling units that `room` holds, a row never without its table's header; neighbours joined."""
    chosen: set[int] = set()
    room -= _MARK
    for unit in order:
        wanted = [at for at in _with_header(text, unit) if at not in chosen]
        cost = sum(costs[at] + _MARK * (at - 1 not in chosen and at + 1 not in chosen) for at in wanted)
        if cost <= room:
            chosen.update(wanted)
            room -= cost
    spans: list[tuple[int, int]] = []
    last = -2
    for at in sorted(chosen):
        start, end = text.sentences[at]
        spans.append((spans.pop()[0] if at == last + 1 else start, end))
        last = at
    return tuple(spans)
