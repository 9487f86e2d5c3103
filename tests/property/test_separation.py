"""Evidence stays evidence: what a document says changes neither tools nor tags, and what is dropped is nowhere."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.decision import decide
from elbowroom.read.policy import Policy, QueryClass
from elbowroom.records import Mode, Packed
from elbowroom_proxy.vocabularies import FILES, Vocabularies
from tests.property.chats import HARD, SMALL, TEXT, bodies, policies, read
from tests.walk import MODEL, run, setting

VOCABULARIES = Vocabularies()

EXAMPLES = settings(max_examples=60)
TAG = re.compile(r"^<(/?)(S\d+)-(\d+)[^\n]*>$", re.MULTILINE)
CONTROL = re.compile(r"<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>|</?s>|<start_of_turn>|<end_of_turn>")


def outcome(body: dict[str, Any], policy: Policy | None = None, model: Any = SMALL) -> Packed | None:
    result = run(decide(read(body), setting(policy or Policy(), model)))
    return result if isinstance(result, Packed) else None


def evidence_of(body: dict[str, Any], packed: Packed) -> str:
    """All text of the last user message that the client did not write."""
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
    now = [message["content"] for message in json.loads(packed.body)["messages"] if message["role"] == "user"][-1]
    if isinstance(asked, str):
        assert now.endswith(asked)
        return now[: len(now) - len(asked)]
    return now[0]["text"] if len(now) > len(asked) else ""


# --- labels decide, texts do not ------------------------------------------------------------------------------------


CLASSES = (  # each has cues that some texts hold, and leaves another room for the answer
    QueryClass("general", answer_reserve=200),
    QueryClass("plans", priority=1, answer_reserve=300, cues={"en": ("annual|parcel",)}, not_cues={"en": ("never",)}),
    QueryClass("days", priority=2, answer_reserve=400, cues={"en": ("days|policy",), "zh": ("退款",)}),
)


@EXAMPLES
@given(bodies(tagged=True), policies(), st.data())
def test_other_texts_under_the_same_labels_change_nothing_but_the_evidence(body, policy: Policy, data: st.DataObject):
    policy = structs.replace(policy, classes=CLASSES)
    renamed = {one["id"]: data.draw(TEXT) for one in body["documents"]}
    other = {**body, "documents": [{**one, "text": renamed[one["id"]]} for one in body["documents"]]}
    first, second = outcome(body, policy), outcome(other, policy)
    assert (first is None) == (second is None)
    if first is None or second is None:
        return
    one, two = json.loads(first.body), json.loads(second.body)
    assert {name: value for name, value in one.items() if name != "messages"} == {
        name: value for name, value in two.items() if name != "messages"
    }
    system = [message for message in one["messages"] if message["role"] in ("system", "developer")]
    assert system == [message for message in two["messages"] if message["role"] in ("system", "developer")]
    assert first.decision.query_class == second.decision.query_class


@EXAMPLES
@given(bodies(tagged=True), policies())
def test_what_was_dropped_is_nowhere(body, policy: Policy):
    """Each text and title begins with a word that stands nowhere else."""
    marked = {one["id"]: f"zqx{at}canary" for at, one in enumerate(body["documents"])}
    documents = [
        {
            **one,
            "text": None if one["text"] is None else f"{marked[one['id']]} {one['text']}",
            "title": f"{marked[one['id']]}title",
        }
        for one in body["documents"]
    ]
    packed = outcome({**body, "documents": documents}, policy)
    if packed is None:
        return
    admitted = {fate.id for fate in packed.decision.documents if fate.decision == "admitted"}
    sent = packed.body.decode()
    for ident, canary in marked.items():
        if ident not in admitted:
            assert canary not in sent
    if policy.mode is Mode.PASSTHROUGH:
        assert all(marked[fate.id] in sent for fate in packed.decision.documents if fate.decision == "admitted")


# --- tags -----------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(bodies(tagged=True), policies())
def test_each_label_opens_and_closes_once_and_nothing_else_looks_like_it(body, policy: Policy):
    packed = outcome(body, policy)
    if packed is None:
        return
    evidence = evidence_of(body, packed)
    tags = [match.groups() for match in TAG.finditer(evidence)]
    labels = [fate.label for fate in packed.decision.documents if fate.label]
    assert [(slash, label) for slash, label, _ in tags] == [
        tag for number in range(1, len(labels) + 1) for tag in (("", f"S{number}"), ("/", f"S{number}"))
    ]
    assert len({nonce for _, _, nonce in tags}) <= 1
    if tags:
        assert evidence.count(tags[0][2]) == len(tags)
    for source in packed.sources:
        if source.url is not None and not any(source.url in str(one) for one in body["messages"]):
            assert source.url not in evidence or any(source.url in str(one["text"]) for one in body["documents"])


@given(st.lists(TEXT.filter(str.strip), min_size=1, max_size=4), st.data())
@EXAMPLES
def test_another_character_gives_another_nonce(said: list[str], data: st.DataObject):
    def tags(*texts: str) -> set[str]:
        documents = [{"id": str(at), "text": f"Passage {at}: {text}"} for at, text in enumerate(texts)]
        body = {"model": "m", "messages": [{"role": "user", "content": "What?"}], "documents": documents}
        packed = outcome(body, Policy(mode=Mode.PASSTHROUGH), MODEL)
        return {match[3] for match in TAG.finditer(evidence_of(body, packed))} if packed else set()

    at = data.draw(st.integers(0, len(said) - 1))
    changed = [*said[:at], said[at] + "!", *said[at + 1 :]]
    assert tags(*said) == tags(*said)
    # Two nonces of four digits may be equal by chance, once in ten thousand; three in a row are not.
    assert any(tags(*said) != tags(*changed[:at], changed[at] + "!" * more, *changed[at + 1 :]) for more in range(3))


# --- control strings ------------------------------------------------------------------------------------------------


def live(text: str) -> set[str]:
    """What some model's tokenizer would take for control tokens, in the text as it is and in its compatible form."""
    found: set[str] = set()
    for form in (text, unicodedata.normalize("NFKC", text)):
        found |= set(CONTROL.findall(form))
        for name in FILES:
            found |= {special for special in VOCABULARIES.encoding(name).special_tokens_set if special in form}
    return found


def hidden(text: str) -> str:
    """Characters that nobody sees and that can carry a message; the flags of three countries are written with some."""
    for country in ("gbeng", "gbsct", "gbwls"):
        text = text.replace("\U0001f3f4" + "".join(chr(0xE0000 + ord(one)) for one in country) + "\U000e007f", "")
    return "".join(re.findall("[\U000e0000-\U000e0fff\u202a-\u202e\u2066-\u2069\u200b\ufeff\u00ad]", text))


@pytest.fixture(scope="module")
def payloads(shared: Path) -> list[str]:
    return [row["text"] for row in json.loads((shared / "data" / "injection_payloads.json").read_text("utf-8"))]


def test_no_payload_is_live_or_breaks_out(payloads: list[str]):
    assert len(payloads) > 30
    for mode in (Mode.ENFORCE, Mode.PASSTHROUGH):
        for at, payload in enumerate(payloads):
            documents = [
                {"id": "p", "text": payload, "title": payload[:200]},
                {"id": "q", "text": "Refunds take a week."},
            ]
            body = {"model": "m", "messages": [{"role": "user", "content": "What?"}], "documents": documents}
            packed = outcome(body, Policy(mode=mode), MODEL)
            assert packed is not None
            evidence = evidence_of(body, packed)
            assert live(evidence) == set(), (at, mode)
            labels = [fate.label for fate in packed.decision.documents if fate.label]
            assert len(TAG.findall(evidence)) == 2 * len(labels), (at, mode)
            inside = "".join(
                re.findall(r"^<S\d+-\d+[^\n]*>\n(.*?)\n?^</S\d+-\d+>$", evidence, re.MULTILINE | re.DOTALL)
            )
            assert "[S1]" not in inside, (at, mode)
            assert hidden(evidence) == "", (at, mode)


@EXAMPLES
@given(st.lists(st.sampled_from([*HARD, "<|", "|>", "im_start", "<", ">", "/", "S1-"]), max_size=8).map("".join))
def test_no_text_is_live_however_it_is_put_together(text: str):
    documents = [{"id": "p", "text": f"A passage. {text}", "title": text}]
    body = {"model": "m", "messages": [{"role": "user", "content": "What?"}], "documents": documents}
    packed = outcome(body, Policy(mode=Mode.PASSTHROUGH), MODEL)
    assert packed is not None
    evidence = evidence_of(body, packed)
    assert live(evidence) == set()
    assert hidden(evidence) == ""
    assert len(TAG.findall(evidence)) == 2
