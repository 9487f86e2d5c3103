"""A tool's result within its caps: as many rows, or as much of both ends, as the tokens allow.

Knows: how to find that number in few questions.
Does not know: how a shape is cut (`shapes`), which caps a policy sets, or whether a tool could be asked for more: a
notice says what is missing and never promises a way to get it.
"""

from __future__ import annotations

from msgspec import Struct

from elbowroom.count.counter import Tally
from elbowroom.decide.shapes import Shape, shapes
from elbowroom.needs import Steps

# No text worth sending has more bytes a token over its whole length; what has is taken for too long without a question.
_BYTES_PER_TOKEN = 8
_SHRINKS = 3


class Capped(Struct, frozen=True):
    text: str
    tokens: int
    rows_before: int | None  # None where a text has no rows
    rows_after: int | None
    capped: bool


def cap(
    text: str, *, max_tokens: int, max_rows: int, tally: Tally, max_bytes: int | None = None, more: str = ""
) -> Steps[Capped]:
    """The text, or as much of it as `max_tokens`, `max_rows` and `max_bytes` allow, with a notice of how much that is.

    `more` ends the notice: how to get what is left out, if there is a way.

    JSON stays JSON and tables keep their header; rows are moved as they came. Asks at most one question about the whole
    and four about each way of cutting. Where not even one row or sentence fits, the notice stands alone, even if it is
    longer than `max_tokens`.
    """
    longest = _BYTES_PER_TOKEN * max_tokens
    if max_bytes is not None:
        longest = min(longest, max_bytes)
    ways = shapes(text, most=max_rows, window=longest, more=more)
    first = next(ways)
    if (first.rows or 0) <= max_rows and len(text.encode("utf-8", "surrogatepass")) <= longest:
        yield from tally.measure([text])
        if tally.tokens[text] <= max_tokens:
            return Capped(text, tally.tokens[text], first.rows, first.rows, capped=False)
    tried = []
    for way in (first, *ways):
        kept = yield from _fit(way, max_tokens, longest, tally)
        if kept:
            return _capped(way, kept, tally)
        tried.append(way)
    least = min(tried, key=lambda way: len(way.text(0)))
    yield from tally.measure([least.text(0)])
    return _capped(least, 0, tally)


def _capped(way: Shape, kept: int, tally: Tally) -> Capped:
    text = way.text(kept)
    rows_after = None if way.rows is None else kept if way.counts else 1
    return Capped(text, tally.tokens[text], way.rows, rows_after, capped=True)


def _fit(way: Shape, max_tokens: int, longest: int, tally: Tally) -> Steps[int]:
    """How many units may stay, by the sum of their tokens; for where counts do not add up, the whole is checked.

    Head, units, notice and tail have `longest` bytes at most.
    """
    around = way.head + way.tail
    if len(around) > 2 * max_tokens:  # half of the room, or more, for what is not cut
        return 0
    candidates = []
    size = len(f"{around}{way.notice(way.most)}".encode("utf-8", "surrogatepass"))
    for unit in way.order():
        size += len(unit.encode("utf-8", "surrogatepass"))
        if size > longest:
            break
        candidates.append(unit)
    if not candidates:
        return 0
    notice = way.notice(len(candidates))
    yield from tally.measure([way.head, notice, way.tail, *candidates], recurring=False)
    left = max_tokens - sum(tally.tokens[text] for text in (way.head, notice, way.tail))
    kept = 0
    for unit in candidates:
        left -= tally.tokens[unit]
        if left < 0:
            break
        kept += 1
    for _ in range(_SHRINKS):
        if not kept:
            break
        text = way.text(kept)
        yield from tally.measure([text])
        over = tally.tokens[text] - max_tokens
        if over <= 0:
            return kept
        while over > 0 and kept:
            kept -= 1
            over -= tally.tokens[candidates[kept]]
    return 0
