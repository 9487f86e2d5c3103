"""What the walk asks for: typed questions, each answered once by whoever drives it.

Knows: the shape of each question and of its answer, and that a piece of the walk is a generator of them.
Does not know: who answers (caches, threads, Redis, a provider, a recording), or what a step makes of an answer.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Literal, TypeVar

from msgspec import Struct

from elbowroom.errors import ElbowroomError


class NeedCounts(Struct, frozen=True, tag="counts"):
    """Asks T(text), in tokens of `vocabulary`, for each text; answered by a tuple of integers in the same order.

    `recurring` texts may be seen again in another request, so a shared cache is worth asking.
    """

    vocabulary: str
    texts: tuple[str, ...]
    recurring: bool = True


class NeedEndpointCount(Struct, frozen=True, tag="endpoint_count"):
    """Asks the model's own counting endpoint for a whole prompt; answered by one integer, or by none if there is none
    to be had.
    """

    model: str  # the catalog's name
    body: bytes  # chat members as JSON, the same bytes for the same prompt


class NeedRerank(Struct, frozen=True, tag="rerank"):
    """Asks how relevant each text is to the question; answered by one number a text, in the reranker's own scale, or by
    none if it could not say.
    """

    by: str  # file name in `rerankers/`
    question: str
    texts: tuple[str, ...]


class NeedRetrieve(Struct, frozen=True, tag="retrieve"):
    """Asks a retriever for documents; answered by one text, JSON as a retrieval tool returns it, or by none if it could
    not say.
    """

    query: str


class NeedSummary(Struct, frozen=True, tag="summary"):
    """Asks a model to say a talk, or a passage, in fewer words; answered by one text, or by none if there is none."""

    model: str  # the catalog's name
    text: str
    max_tokens: int  # of the summary, at most
    timeout: float  # seconds
    of: Literal["talk", "passage"] = "talk"


class Retrieval(Struct, frozen=True):
    """What became of a second question to a retriever. Holds no text of it."""

    state: str  # "ran" or "failed"
    terms: int  # of the user's question that nothing admitted had
    digest: str  # keyed hash of what was asked
    first: int  # position of the first document that came; the others follow, each with its own fate
    came: int = 0


AsideNeed = NeedRerank | NeedRetrieve | NeedSummary  # asked beside the answer's own way, each in its time
Finding = tuple[int, int, str]  # code points from and to, and the name of the rule


class NeedRedaction(Struct, frozen=True, tag="redaction"):
    """Asks what each text holds that the packs' rules name; answered by one entry a text, in the same order: its
    `Finding`s, by place and apart from each other, or None for a text that could not be searched in time.
    """

    packs: tuple[str, ...]
    texts: tuple[str, ...]
    deadline_ms: int  # for all of them


Need = NeedCounts | NeedEndpointCount | NeedRerank | NeedRedaction | NeedRetrieve | NeedSummary
Answer = tuple[Any, ...]  # numbers, texts or places, as each Need says; empty: it could not be had
T = TypeVar("T")
Steps = Generator[Need, Answer, T]  # a piece of the walk: asks Needs, takes their Answers, ends in a T


def recorded(steps: Steps[T], answers: list[Answer]) -> Steps[T]:
    """The same steps; the answers go into the list, too."""
    try:
        need = next(steps)
        while True:
            try:
                answer = yield need
            except ElbowroomError as error:  # the question cannot be answered; the step that asked may know better
                need = steps.throw(error)
            else:
                answers.append(answer)
                need = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result
