"""What a large tool result costs to clean and to cut, beside parsing it once: `python -m bench.results`.

Knows: 5,000 rows in several scripts; the best of many tries, in time of this process alone; the bound, above which it
fails.
Does not know: what tokens cost to count (that is asked of others), or anybody's real results.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial

from elbowroom.clean.known import Known
from elbowroom.clean.result import clean_result
from elbowroom.count.counter import Tally
from elbowroom.decide.toolresult import cap
from elbowroom.needs import NeedCounts

TRIES = 15
ROWS = 5_000
BOUND = 3  # parsings
NOTES = {
    "English": "refund policy " * 27,
    "markup, links and lists": "<b>item</b> #4 [x](https://shop.example/a?b=1): " * 8,
    "German, French": "Zürich, Straße, café – Rückgabe " * 12,
    "Chinese": "退款需要三十天，请提供订单号。" * 9,
    "Chinese, markup and links": "<b>退款</b> [订单](x)，#4：" * 9,
    "Japanese, full-width forms": "【重要】［注］（株）ＡＢＣ＜見出し＞リスト：" * 8,
    "Russian": "Возврат возможен в течение месяца, " * 10,
}


def text_of(note: str, *, ascii_only: bool) -> str:
    rows = [{"id": at, "note": f"{note} {at}", "tags": ["a", "b"], "ok": True} for at in range(ROWS)]
    return json.dumps(rows, ensure_ascii=ascii_only)


def cleaned(text: str, known: Known | None = None) -> None:
    """Cleans and cuts it; without `known` as what nobody has seen."""
    cut(clean_result(text, known or Known(1 << 26)).text)


def fastest(*jobs: Callable[[], object]) -> list[float]:
    """Milliseconds of each; by turns, so that a machine that is busy for a while is so for all of them."""
    best = [float("inf")] * len(jobs)
    for _ in range(TRIES):
        for at, job in enumerate(jobs):
            start = time.process_time()
            job()
            best[at] = min(best[at], 1000 * (time.process_time() - start))
    return best


def cut(text: str) -> str:
    walk = cap(text, max_tokens=4_000, max_rows=200, tally=Tally("none"))
    try:
        need = next(walk)
        while True:
            assert isinstance(need, NeedCounts)
            need = walk.send(tuple(len(one) // 4 for one in need.texts))
    except StopIteration as stop:
        return str(stop.value.text)


def parsings(text: str) -> tuple[float, float]:
    """What it costs the first time and again, in parsings of the same text."""
    known = Known(1 << 26)
    clean_result(text, known)
    parsing, new, again = fastest(
        partial(json.loads, text),
        partial(cleaned, text),
        partial(cleaned, text, known),
    )
    return new / parsing, again / parsing


def main() -> None:
    print("| 5,000 rows | MB | first time | again |", "|---|---|---|---|", sep="\n")
    above = []
    for name, note in NOTES.items():
        for ascii_only in sorted({False, not note.isascii()}):
            text = text_of(note, ascii_only=ascii_only)
            new, again = parsings(text)
            told = f"{name}, as escapes" if ascii_only else name
            print(f"| {told} | {len(text.encode()) / 1e6:.1f} | {new:.1f} | {again:.1f} |")
            above += [told] if round(new, 1) > BOUND else []
    if above:
        raise SystemExit(f"above {BOUND} parsings: {'; '.join(above)}")


if __name__ == "__main__":
    main()
