"""What a chain of records proves: that nothing in it was changed, removed or moved, up to a signed head.

Knows: every way in which lines can be amiss, and that what was removed on purpose has left a signed word.
Does not know: files and folders; lines, heads and those words come in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from elbowroom.account.chain import Head, Removed, follow, parse, start

Kind = Literal["changed", "missing", "moved", "cut", "forged", "unchained", "no_head", "not_signed"]


class Finding(Struct, frozen=True):
    """Something that nobody who keeps to the rules does."""

    kind: Kind
    where: str  # "file:line", or a writer
    says: str


class Proof:
    """One writer's chain, walked line by line in the order of its files."""

    def __init__(self, key: bytes, writer: str, heads: Iterable[Head], removed: Iterable[Removed] = ()) -> None:
        """`heads` are all that is known of this writer from wherever; `removed` are its files that went on purpose."""
        self.findings: list[Finding] = []
        self.lines = 0  # there are
        self.removed = 0  # lines that went on purpose
        self._key = key
        self._heads = sorted(set(heads))
        self._removed = {one.first: one for one in removed}
        self._at = start(key, writer)
        self._seen: dict[int, str] = {0: self._at.mac}
        self._wanted = {head.n for head in self._heads}

    @property
    def sealed(self) -> int:
        """Lines up to the farthest head that holds."""
        return max((head.n for head in self._heads if self._seen.get(head.n) == head.mac), default=0)

    @property
    def unsealed(self) -> int:
        """Lines behind that: they are what they were when they were written, but more may have followed."""
        return max(self._at.n - self.sealed, 0)

    def line(self, raw: bytes, where: str) -> None:
        """The next line, without its line feed."""
        self.lines += 1
        found = parse(raw)
        if found is None:
            self._find("unchained", where, "this line is in no chain: it was put here, or its place was taken away")
            return
        head = found.head
        if head.writer != self._at.writer:
            self._find("moved", where, f"line {head.n} of the writer {head.writer} does not belong here")
            return
        if head.n > self._at.n + 1:
            self._pass_removed(head.n - 1)
        if head.n <= self._at.n:
            self._find("moved", where, f"line {head.n} of its writer comes again, or after line {self._at.n}")
            return
        if head.n > self._at.n + 1:
            self._missing(self._at.n + 1, head.n - 1, f"before {where}")
        elif follow(self._key, self._at, found.body) != head:
            self._find("changed", where, f"line {head.n} of its writer is not what was written, or not where it was")
        self._reach(head)

    def end(self) -> None:
        """After the last line: holds the heads against what there is."""
        self._pass_removed(None)
        writer = self._at.writer
        if not self._heads:
            self._find("no_head", writer, "no signed head of this writer is left")
        for head in self._heads:
            if head.n > self._at.n:
                self._find("cut", writer, f"{head.n} lines were signed, and they end with line {self._at.n}")
            elif head.n in self._seen and self._seen[head.n] != head.mac:
                self._find("forged", writer, f"line {head.n} is not the one that was signed")

    def _pass_removed(self, last: int | None) -> None:
        """Goes on behind files that were removed on purpose, as far as line `last`."""
        while (one := self._removed.get(self._at.n + 1)) is not None and (last is None or one.last <= last):
            self.removed += one.last - one.first + 1
            self._reach(Head(self._at.writer, one.last, one.mac))

    def _reach(self, head: Head) -> None:
        self._at = head
        if head.n in self._wanted:
            self._seen[head.n] = head.mac

    def _missing(self, first: int, last: int, where: str) -> None:
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        self._find("missing", where, f"{lines} of the writer {self._at.writer} went, and no signed word says why")

    def _find(self, kind: Kind, where: str, says: str) -> None:
        self.findings.append(Finding(kind, where, says))
