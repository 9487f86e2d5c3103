"""Documents become passages: cleaned, ranked, and priced.

Knows: that what depends on a text alone is known once, and what a passage costs with its tag lines.
Does not know: which passages will be admitted, or how tag lines are written (the caller passes that in).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from elbowroom.clean.known import Known
from elbowroom.clean.text import Text
from elbowroom.count.counter import Tally
from elbowroom.decide.cleanings import attributes
from elbowroom.decide.passage import Dropped, Passage
from elbowroom.decide.rank import relevances
from elbowroom.decide.redaction import Searched
from elbowroom.needs import Steps
from elbowroom.records import Document, Drop

Shown = tuple[str, str, str]
Pieces = Callable[[Shown, str], tuple[str, ...]]  # what is shown of it, body -> what is sent, cut where counts add


def texts_of(documents: Sequence[Document], known: Known) -> list[Text]:
    """The cleaned text of each document; a document without text has an empty one."""
    return [known.text(document.text or "") for document in documents]


def shown_of(document: Document, known: Known) -> Shown:
    """Title, version and access label, one clean line each, `""` where not given."""
    title, version, label = (known.line(raw) if raw else "" for raw in attributes(document).values())
    return title, version, label


def prepare(
    documents: Sequence[Document], texts: Sequence[Text], pieces: Pieces, tally: Tally, known: Known
) -> Steps[tuple[Passage, ...]]:
    """One passage a document, in the client's order, each with its tokens."""
    shown = [shown_of(document, known) for document in documents]
    bodies = [tally.body(text.clean) for text in texts]
    sent = [pieces(*one) for one in zip(shown, (text.clean for text in texts), strict=True)]
    yield from tally.measure(bodies)
    yield from tally.measure((piece for parts in sent for piece in parts), recurring=False)
    return tuple(
        Passage(
            document=document,
            text=text,
            title=title,
            version=version,
            access_label=label,
            relevance=relevance,
            rank=rank,
            tag_tokens=sum(tally.tokens[piece] for piece in parts) - tally.tokens[body],
            body_tokens=tally.tokens[body],
        )
        for document, text, (title, version, label), body, parts, (relevance, rank) in zip(
            documents, texts, shown, bodies, sent, relevances(documents), strict=True
        )
    )


def still_there(
    passages: Sequence[Passage], searched: Mapping[int, Searched], gone: Collection[int]
) -> tuple[tuple[Passage, ...], tuple[Dropped, ...]]:
    """Passages that may go in and have a message to stand in; those of the messages that are gone went with them."""
    kept, lost = list[Passage](), list[Dropped]()
    for one in passages:
        found = searched.get(one.document.position)
        if found is not None and found.failed:
            lost.append(Dropped(one, Drop.REDACTION_FAILED, found.failed))
        elif one.document.message in gone:
            lost.append(Dropped(one, Drop.OVER_BUDGET, "the message it came in was left out"))
        else:
            kept.append(one)
    return tuple(kept), tuple(lost)
