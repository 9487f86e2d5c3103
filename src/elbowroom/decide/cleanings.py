"""What was cleaned of a document's title, of its other attributes, and of its summary, with places.

Knows: which of them a tag shows, and that most have nothing to tell.
Does not know: the document's text (its record tells that), or how anything is cleaned.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from elbowroom.clean.known import Known
from elbowroom.clean.text import Line
from elbowroom.decide.passage import Passage
from elbowroom.records import MOST_SPANS, Cleaning, Document


def cleanings(passage: Passage, form: str = "whole") -> tuple[Cleaning, ...]:
    """Of what is shown of the passage, or would have been; of its summary where that is the `form` that was sent."""
    shown = zip(attributes(passage.document).items(), passage.shown, strict=True)
    lines = [(where, passage.text.line_of(raw)) for (where, raw), told in shown if raw != told]
    if form == "summary":
        text = passage.text.like(passage.document.summary or "")
        lines.append(("summary", Line(text.clean, text.stripped, text.stripped_spans, text.broken_spans)))
    return tuple(
        Cleaning(
            where,
            line.stripped,
            len(line.broken_spans),
            line.stripped_spans[:MOST_SPANS],
            line.broken_spans[:MOST_SPANS],
        )
        for where, line in lines
        if line.stripped or line.broken_spans
    )


def cleanings_before(told: Sequence[Cleaning], came: Document, known: Known) -> tuple[Cleaning, ...]:
    """The same of a document in which something was replaced since: what was removed of it before that."""
    found = {one.where: one for one in told}
    for where, raw in attributes(came).items():
        line = known.line_of(raw)
        if line.stripped:
            one = found.get(where, Cleaning(where, 0, 0, (), ()))
            spans = line.stripped_spans[:MOST_SPANS]
            found[where] = structs.replace(one, stripped=line.stripped, stripped_spans=spans)
    return tuple(found.values())


def attributes(document: Document) -> dict[str, str]:
    """As they came, in the order in which they are shown."""
    label = (document.access or {}).get("label")
    return {
        "title": document.title or "",
        "version": document.version or "",
        "access": label if isinstance(label, str) else "",
    }
