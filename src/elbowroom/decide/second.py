"""A second question to a retriever: for what of the user's question nothing that was admitted speaks of.

Knows: which clauses of the question those are; that what comes back is nobody's word, and goes the way of any document:
access first, then what must not leave, then cleaning; that it may neither be taken for another document nor undo what
was decided by the labels of those that came before.
Does not know: the retriever, or which of the passages are chosen in the end (the same gates and packer as before).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct, structs

from elbowroom.clean.known import Known
from elbowroom.clean.redact import Numbers
from elbowroom.clean.terms import terms
from elbowroom.count.counter import Tally
from elbowroom.decide.access import Denied, Permitted, Rights, accepted, keeps_egress, permit
from elbowroom.decide.evidence import Choice
from elbowroom.decide.fates import keyed
from elbowroom.decide.passage import Admitted, Passage
from elbowroom.decide.prepare import Pieces, prepare, texts_of
from elbowroom.decide.ready import Ready
from elbowroom.decide.redaction import Redacted, redacted
from elbowroom.decide.sufficiency import lacking
from elbowroom.decide.title import title_of
from elbowroom.needs import NeedRetrieve, Retrieval, Steps
from elbowroom.read.documents import read_returned
from elbowroom.read.policy import Policy, QueryClass
from elbowroom.read.returned import returned
from elbowroom.records import Document

LONGEST = 2_000  # characters that are asked at most
_CLAUSE = re.compile(r"(?<=[;?!，；。？！\n])|(?<=[.,])(?=\s)")


class Second(Struct, frozen=True):
    """What came of it."""

    told: Retrieval
    found: Redacted  # the documents that may be seen, what was replaced in them, and whose they are
    passages: tuple[Passage, ...] = ()
    notes: tuple[str, ...] = ()


def second_pass(
    question: str,
    admitted: Sequence[Admitted],
    first: Ready,
    policy: Policy,
    rights: Rights,
    shown_to: Sequence[Collection[str] | None],
    pieces: Pieces,
    tally: Tally,
    known: Known,
    hash_key: bytes,
    numbers: Numbers,
) -> Steps[Second]:
    """Asks once. The passages stand behind those of `first` by rank. Their scores are on a scale of their own, and that
    has the share of 0..1 that they are of all documents.

    `shown_to`: the labels that the model and a reranker accept. A document whose label one of them does not, or beside
    which tools could not have been offered that were, is denied.
    """
    asked, missing = uncovered(question, admitted)
    answer = yield NeedRetrieve(asked)
    text = answer[0] if answer and isinstance(answer[0], str) else None
    before = [*first.request.documents, *(one.document for one in first.denied)]
    start = 1 + max((one.position for one in before), default=-1)
    told = Retrieval("ran" if text is not None else "failed", missing, keyed(asked, hash_key), start)
    documents = tuple(_told_apart(read_returned(returned([text or ""]), start), {one.id for one in before}))
    allowed = _within(permit(documents, rights, {}), first, policy, rights, shown_to)
    alone = Ready(
        structs.replace(first.request, documents=allowed.documents, messages=()),
        first.came,
        edits=first.edits,
        denied=allowed.denied,
        labels=allowed.labels,
        dated=allowed.dated,
    )
    found = yield from redacted(alone, policy, known, numbers)
    documents = found.ready.request.documents
    passages = yield from prepare(documents, texts_of(documents, known), pieces, tally, known)
    share = len(documents) / (len(documents) + len(first.request.documents) or 1)
    behind = tuple(structs.replace(one, rank=one.rank + start, relevance=one.relevance * share) for one in passages)
    came = len(documents) + len(allowed.denied)
    notes = allowed.notes if text is not None else ("degraded: the retriever gave no answer",)
    return Second(structs.replace(told, came=came), found, behind, notes)


def asks_again(choice: Choice, query_class: QueryClass) -> bool:
    """Whether the class wants a second question where so little was admitted."""
    packing = choice.packing
    again = query_class.on_insufficient == "second_pass"
    return again and bool(lacking(packing.admitted, query_class.minimum, packing.lacks))


def joined(first: Ready, second: Second) -> Ready:
    """The request with what came, for whoever tells of it. Its messages and tools stay as they are."""
    more = second.found.ready
    documents = first.request.documents + more.request.documents
    return structs.replace(
        first,
        request=structs.replace(first.request, documents=documents),
        edits=more.edits,
        denied=first.denied + more.denied,
        labels=first.labels | more.labels,
        dated=first.dated or more.dated,
    )


def uncovered(question: str, admitted: Sequence[Admitted]) -> tuple[str, int]:
    """The clauses of the question with a term that nothing admitted has, and how many such terms there are.

    The whole question where it has none, as something is missing that its words do not say.
    """
    told = {term for one in admitted for term in (*terms(one.body), *title_of(one.passage.title).terms)}
    question = question[:LONGEST].strip()
    missing = terms(question).keys() - told
    clauses = [clause.strip() for clause in _CLAUSE.split(question)]
    asked = " ".join(clause for clause in clauses if not missing.isdisjoint(terms(clause)))
    return asked or question, len(missing)


def _told_apart(documents: Sequence[Document], taken: set[str]) -> Iterator[Document]:
    """The same with ids that no other document has; what names one of them as its parent goes on to do so.

    A reranker's score is a score: what it had to do with the others' is not known.
    """
    names: dict[str, str] = {}
    new: list[str] = []
    for document in documents:
        name = document.id
        while name in taken:
            name = f"{name}'"
        taken.add(name)
        names.setdefault(document.id, name)
        new.append(name)
    for name, document in zip(new, documents, strict=True):
        parent = document.parent_id
        yield structs.replace(
            document,
            id=name,
            parent_id=names.get(parent, parent) if parent else None,
            score=document.score if document.rerank_score is None else document.rerank_score,
            rerank_score=None,
        )


def _within(
    permitted: Permitted, first: Ready, policy: Policy, rights: Rights, shown_to: Sequence[Collection[str] | None]
) -> Permitted:
    """Without those that would have changed what their labels decide, had they come with the others."""
    access = policy.access
    offered = any(tool.egress for tool in policy.tools.values()) and keeps_egress(first.labels, access)

    def why(document: Document) -> str:
        label = (document.access or {}).get("label")
        if rights.open or label is None:
            return ""
        if not all(accepted([label], accepts, access) for accepts in shown_to):
            return "its label keeps it from the model, or from the reranker"
        return "its label forbids tools that were offered" if offered and not keeps_egress([label], access) else ""

    denied = tuple(Denied(one, said) for one in permitted.documents if (said := why(one)))
    out = {one.document.position for one in denied}
    kept = tuple(one for one in permitted.documents if one.position not in out)
    labels = frozenset(one.access["label"] for one in kept if one.access is not None and not rights.open)
    return structs.replace(permitted, documents=kept, denied=permitted.denied + denied, labels=labels)
