"""What the gates cost that compare passages with each other: `python -m bench.dedupe_cost`.

Times in ms of processor time, the least of several runs. `known`: what follows from a text alone was worked out before.
`new`: it was not. `forms`: all say other things in the same sentences. `versions`: all are versions of one text, which
is the worst.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial

from elbowroom.clean.text import Text
from elbowroom.decide import gates
from elbowroom.decide.passage import Limits, Passage
from elbowroom.decide.sift import sift
from elbowroom.records import Document

NAMES = ("superseded", "duplicate")
RUNS = 9
LIMITS = Limits(6000, 10, 2, 1500, 48, 8, 0.0, 0.2)
SYLLABLES = ("ka", "lo", "mer", "tin", "su", "bar", "den", "fi", "gor", "hal", "wes", "ny", "pol", "rad", "vu", "zem")


def word(number: int) -> str:
    """A word that only this number has."""
    return "".join(SYLLABLES[number >> shift & 15] for shift in (12, 8, 4, 0))


def unlike(number: int) -> str:
    """A dozen sentences of words that no other number has."""
    words = [word((number * 211 + at) * 40503 & 0xFFFF) for at in range(144)]
    return " ".join(f"The {' '.join(words[at : at + 12])}." for at in range(0, 144, 12))


def form(number: int) -> str:
    """The rows of a form, filled in: other words in the same sentences."""
    return " ".join(f"Part {number + at} is a {word(number * 12 + at)} and was checked by hand." for at in range(12))


def version(number: int) -> str:
    """The same text with another number in it."""
    return unlike(0).replace(".", f" {number}.", 1)


def passages(texts: list[Text]) -> list[Passage]:
    return [
        Passage(Document(at, f"d{at}", text.raw), text, "", 1.0 - at / len(texts), at, 12, 400)
        for at, text in enumerate(texts)
    ]


def cost(make: Callable[[], list[Text]]) -> float:
    least = float("inf")
    for _ in range(RUNS):
        some = passages(make())
        modules = [gates.load(name) for name in NAMES]
        loaded = [(module.REASON, module.build(LIMITS)) for module in modules]
        begin = time.process_time()
        sift(some, loaded)
        least = min(least, time.process_time() - begin)
    return 1000 * least


def main() -> None:
    known = [Text.of(unlike(number)) for number in range(300)]
    kinds: dict[str, Callable[[int], list[Text]]] = {
        "known": lambda n: known[:n],
        "new": lambda n: [Text.of(unlike(number)) for number in range(n)],
        "forms": lambda n: [Text.of(form(number)) for number in range(n)],
        "versions": lambda n: [Text.of(version(number)) for number in range(n)],
    }
    gc.collect()
    gc.freeze()
    print(f"{'':<10}{'30':>9}{'300':>9}{'ratio':>8}")
    for name, make in kinds.items():
        few, many = (cost(partial(make, n)) for n in (30, 300))
        print(f"{name:<10}{few:>9.2f}{many:>9.2f}{many / few:>8.1f}")


if __name__ == "__main__":
    main()
