"""With a line prefix counts are as exact, and spans the same, as without."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from msgspec import structs

from elbowroom.decision import decide
from elbowroom.read.policy import Evidence, Policy
from elbowroom.records import Packed
from tests.property.chats import SMALL, bodies, read
from tests.walk import bill, chat, counted, pack, run, setting, texts, tokens

PREFIXED = Policy(evidence=Evidence(line_prefix="| "))
PASSAGE = re.compile(r"^<S\d+-(\d+)[^\n]*>\n(.*?)\n</S\d+-\1>$", re.MULTILINE | re.DOTALL)


@settings(max_examples=50)
@given(bodies(tagged=True))
def test_counts_hold_and_every_line_is_marked(body: dict[str, Any]):
    packed = run(decide(read(body), setting(PREFIXED, SMALL)))
    if not isinstance(packed, Packed):
        return
    assert counted(packed) == bill(packed.body, SMALL).tokens
    assert packed.decision.window is not None
    assert packed.decision.evidence_tokens <= packed.decision.window.evidence_budget


def test_what_a_passage_costs_is_what_its_marked_lines_cost():
    text = "Refunds take a week.\n\n- by card\n- by check\n" + "Parcels leave on Mondays. " * 60
    asked = chat(("user", "How long do refunds take?"), documents=[{"id": "a", "text": text}])
    for most in (1_500, 90):
        policy = structs.replace(PREFIXED, evidence=structs.replace(PREFIXED.evidence, max_passage_tokens=most))
        packed = pack(asked, policy)
        (fate,) = packed.decision.documents
        (sent,) = texts(packed.body)
        ((_, body),) = PASSAGE.findall(sent)
        assert all(line.startswith("| ") for line in body.split("\n"))
        assert fate.tokens == tokens(sent[sent.index("<S1-") : sent.index("How long")].removesuffix("\n"))
        assert fate.tokens <= most
        assert bool(fate.spans) == (most == 90)
        for start, end in fate.spans:
            assert text.strip()[start:end].split("\n")[0] in body
        assert counted(packed) == bill(packed.body).tokens
