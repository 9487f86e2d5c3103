"""Whether the records of a folder are what was written: each writer's chain proved, up to its signed heads.

Knows: which files are whose, where heads and signed words about removed files lie, and that a writer which is only
known from a head has lost all its files.
Does not know: what makes a line right (`elbowroom.account.proof`), or how a verdict is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from elbowroom.account.chain import Head, Removed, heads_in, parse, unsealed
from elbowroom.account.proof import Finding, Proof
from elbowroom_proxy.sinks import line
from elbowroom_proxy.sinks.chained import HEADS, heads_of, lines_of, named
from elbowroom_proxy.sinks.jsonl import INTENTS
from elbowroom_proxy.sinks.keeping import REMOVED
from elbowroom_proxy.sinks.read import day_of

AGAIN = 3  # looks, where files go while they are looked at
FIRST_CHAINED = 2  # the version of records from which on each is in a chain


class Verdict(Struct, frozen=True, kw_only=True):
    """What was found in one folder. Without findings, all that is sealed is proved."""

    folder: str
    writers: int = 0
    files: int = 0
    lines: int = 0  # in chains
    sealed: int = 0  # lines up to the farthest signed head of each writer, those of removed files included
    unsealed: int = 0  # lines behind it
    removed: int = 0  # lines of files that went by the rules
    unchained: int = 0  # lines from before there were chains: nothing is known of them
    torn: tuple[str, ...] = ()  # files that end in half a line
    mended: int = 0  # half lines that were cut off, with a signed word
    erased: int = 0  # records whose captured texts were erased, with a signed word
    intents: int = 0  # requests that were to leave
    unfinished: int = 0  # of those, that no record tells the end of
    findings: tuple[Finding, ...] = ()


def verify(folder: Path, key: bytes, heads: Iterable[Head] = ()) -> Verdict:
    """Reads all of a folder. `heads` come from outside, a log for instance, and are already known to be signed."""
    heads = list(heads)
    for _ in range(AGAIN):
        with suppress(FileNotFoundError):  # a file went by the rules meanwhile; the next look finds its word
            return _looked(folder, key, heads)
    return _looked(folder, key, heads)


def _looked(folder: Path, key: bytes, heads: Iterable[Head]) -> Verdict:
    records, promised = _Folder(folder, key), _Folder(folder / INTENTS, key)
    outside = set(heads)
    theirs = {head for head in outside if head.writer in promised.writers}
    intents: set[str] = set()
    promised.prove(theirs, intents.add)
    unfinished = set(intents)
    records.prove(outside - theirs, unfinished.discard if intents else None)
    return Verdict(
        folder=str(folder),
        writers=len(records.writers),
        files=len(records.files),
        lines=records.lines,
        sealed=records.sealed,
        unsealed=records.unsealed + promised.unsealed,
        removed=records.removed,
        unchained=records.unchained,
        torn=(*records.torn, *promised.torn),
        mended=records.mended + promised.mended,
        erased=records.erased,
        intents=len(intents),
        unfinished=len(unfinished),
        findings=(*records.findings, *promised.findings),
    )


class _Folder:
    """One folder of one kind of lines, as it was when it was first looked at."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder = folder
        self._key = key
        self.findings: list[Finding] = []
        self.torn: list[str] = []
        self.lines = self.sealed = self.unsealed = self.removed = self.unchained = 0
        self.mended = self.erased = 0
        # Heads before files: what a living writer adds in between is behind its head then.
        self._heads = dict(self._signed())
        self.files = sorted(folder.glob("*.jsonl"))
        self._words = list(self._signed_words())  # after the files: what went before has its word by now
        self._own: dict[str | None, list[Path]] = {}
        for path in self.files:
            name = named(path)
            self._own.setdefault(name.writer if name is not None else None, []).append(path)
        named_heads = {head.writer for heads in self._heads.values() for head in heads}
        self.writers = {*self._own, *self._heads, *named_heads, *(word.writer for word in self._words)} - {None}

    def prove(self, outside: Iterable[Head], ids: Callable[[str], object] | None = None) -> None:
        """Walks every chain; `ids` is told each line's trace id."""
        if self._heads and not any(self._heads.values()):
            # One word instead of one a line: most likely it is the wrong secret.
            says = "nothing in here was signed with this key"
            self.findings = [Finding("not_signed", self._folder.name, says)]
            return
        for path in self._own.get(None, ()):
            self._unchained(path, ids)
        every = {head for heads in (*self._heads.values(), outside) for head in heads}
        self.writers |= {head.writer for head in every}
        left = {*self._own, *(word.writer for word in self._words)}
        for writer in sorted(filter(None, self.writers)):
            words = [word for word in self._words if word.writer == writer]
            heads = [head for head in every if head.writer == writer]
            proof = Proof(self._key, writer, heads, words)
            for path in sorted(self._own.get(writer, ()), key=_number):
                for at, raw in self._whole_lines(path):
                    proof.line(raw, f"{path.name}:{at}")
                    if ids is not None:
                        ids(_trace_id(raw))
                self._named_rightly(path)
            proof.end()
            self.findings += proof.findings
            if heads and writer in left and writer not in self._heads:
                says = "its own head is gone; lines behind those that others signed may be gone with it"
                self.findings.append(Finding("no_head", writer, says))
            self.lines += proof.lines
            self.sealed += proof.sealed
            self.unsealed += proof.unsealed
            self.removed += proof.removed

    def _named_rightly(self, path: Path) -> None:
        """By its name a file is taken for past its time."""
        if (day := day_of(path)) not in (None, path.name[:10]):
            says = f"its name says {path.name[:10]}, its lines are of {day}"
            self.findings.append(Finding("moved", path.name, says))

    def _whole_lines(self, path: Path) -> Iterator[tuple[int, bytes]]:
        for at, raw in enumerate(lines_of(path), start=1):
            if raw.endswith(b"\n"):
                yield at, raw[:-1]
            else:
                self.torn.append(path.name)

    def _unchained(self, path: Path, ids: Callable[[str], object] | None) -> None:
        """A file that names no writer: from before there were chains, or made to look like it."""
        for at, raw in self._whole_lines(path):
            if ids is not None:
                ids(_trace_id(raw))
            version = (line.plain(raw) or {}).get("version", 1)
            if parse(raw) is not None or version not in range(1, FIRST_CHAINED):
                says = "a line of a chain, or of a time when each was in one, in a file that names no writer"
                self.findings.append(Finding("unchained", f"{path.name}:{at}", says))
            else:
                self.unchained += 1

    def _signed(self) -> Iterator[tuple[str, tuple[Head, ...]]]:
        """By writer: its own head, and those of others that it signed when it began."""
        for path in sorted(heads_of(self._folder / HEADS)):
            front, _, rest = path.read_bytes().partition(b"\n")
            own = [head for head in heads_in(self._key, front.decode("ascii", "replace")) if head.writer == path.name]
            told = unsealed(self._key, rest.rstrip(b"\n"))
            if not own or told is None:
                says = "the file of its heads is damaged, or was not signed with this key"
                self.findings.append(Finding("not_signed", path.name, says))
            others = heads_in(self._key, " ".join(told["heads"])) if told is not None else []
            yield path.name, (*own, *others)

    def _signed_words(self) -> Iterator[Removed]:
        for path in sorted((self._folder / REMOVED).glob("*.json")):
            told = unsealed(self._key, path.read_bytes())
            if told is None:
                says = "a word about something that was removed is damaged, or was not signed with this key"
                self.findings.append(Finding("not_signed", path.name, says))
            elif told["why"] == "torn":
                self.mended += 1
            elif told["why"] == "erased":
                self.erased += 1
            elif told["why"] == "over":  # as far as it came, where its files and the file of its heads went
                for head in heads_in(self._key, told["head"]):
                    self._heads.setdefault(head.writer, (head,))
            else:
                yield msgspec.convert(told, Removed)


def _number(path: Path) -> int:
    name = named(path)
    return name.number if name is not None else 0


def _trace_id(raw: bytes) -> str:
    return str((line.plain(raw) or {}).get("trace_id"))
