"""What bills say about counts: kept for each model and shape of request, and told to the engine as margins.

Knows: how many differences are looked back on, when one is more than its count allowed for, and by which words
upstreams refuse a prompt as too long.
Does not know: how anything is counted, or what the engine makes of what was learned.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Iterable, Mapping

from msgspec import Struct

from elbowroom.records import Basis, Count, Learned, Model
from elbowroom_proxy.ports import Differences

LAST = 64  # differences that are looked back on
LAST_REFUSED = 8
REFUSED = "refused"
LEAST = 64  # tokens that a refusal which names no number is taken for, and a twentieth of the count if that is more
SHAPES = 4_096  # that are kept in memory, of all models together; there are 128 a model and basis

_NUMBER = re.compile(
    rb"resulted in (\d{1,9}) tokens|\((\d{1,9}) in the messages|has (\d{1,9}) input tokens|too long: (\d{1,9}) tokens"
    rb"|context limit: (\d{1,9}) \+|input token count \(?(\d{1,9})"
)
_TOO_LONG = re.compile(rb"context_length_exceeded|maximum context length|prompt is too long|exceed context limit")
_READ = 1 << 13  # bytes of an error's body


class Row(Struct, frozen=True):
    """The differences of one shape, the latest first: billed minus counted, in tokens."""

    upstream: str
    model: str
    shape: str
    basis: str  # of the counts; or "refused": by how much counts were too low that were refused
    differences: tuple[int, ...]


class Calibration:
    """Differences of this process, and of whoever else shares the store. Margins of a model are asked by request."""

    def __init__(self, store: Differences | None = None) -> None:
        self._store = store
        self._kept: dict[str, deque[int]] = {}
        self._learned: dict[str, dict[str, Learned]] = {}  # upstream and model -> shape
        self._writing: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Takes over what the store knows; nothing where it cannot be reached."""
        known = await self._store.lists() if self._store is not None else None
        for key, values in (known or {}).items():
            if len(key.split("\t")) == 4 and len(self._kept) < SHAPES:
                self._kept[key] = deque(values, _most(key))
                self._learn(key)

    async def close(self) -> None:
        if self._writing:
            await asyncio.wait(self._writing)

    def learned(self, model: Model) -> Mapping[str, Learned]:
        """By shape."""
        return self._learned.get(_of(model), {})

    def billed(self, model: Model, shape: str, counted: Count, billed: int) -> bool:
        """Keeps one difference; True where the bill is outside of what the count said of itself."""
        difference = billed - counted.tokens
        self._keep(f"{_of(model)}\t{shape}\t{counted.basis.value}", difference)
        below = counted.basis is not Basis.BOUNDED and -difference > counted.margin
        return difference > counted.margin or below

    def refused(self, model: Model, shape: str, counted: Count, body: bytes) -> None:
        """Keeps what an upstream's refusal as too long says about a count that fitted."""
        said = _NUMBER.search(body[:_READ])
        if said is not None:
            difference = int(next(filter(None, said.groups()))) - counted.tokens
        else:
            difference = counted.margin + max(LEAST, counted.tokens // 20)
        if difference > counted.margin:  # else the count was right, and the window is not as it was configured
            self._keep(f"{_of(model)}\t{shape}\t{REFUSED}", difference)

    def rows(self) -> Iterable[Row]:
        """All that is kept, by name."""
        for key in sorted(self._kept):
            upstream, model, shape, basis = key.split("\t")
            yield Row(upstream, model, shape, basis, tuple(self._kept[key]))

    def _keep(self, key: str, difference: int) -> None:
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= SHAPES:
                return
            kept = self._kept[key] = deque(maxlen=_most(key))
        kept.appendleft(difference)
        self._learn(key)
        if self._store is not None:
            task = asyncio.get_running_loop().create_task(self._store.push(key, difference, _most(key)))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    def _learn(self, key: str) -> None:
        upstream, model, shape, _ = key.split("\t")
        start = f"{upstream}\t{model}\t{shape}\t"
        differences = self._kept.get(start + Basis.CALIBRATED.value, ())
        refused = self._kept.get(start + REFUSED, ())
        learned = Learned(max(map(abs, differences), default=0), len(differences), max([0, *refused]))
        self._learned.setdefault(f"{upstream}\t{model}", {})[shape] = learned


def too_long(status: int, body: bytes) -> bool:
    """Whether an upstream's error says that the prompt is longer than its window."""
    head = body[:_READ]
    return status in (400, 413) and (_TOO_LONG.search(head) or _NUMBER.search(head)) is not None


def _of(model: Model) -> str:
    return f"{model.upstream}/{model.upstream_model}\t{model.name}"


def _most(key: str) -> int:
    return LAST_REFUSED if key.endswith(f"\t{REFUSED}") else LAST
