"""Cases to evaluate with: a question, scored candidates, and the evidence that answers it.

Knows: the shape of a case and of a passage file, and how candidates are spoilt on purpose: without titles, scores or
order, with scores jittered, or only the best few of them.
Does not know: how a case is packed or measured. No dice are thrown: what must look random follows from the case's and
the passage's id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from elbowroom.account.evaluate import Alternative, Expected
from elbowroom_proxy.cli import lines

Passages = Mapping[str, Mapping[str, Any]]
Part = Literal["titles", "scores", "order"]


class Variant(Struct, frozen=True):
    """How the candidates differ from the file's."""

    without: tuple[Part, ...] = ()
    jitter: float = 0.0  # share of the range of a case's scores by which each may be moved, up or down
    top_k: int | None = None  # only so many, the best by their scores

    def __str__(self) -> str:
        words = [f"without {part}" for part in self.without]
        words += [f"scores jittered by {self.jitter:g} of their range"] if self.jitter else []
        words += [f"the best {self.top_k}"] if self.top_k is not None else []
        return ", ".join(words) or "as given"


class Case(Struct, frozen=True, kw_only=True):
    """One case, its documents as they will be tagged."""

    id: str
    lang: str | None = None
    dataset: str | None = None
    query_class: str | None = None
    question: str
    history: tuple[dict[str, Any], ...] = ()
    documents: tuple[dict[str, Any], ...]
    expected: Expected
    texts: dict[str, str]  # of the expected passages, by id
    answer: str | None = None  # what some model said, with [S1] or ids in brackets

    def request(self, model: str) -> bytes:
        """The chat body that a client would send."""
        messages = [*self.history, {"role": "user", "content": self.question}]
        return json.dumps({"model": model, "messages": messages, "documents": self.documents}).encode()

    def varied(self, variant: Variant) -> Case:
        """The case with its candidates spoilt."""
        documents = [dict(one) for one in self.documents]
        if variant.jitter:
            self._jitter(documents, variant.jitter)
        if variant.top_k is not None:
            documents.sort(key=lambda one: -one.get("score", 0.0))
            del documents[variant.top_k :]
        for one in documents:
            if "titles" in variant.without:
                one.pop("title", None)
            if "scores" in variant.without:
                one.pop("score", None)
        if "order" in variant.without:
            documents.sort(key=lambda one: self._draw("order", one))
        return msgspec.structs.replace(self, documents=tuple(documents))

    def _jitter(self, documents: list[dict[str, Any]], share: float) -> None:
        scores = [one["score"] for one in documents if "score" in one]
        width = max(scores, default=0.0) - min(scores, default=0.0)
        for one in documents:
            if "score" in one:
                one["score"] += share * width * (2 * self._draw("jitter", one) - 1)

    def _draw(self, purpose: str, document: Mapping[str, Any]) -> float:
        """A number from 0 to 1, the same on every machine."""
        data = "\0".join((purpose, self.id, str(document.get("id")))).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big") / 2**64


class _Alternative(Struct):
    id: str
    quotes: list[str] = []
    match: Literal["any", "all"] = "all"


class _Written(Struct, rename={"query_class": "class"}):
    """A line of a case file."""

    id: str
    question: str
    expected: list[list[_Alternative]]
    lang: str | None = None
    dataset: str | None = None
    query_class: str | None = None
    history: list[dict[str, Any]] = []
    answers: list[str] = []
    long_answer: bool = False
    documents: list[dict[str, Any]] | None = None
    document_ids: list[str] = []
    scores: list[float] | None = None
    answer: str | None = None


def read_passages(data: bytes) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Passages by id, and the faults of lines that are none."""
    found: dict[str, dict[str, Any]] = {}
    faults = []
    for number, row in lines.objects(data):
        if isinstance(row, str):
            faults.append(f"{number}: {row}")
        elif not isinstance(row.get("id"), str) or not isinstance(row.get("text"), str):
            faults.append(f"{number}: a passage needs an id and a text")
        else:
            found[row["id"]] = row
    return found, faults


def read_cases(data: bytes, passages: Passages) -> tuple[list[Case], list[str]]:
    """The cases, and the faults of lines that are none. An id that is there twice is a fault."""
    found: dict[str, Case] = {}
    faults = []
    for number, case in _read(data, passages):
        if isinstance(case, str):
            faults.append(f"{number}: {case}")
        elif case.id in found:
            faults.append(f"{number}: there is another case {case.id}")
        else:
            found[case.id] = case
    return list(found.values()), faults


def _read(data: bytes, passages: Passages) -> Iterator[tuple[int, Case | str]]:
    for number, row in lines.objects(data):
        try:
            yield number, row if isinstance(row, str) else _case(row, passages)
        except ValueError as error:  # msgspec's own is one
            yield number, str(error)


def _case(row: Mapping[str, Any], passages: Passages) -> Case:
    written = msgspec.convert(row, _Written)
    if not written.expected or not all(written.expected):
        raise ValueError("expected is empty, or one of its groups is")
    documents = _documents(written, passages)
    texts = {str(one["id"]): text for one in documents if "id" in one and (text := _text(one))}
    wanted = {one.id for group in written.expected for one in group}
    known = {ident: texts.get(ident) or str(passages.get(ident, {}).get("text", "")) for ident in wanted}
    groups = tuple(
        tuple(Alternative(one.id, tuple(one.quotes), one.match == "any") for one in group) for group in written.expected
    )
    return Case(
        id=written.id,
        lang=written.lang,
        dataset=written.dataset,
        query_class=written.query_class,
        question=written.question,
        history=tuple(written.history),
        documents=documents,
        expected=Expected(groups, tuple(written.answers), written.long_answer),
        texts=known,
        answer=written.answer,
    )


def _documents(written: _Written, passages: Passages) -> tuple[dict[str, Any], ...]:
    """Inline, or by id from the passage file; `scores` go to them in order."""
    if written.documents is not None:
        documents = [dict(one) for one in written.documents]
    else:
        missing = [ident for ident in written.document_ids if ident not in passages]
        if missing:
            raise ValueError(f"no passage has the id {missing[0]}")
        documents = [dict(passages[ident]) for ident in written.document_ids]
    if written.scores is not None:
        if len(written.scores) != len(documents):
            raise ValueError(f"there are {len(documents)} documents and {len(written.scores)} scores")
        for document, score in zip(documents, written.scores, strict=True):
            document["score"] = score
    return tuple(documents)


def _text(document: Mapping[str, Any]) -> str:
    text = document.get("text", document.get("content"))
    return text if isinstance(text, str) else ""
