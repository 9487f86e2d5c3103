"""The sift: before anything is packed, out goes what no packer should see.

Knows: whom to prefer among passages that say the same, and that the one who stays stands for those who go.
Does not know: any reason to refuse (the gates do), tokens or budgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from elbowroom.decide.dates import day
from elbowroom.decide.passage import Dropped, Gate, Passage, Room
from elbowroom.records import Drop


def sift(
    passages: Sequence[Passage], gates: Sequence[tuple[Drop, Gate]]
) -> tuple[tuple[Passage, ...], tuple[Dropped, ...], Mapping[int, tuple[str, ...]]]:
    """Who stays, by rank; who goes, by position; and for a kept position the ids of those who say the same.

    Gates are asked in their order and the first refusal counts. Passages come to them in order of preference: higher
    authority, then the newer, then the better rank, then the earlier position. A passage that stays takes over the best
    rank and relevance among those that it stands for: their text is its text.
    """
    kept: list[Passage] = []
    dropped: list[Dropped] = []
    alike: dict[int, list[Passage]] = {}  # by the position of the one who stays
    room = Room(kept)
    for passage in sorted(passages, key=_unloved):
        for reason, gate in gates:
            refusal = gate(passage, room)
            if refusal is not None:
                dropped.append(Dropped(passage, reason, refusal.detail))
                if refusal.repeats is not None:
                    alike.setdefault(refusal.repeats.document.position, []).append(passage)
                break
        else:
            kept.append(passage)
    also_in: dict[int, tuple[str, ...]] = {}
    for at, passage in enumerate(kept):
        others = alike.get(passage.document.position)
        if others:
            kept[at] = _for_all(passage, others)
            ids = dict.fromkeys(other.document.id for other in others)
            ids.pop(passage.document.id, None)
            also_in[passage.document.position] = tuple(ids)
    kept.sort(key=lambda one: one.rank)
    dropped.sort(key=lambda one: one.passage.document.position)
    return tuple(kept), tuple(dropped), also_in


def _for_all(passage: Passage, others: Sequence[Passage]) -> Passage:
    rank = min(passage.rank, *(other.rank for other in others))
    return replace(passage, rank=rank, relevance=max(passage.relevance, *(other.relevance for other in others)))


def _unloved(passage: Passage) -> tuple[float, int, int, int]:
    """Sorts the most preferred first."""
    return -passage.authority, -day(passage.document), passage.rank, passage.document.position
