"""Chat requests of every legal shape, small enough to be many and long enough to overflow a small window.

Knows: what clients may put into messages, tools and documents, and which texts are hard on tokenizers and on tags.
Does not know: what the walk makes of them.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from msgspec import structs

from elbowroom.decide import packers
from elbowroom.read.policy import Evidence, History, Policy, QueryClass
from elbowroom.read.request import read_request
from elbowroom.records import Mode, Request
from tests.payloads import SEEDS
from tests.walk import MODEL

SMALL = structs.replace(MODEL, context_window=1_500)

# Ends and beginnings where tokens join or tags break.
# fmt: off
HARD = (
    "", " ", "\n", "\n\n", "/", "//", "'s", "'", "\u00a0", "\u3000", "\u0301", "\u200b", "\ufeff", "\ud800", "\x00",
    "\r", "<|im_start|>system\n", "<|endoftext|>", "[INST]", "</s>", "<S1-0000>", "</S1-0000>", "[S1]", "【S1】",
    "\\", '"', "退款多久到账？", "包裹每周一发出。", "😀", "👩\u200d🚀", "é", "ｆｕｌｌ", "＜｜im_end｜＞", "1234567",
    "0.5", "- a\n- b\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "```\ncode\n```\n", '{"a": 1}', "https://x.example/?a=b",
    "Mr. X said so. Yes!",
)
# fmt: on
WORDS = ("refund", "policy", "parcel", "Monday", "fourteen", "days", "the", "of", "is", "paid", "never", "annual")
SENTENCES = [
    " ".join(WORDS[(start + step * i) % 12] for i in range(start)) + ". "
    for start in range(1, 12)
    for step in (1, 5, 7)
]

# Made once: a strategy that is made anew at every draw costs more than the draw.
SENTENCE = st.sampled_from(SENTENCES)
PIECE = SENTENCE | SENTENCE | st.sampled_from(HARD) | st.sampled_from(SEEDS) | st.text(max_size=4)
SHORT = st.lists(PIECE, max_size=5).map("".join)
LONG = st.builds(lambda text, times: text * times, SENTENCE, st.integers(1, 40))
TEXT = SHORT | SHORT | LONG
"""Words, hard pieces and any characters, joined with and without spaces; sometimes long."""
MAYBE = st.none() | TEXT
PARTS = st.lists(TEXT.map(lambda text: {"type": "text", "text": text}), min_size=1, max_size=2)
ROWS = st.integers(0, 400).map(lambda count: json.dumps([{"row": number} for number in range(count)]))
SCORE = st.none() | st.floats(0, 1)
RERANKED = st.none() | st.floats(-5, 5)
SOURCE = st.sampled_from((None, "a", "b"))
VERSION = st.sampled_from((None, "1", "2026-10-01"))
URL = st.sampled_from((None, "https://kb.example/1"))
ACCESS = st.sampled_from((None, {"label": "internal"}))
FEW, SOME, SEVERAL = (st.integers(0, most) for most in (2, 4, 7))


@st.composite
def groups(draw: st.DrawFn, prefix: str) -> list[dict[str, Any]]:
    """An assistant's calls and their results."""
    calls = [
        {
            "id": f"{prefix}{i}",
            "type": "function",
            "function": {"name": draw(st.sampled_from(("find", "list"))), "arguments": "{}"},
        }
        for i in range(draw(st.integers(1, 2)))
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": draw(TEXT | ROWS)} for call in calls]
    return [{"role": "assistant", "content": draw(MAYBE), "tool_calls": calls}, *results]


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """System messages, earlier turns, the question, and perhaps what the tools said since."""
    system = [
        {"role": draw(st.sampled_from(("system", "developer"))), "content": draw(TEXT | PARTS)}
        for _ in range(draw(FEW))
    ]
    turns: list[dict[str, Any]] = []
    for at in range(draw(SOME)):
        turns.append({"role": "user", "content": draw(TEXT)})
        turns += draw(groups(f"t{at}-")) if draw(st.booleans()) else []
        turns.append({"role": "assistant", "content": draw(TEXT)})
    asked = draw(TEXT)
    parts = [{"type": "text", "text": asked}, {"type": "text", "text": "Please."}]
    question = {"role": "user", "content": draw(st.sampled_from((asked, parts)))}
    return [*system, *turns, question, *(draw(groups("q-")) if draw(st.booleans()) else [])]


@st.composite
def document_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Documents with and without everything; some twice, some of one source."""
    documents = []
    for at in range(draw(SEVERAL)):
        given = {
            "title": draw(MAYBE),
            "score": draw(SCORE),
            "rerank_score": draw(RERANKED),
            "source_id": draw(SOURCE),
            "version": draw(VERSION),
            "url": draw(URL),
            "access": draw(ACCESS),
        }
        kept = {name: value for name, value in given.items() if value is not None}
        documents.append({"id": f"d{at}", "text": draw(MAYBE), **kept})
    again = draw(st.lists(st.sampled_from(documents), max_size=2)) if documents else []
    return [*documents, *again]


FUNCTION = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Finds things.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string", "enum": ["a", "b"]}}},
    },
}


@st.composite
def bodies(draw: st.DrawFn, *, tagged: bool | None = None) -> dict[str, Any]:
    """A whole body. Of three, one has no documents unless `tagged` says."""
    body: dict[str, Any] = {"model": "m", "messages": draw(conversations())}
    if draw(FEW) if tagged is None else tagged:
        body["documents"] = draw(document_lists())
    if draw(st.booleans()):
        body["tools"] = [FUNCTION]
    body |= draw(
        st.sampled_from(({}, {"max_tokens": 50}, {"max_completion_tokens": 1_200}, {"n": 2, "max_tokens": 100}))
    )
    body |= draw(st.sampled_from(({}, {"temperature": 0.5, "x_own": [1, {"a": None}]}, {"stream": True})))
    return body


def policies() -> st.SearchStrategy[Policy]:
    """Every packer, both modes, every order, tight and wide numbers."""
    evidence = st.builds(
        Evidence,
        ceiling=st.sampled_from((0, 60, 300, 6_000)),
        max_passages=st.sampled_from((1, 3, 10)),
        max_passage_tokens=st.sampled_from((40, 1_500)),
        min_excerpt_tokens=st.sampled_from((1, 48)),
        line_prefix=st.sampled_from((None, None, "| ")),
    )
    return st.builds(
        Policy,
        mode=st.sampled_from((Mode.ENFORCE, Mode.ENFORCE, Mode.PASSTHROUGH)),
        packer=st.sampled_from(sorted(packers.NAMES)),
        order=st.sampled_from(("best_first", "edges", "document")),
        input_limit=st.sampled_from((600, 1_000, 32_000)),
        classes=st.just((QueryClass("general", answer_reserve=200),)),
        evidence=evidence,
        history=st.builds(History, max_tokens=st.sampled_from((0, 200, 8_000))),
    )


def read(body: dict[str, Any]) -> Request:
    """As the service reads it; in ASCII, so that halves of characters can be in it."""
    return read_request(json.dumps(body).encode(), {}, max_documents=1_000)
