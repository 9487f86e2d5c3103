"""No planted secret survives: upstream, in record, report, citation or error, in any mode or form."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.account.trace import Facts, record, report
from elbowroom.decision import decide
from elbowroom.needs import Answer, Need, NeedRedaction
from elbowroom.read.policy import Evidence, Policy, Redact, Tool
from elbowroom.records import Mode, Packed, Refused, Request
from elbowroom.write.envelope import FORMS
from elbowroom_proxy.answering import drive_here, offline
from elbowroom_proxy.cli import render
from tests.payloads import SEEDS
from tests.planted import FORMS as KINDS
from tests.planted import planted
from tests.property.chats import HARD, SENTENCES, read
from tests.walk import MODEL, TOKENS, setting

SMALL = structs.replace(MODEL, context_window=1_500)
EXAMPLES = settings(max_examples=100)
TOOLS = {"search": Tool(returns="documents"), "look": Tool(redact=("gone",), max_tokens=60)}
SEEN = 12  # characters: who has so many in a row of a value has a part of it

SECRET = st.sampled_from(KINDS)
AROUND = st.sampled_from([*SENTENCES, *(one for one in (*HARD, *SEEDS) if one == one.encode(errors="ignore").decode())])
GAP = st.sampled_from([" ", " ", "\n", "\t", "，"])
HIDDEN = st.sampled_from(["", "", "\u200b", "\u00ad", "\u2060", "\ufeff"])
ANSWER = offline(TOKENS.count_now)


@st.composite
def secrets(draw: st.DrawFn) -> tuple[str, str]:
    """(the value, the value in a text), perhaps with something in it that nobody sees, or in JSON's way to write it."""
    value, text = planted(*draw(SECRET))
    before, after = draw(AROUND), draw(AROUND)
    at, hidden = draw(st.integers(1, len(value) - 1)), draw(HIDDEN)
    text = text.replace(value, value[:at] + hidden + value[at:])
    gap = draw(GAP)
    return value, f"{before}{gap}{text}{gap}{after}"


@st.composite
def requests(draw: st.DrawFn) -> tuple[Request, set[str]]:
    """Documents that are tagged, in parts and returned, chunks, another tool's result; and the values in them."""
    values: set[str] = set()

    def text() -> str:
        if draw(st.booleans()):
            return draw(AROUND)
        value, said = draw(secrets())
        values.add(value)
        return said

    def document(at: int) -> dict[str, Any]:
        return {
            "id": ident if len(ident := f"{at} {text()}") <= 256 else f"d{at}",
            "text": text(),
            **{name: text() for name in draw(st.sets(st.sampled_from(("title", "section", "summary", "version"))))},
            **({"highlights": [text()]} if draw(st.booleans()) else {}),
            **({"score": draw(st.floats(0, 1))} if draw(st.booleans()) else {}),
        }

    def chunks() -> list[dict[str, Any]]:
        """One text cut in two where the secret is."""
        value, said = planted(*draw(SECRET))
        values.add(value)
        whole = f"{draw(AROUND)} {said} {draw(AROUND)}"
        at = whole.index(value) + draw(st.integers(0, len(value)))
        back = draw(st.sampled_from((0, 0, 16, 40)))
        cut = (whole[:at], whole[max(0, at - back) :])
        return [{"id": f"c{n}", "source_id": "s", "chunk_index": n, "text": one} for n, one in enumerate(cut)]

    calls = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in ("search", "look")
    ]
    rows = [{"gone": "x", "note": text()} for _ in range(draw(st.integers(0, 4)))]
    parts = [{"type": "document", "document": {"text": text()}}, {"type": "text", "text": "Which of these?"}]
    asked = draw(st.sampled_from(("What of refunds?", parts)))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Answer briefly."},
        {"role": "user", "content": asked},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "search", "content": json.dumps([{"text": text(), "title": text()}])},
        {"role": "tool", "tool_call_id": "look", "content": json.dumps(rows, ensure_ascii=draw(st.booleans()))},
    ]
    documents = [document(at) for at in range(draw(st.integers(0, 3)))]
    documents += chunks() if draw(st.booleans()) else []
    body = {"model": "m", "messages": messages, "documents": documents, "context": {"explain": True}}
    return read({**body, "stream": draw(st.booleans())}), values


def policies() -> st.SearchStrategy[Policy]:
    return st.builds(
        Policy,
        mode=st.sampled_from(list(Mode)),
        format=st.sampled_from(sorted(FORMS)),
        order=st.sampled_from(("best_first", "edges", "document")),
        input_limit=st.sampled_from((700, 32_000)),
        evidence=st.builds(
            Evidence,
            ceiling=st.sampled_from((60, 300, 6_000)),
            min_excerpt_tokens=st.just(8),
            max_passage_tokens=st.sampled_from((60, 1_500)),
        ),
        tools=st.just(TOOLS),
        redact=st.just(Redact(packs=("secrets", "pii"))),
    )


def told(request: Request, policy: Policy, answer: Callable[[Need], Answer]) -> tuple[Packed | Refused, str]:
    """What leaves of it in any direction, as one text."""
    outcome = drive_here(decide(request, setting(policy, SMALL)), answer)
    story = record(outcome.decision, Facts(trace_id="t", time="now"))
    heard = [json.dumps(story, ensure_ascii=False), json.dumps(report(story), ensure_ascii=False), render.record(story)]
    if isinstance(outcome, Packed):
        heard += [
            outcome.body.decode(),
            json.dumps([structs.asdict(one) for one in outcome.sources], ensure_ascii=False),
        ]
    else:
        heard.append(outcome.message)
    return outcome, "\n".join(heard)


def pieces(value: str) -> set[str]:
    """What nobody may read of it. A key's lines are told apart; its first line and its last are no secret."""
    lines = [line for line in value.split("\n") if not line.startswith("-----") and len(line) >= SEEN]
    return {line[at : at + SEEN] for line in lines for at in range(len(line) - SEEN + 1)}


@EXAMPLES
@given(requests(), policies())
def test_no_planted_secret_survives(asked: tuple[Request, set[str]], policy: Policy):
    request, values = asked
    _, heard = told(request, policy, ANSWER)
    for value in values:
        assert value not in heard
        assert json.dumps(value)[1:-1] not in heard
        assert not [piece for piece in pieces(value) if piece in heard], value


@EXAMPLES
@given(requests(), policies(), st.data())
def test_nor_where_texts_could_not_be_searched(asked: tuple[Request, set[str]], policy: Policy, data: st.DataObject):
    request, values = asked
    every = data.draw(st.booleans())

    def answer(need: Need) -> Answer:
        if not isinstance(need, NeedRedaction):
            return ANSWER(need)
        return tuple(None if every or data.draw(st.integers(0, 3)) == 0 else found for found in ANSWER(need))

    outcome, heard = told(request, policy, answer)
    for value in values:
        assert value not in heard
    if every and outcome.decision is not None:
        assert {fate.reason for fate in outcome.decision.documents} <= {"redaction_failed"}
        assert all(result.withheld for result in outcome.decision.tool_results)


@EXAMPLES
@given(requests(), policies())
def test_the_recorded_places_give_the_same_bytes_and_hold_no_text(asked: tuple[Request, set[str]], policy: Policy):
    request, _ = asked
    first = drive_here(decide(request, setting(policy, SMALL)), ANSWER)
    assert first.decision is not None
    answers = iter(json.loads(json.dumps(first.decision.answers)))
    again = drive_here(decide(request, setting(policy, SMALL)), lambda _: tuple(next(answers)))
    assert again.decision is not None
    assert structs.replace(again.decision, answers=()) == structs.replace(first.decision, answers=())
    assert getattr(again, "body", None) == getattr(first, "body", None)


@EXAMPLES
@given(st.lists(secrets(), min_size=1, max_size=3), st.booleans())
def test_users_words_are_searched_where_the_policy_wants_it(said: list[tuple[str, str]], stream: bool):
    words = [{"role": "user" if at % 2 == 0 else "assistant", "content": text} for at, (_, text) in enumerate(said)]
    request = read({"model": "m", "messages": [*words, {"role": "user", "content": "Which?"}], "stream": stream})
    _, heard = told(request, Policy(redact=Redact(packs=("secrets", "pii"), messages=True)), ANSWER)
    for value, _ in said:
        assert not [piece for piece in pieces(value) if piece in heard]
