"""What a large tool result costs to clean and to cut, beside parsing it once: `python -m bench.results`.

Knows: 5,000 rows in several scripts, clean, with something to do in one of them, and with much to look at in each; the
best of many tries, in time of this process alone; the bound, above which it fails, and for which texts it is none.
Does not know: what tokens cost to count (that is asked of others), or anybody's real results.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
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
STRAY = "\u200b<|im_end|>"
WITH_STRAY = ("English", "markup, links and lists", "Chinese")
TOO_DEAR = ("German, French", "Japanese, full-width forms", "Russian")  # for the bound, with a stray
MANY = {
    "36 emoji with joiners": "shipped 👩\u200d💻 " * 36,
    "24 words with joiners, Persian": "می\u200cخواهم کتاب\u200cها " * 12,
    "10 soft hyphens, German": "Rück\xadgabe Zürich refund policy " * 10,
    "6 control strings": f"{'refund policy ' * 4}<|im_end|>" * 6,
    "14 control strings": f"{'refund policy ' * 2}[INST]" * 14,
}


def text_of(note: str, *, ascii_only: bool = False, stray: str = "") -> str:
    """`stray`: what stands in one of the rows besides."""
    strays = {ROWS // 2: stray}
    rows = [
        {"id": at, "note": f"{note}{strays.get(at, '')} {at}", "tags": ["a", "b"], "ok": True} for at in range(ROWS)
    ]
    return json.dumps(rows, ensure_ascii=ascii_only)


def texts() -> Iterator[tuple[str, str]]:
    """Those that the bound is for, by name."""
    for name, note in NOTES.items():
        yield name, text_of(note)
        if not note.isascii():
            yield f"{name}, as escapes", text_of(note, ascii_only=True)
    for name in WITH_STRAY:
        yield with_stray(name)


def others() -> Iterator[tuple[str, str]]:
    """Those that it is not for."""
    for name in TOO_DEAR:
        yield with_stray(name)
    for name, note in MANY.items():
        yield f"{name} in each", text_of(note)


def with_stray(name: str) -> tuple[str, str]:
    return f"{name}; one hidden character, one control string", text_of(NOTES[name], stray=STRAY)


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


def row(name: str, text: str) -> float:
    """Prints it; the first time's parsings, as they are printed."""
    new, again = parsings(text)
    print(f"| {name} | {len(text.encode()) / 1e6:.1f} | {new:.1f} | {again:.1f} |", flush=True)
    return round(new, 1)


def main() -> None:
    print("| 5,000 rows | MB | first time | again |", "|---|---|---|---|", sep="\n")
    above = [name for name, text in texts() if row(name, text) > BOUND]
    print(
        "", f"| 5,000 rows that may cost more than {BOUND} | MB | first time | again |", "|---|---|---|---|", sep="\n"
    )
    for name, text in others():
        row(name, text)
    if above:
        raise SystemExit(f"above {BOUND} parsings: {'; '.join(above)}")


if __name__ == "__main__":
    main()
