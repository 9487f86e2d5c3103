"""The sift: before anything is packed, out goes what no packer should see.

Knows: whom to prefer among passages that say the same, that the one who stays stands for those who go, and which of
those who stay disagree.
Does not know: any reason to refuse (the gates do), tokens or budgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from elbowroom.decide.alike import Alike
from elbowroom.decide.dates import day
from elbowroom.decide.passage import Dropped, Gate, Passage, Room
from elbowroom.decide.versions import newer_first, same_subject
from elbowroom.records import Drop

Ids = Mapping[int, tuple[str, ...]]  # by the position of a kept passage


class Sifted(Struct, frozen=True):
    kept: tuple[Passage, ...]  # by rank
    dropped: tuple[Dropped, ...]  # by position
    also_in: Ids  # ids of dropped passages that say the same
    disputes: Ids  # ids of kept passages that are versions of the same text and say something else


def sift(passages: Sequence[Passage], gates: Sequence[tuple[Drop, Gate]]) -> Sifted:
    """Gates are asked in their order and the first refusal counts.

    Passages come to them in order of preference: higher authority, then the newer, then the better rank, then the
    earlier position. A passage that stays takes over the best rank and relevance among those that it stands for: their
    text is its text. It remembers the shorter of them, for the case that it does not go in whole.
    """
    kept: list[Passage] = []
    dropped: list[Dropped] = []
    repeated: dict[int, list[Passage]] = {}  # by the position of the one who stays
    outdated: dict[int, list[Passage]] = {}
    disputes: dict[int, list[str]] = {}
    compares = any(reason in (Drop.DUPLICATE, Drop.SUPERSEDED) for reason, _ in gates)
    room = Room(kept, alike=Alike())
    for passage in newer_first(sorted(passages, key=_unloved)):
        for reason, gate in gates:
            refusal = gate(passage, room)
            if refusal is not None:
                dropped.append(Dropped(passage, reason, refusal.detail))
                if refusal.repeats is not None:
                    repeated.setdefault(refusal.repeats.document.position, []).append(passage)
                if refusal.yields_to is not None:
                    outdated.setdefault(refusal.yields_to.document.position, []).append(passage)
                break
        else:
            if compares:
                _note_disputes(passage, room, disputes)
            kept.append(passage)
    also_in = {}
    for at, passage in enumerate(kept):
        position = passage.document.position
        others = repeated.get(position, [])
        if others:
            also_in[position] = ids_of(others, passage)
        kept[at] = _for_all(passage, others, [*others, *outdated.get(position, ())])
    return Sifted(
        tuple(sorted(kept, key=lambda one: one.rank)),
        tuple(sorted(dropped, key=lambda one: one.passage.document.position)),
        also_in,
        {position: tuple(ids) for position, ids in disputes.items()},
    )


def ids_of(others: Sequence[Passage], passage: Passage) -> tuple[str, ...]:
    """The ids of the others, each once, without the passage's own."""
    return tuple(one for one in dict.fromkeys(other.document.id for other in others) if one != passage.document.id)


def _note_disputes(passage: Passage, room: Room, disputes: dict[int, list[str]]) -> None:
    for at, like in room.alike.near(passage.text, room.admitted):
        other = room.admitted[at]
        if like.kind == "version" and same_subject(passage, other):
            disputes.setdefault(passage.document.position, []).append(other.document.id)
            disputes.setdefault(other.document.position, []).append(passage.document.id)


def _for_all(passage: Passage, repeated: Sequence[Passage], gone: Sequence[Passage]) -> Passage:
    if not gone:
        return passage
    return replace(
        passage,
        rank=min(passage.rank, *(other.rank for other in gone)),
        relevance=max(passage.relevance, *(other.relevance for other in gone)),
        contained=tuple(other for other in repeated if other.body_tokens < passage.body_tokens),
    )


def _unloved(passage: Passage) -> tuple[float, int, int, int]:
    """Sorts the most preferred first."""
    return -passage.authority, -day(passage.document), passage.rank, passage.document.position
