"""Holds fences against hostile texts: which leave a live control string, and which are broken out of.

    python -m bench.separation

Knows: four ways to fence a text, what a tokenizer would take for control in it, and where a reader would think that it
ends. Does not know: what a model does with a text; none is asked.

The texts are `tests/fixtures/payloads.json`, and beside them those of the shared data where `ELBOWROOM_SHARED` names a
folder, or one lies beside the checkout.
"""

from __future__ import annotations

import html
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from elbowroom.clean.forms import shadow
from elbowroom.clean.known import Known
from elbowroom.clean.neutralise import LIVE
from elbowroom.decide.passage import Admitted, Passage
from elbowroom.decide.prepare import shown_of
from elbowroom.records import Document
from elbowroom.write.envelope import FORMS, render
from elbowroom_proxy.vocabularies import FILES, Vocabularies

ROOT = Path(__file__).parents[1]
OURS = ROOT / "tests" / "fixtures" / "payloads.json"
KEY = b"bench"
Fence = Callable[[str], "Fenced"]


class Fenced(NamedTuple):
    """A text in its fence: what stands inside, and an expression for what ends it."""

    inside: str
    closing: str


def plain(text: str) -> Fenced:
    return Fenced(text, "</doc>")


def as_json(text: str) -> Fenced:
    return Fenced(json.dumps(text, ensure_ascii=False), r'(?<!\\)"\}')


def escaped(text: str) -> Fenced:
    return Fenced(html.escape(text), "</doc>")


def ours(form: str) -> Fence:
    known = Known(1 << 20)

    def fence(text: str) -> Fenced:
        document = Document(0, "d", text)
        cleaned = known.text(text)
        passage = Passage(document, cleaned, shown_of(document, known)[0], 1.0, 0, 0, 0)
        envelope = render([("S1", Admitted(passage, cleaned.clean, 0))], KEY, form)
        return Fenced(cleaned.clean, re.escape(FORMS[form].close_line("S1", envelope.nonce).strip()))

    return fence


FENCES: dict[str, Fence] = {
    "plain tags": plain,
    "json": as_json,
    "html escaping": escaped,
    **{f"elbowroom, {form}": ours(form) for form in FORMS},
}


def live(text: str, specials: frozenset[str]) -> bool:
    """Whether any family's tokenizer or template would read control in it, as it is or in its compatibility form."""
    bare = "".join(char for char in text if unicodedata.category(char) != "Cf")
    forms = (text, bare, unicodedata.normalize("NFKC", bare))
    return any(LIVE.search(shadow(form)) or any(special in form for special in specials) for form in forms)


def broken(fenced: Fenced) -> bool:
    """Whether what ends the fence stands inside, put there by the text."""
    return re.search(fenced.closing, fenced.inside) is not None


def rows(texts: Sequence[str]) -> list[tuple[str, int, int]]:
    """Of each fence, in how many texts a control string is live, and how many break out."""
    vocabularies = Vocabularies()
    specials = frozenset(one for name in FILES for one in vocabularies.encoding(name).special_tokens_set)
    fenced = {name: [fence(text) for text in texts] for name, fence in FENCES.items()}
    return [
        (name, sum(live(one.inside, specials) for one in made), sum(map(broken, made))) for name, made in fenced.items()
    ]


def told(found: Sequence[tuple[str, int, int]]) -> list[str]:
    """The table, in lines."""
    head = ["| fence | a control string is live | broken out of |", "|---|---|---|"]
    return head + [f"| {name} | {alive} | {out} |" for name, alive, out in found]


def main() -> int:
    shared = Path(os.environ.get("ELBOWROOM_SHARED", ROOT.parent / "shared")) / "data" / "injection_payloads.json"
    texts = [
        row["text"]
        for file in (OURS, *([shared] if shared.is_file() else []))
        for row in json.loads(file.read_text("utf-8"))
    ]
    found = rows(texts)
    print(f"{len(texts)} texts\n", *told(found), sep="\n")
    return 1 if any(alive + out for name, alive, out in found if name.startswith("elbowroom")) else 0


if __name__ == "__main__":
    sys.exit(main())
